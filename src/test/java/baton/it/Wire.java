package baton.it;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
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
    URI uri = Api.uri();
    socket = new Socket("127.0.0.1", uri.getPort());
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
    int status = Integer.parseInt(line().split(" ")[1]);
    Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    for (String line = line(); !line.isEmpty(); line = line()) {
      String[] parts = line.split(":", 2);
      headers.computeIfAbsent(parts[0], k -> new ArrayList<>()).add(parts[1].strip());
    }
    String length = headers.getOrDefault("Content-Length", List.of("0")).get(0);
    byte[] body = in.readNBytes(Integer.parseInt(length));
    return Api.reply(status, headers, body);
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

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
