package baton.it;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** One connection to the application, byte by byte: for what no HTTP client would send. */
final class Wire implements AutoCloseable {
  private static final byte[] CHUNK = new byte[64 * 1024];

  private final Socket socket;
  private final InputStream in;
  private final OutputStream out;

  Wire() throws IOException {
    this("127.0.0.1", 0);
  }

  /**
   * @param unread bytes that the system may take in before they are read, about; 0 is its own
   *     choice
   */
  Wire(String host, int unread) throws IOException {
    URI uri = Api.uri();
    socket = new Socket();
    if (unread > 0) {
      socket.setReceiveBufferSize(unread);
    }
    socket.connect(new InetSocketAddress(host, uri.getPort()));
    socket.setSoTimeout((int) Api.PATIENCE.toMillis());
    socket.setTcpNoDelay(true);
    in = new BufferedInputStream(socket.getInputStream());
    out = socket.getOutputStream();
  }

  /** Sends text, its line ends as HTTP wants them. */
  void text(String text) throws IOException {
    out.write(text.replace("\n", "\r\n").getBytes(StandardCharsets.ISO_8859_1));
    out.flush();
  }

  void bytes(byte[] bytes) throws IOException {
    out.write(bytes);
    out.flush();
  }

  /** Sends that many spaces, which JSON ignores. */
  void filler(long count) throws IOException {
    byte[] spaces = " ".repeat(CHUNK.length).getBytes(StandardCharsets.US_ASCII);
    for (long left = count; left > 0; left -= spaces.length) {
      out.write(spaces, 0, (int) Math.min(left, spaces.length));
    }
    out.flush();
  }

  /** Sends that many spaces in HTTP chunks, and no last chunk. */
  void chunkedFiller(long count) throws IOException {
    for (long left = count; left > 0; left -= CHUNK.length) {
      int size = (int) Math.min(left, CHUNK.length);
      out.write((Integer.toHexString(size) + "\r\n").getBytes(StandardCharsets.US_ASCII));
      filler(size);
      out.write(new byte[] {'\r', '\n'});
    }
    out.flush();
  }

  /** The next reply; {@link EOFException} if the connection ends before it. */
  Api.Reply reply() throws IOException {
    Api.Reply head = head();
    byte[] body = read(Integer.parseInt(head.header("Content-Length").orElse("0")));
    return Api.reply(head.status(), head.headers(), body);
  }

  /** The next reply without its body, which comes next or, after HEAD, not at all. */
  Api.Reply head() throws IOException {
    int status = Integer.parseInt(line().split(" ")[1]);
    Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    for (String line = line(); !line.isEmpty(); line = line()) {
      String[] parts = line.split(":", 2);
      headers.computeIfAbsent(parts[0], k -> new ArrayList<>()).add(parts[1].strip());
    }
    String type = headers.getOrDefault("Content-Type", List.of("")).get(0).split(";")[0];
    return new Api.Reply(status, type, headers, "", null);
  }

  /** The next bytes, fewer only at the connection's end. */
  byte[] read(int count) throws IOException {
    return in.readNBytes(count);
  }

  private String line() throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new EOFException("the connection ended");
      }
      if (c != '\r') {
        line.write(c);
      }
    }
    return line.toString(StandardCharsets.ISO_8859_1);
  }

  /** Breaks the connection off, which the other side sees as a failure. */
  void reset() throws IOException {
    socket.setSoLinger(true, 0);
    socket.close();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
