package baton.client;

import baton.rpc.Expected;
import baton.rpc.RequestHeader;
import baton.rpc.Responses;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A server at a real port that does to its callers what a test tells it to do. */
final class Peer implements AutoCloseable {
  /** What a server does with one connection, which ends when this returns. */
  interface Manners {
    void with(Connection connection) throws IOException;
  }

  /** A frame that came. */
  record Request(RequestHeader header, byte[] body) {
    int seq() {
      return header.seq();
    }
  }

  private final ServerSocket server;
  private final Manners manners;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<Connection> connections = new CopyOnWriteArrayList<>();
  private final List<Request> requests = new CopyOnWriteArrayList<>();
  private final CountDownLatch over = new CountDownLatch(1);

  private Peer(InetAddress host, Manners manners) throws IOException {
    this.manners = manners;
    server = new ServerSocket();
    // Small, so that a caller whose request nobody reads notices it soon.
    server.setReceiveBufferSize(16 * 1024);
    server.bind(new InetSocketAddress(host, 0));
    threads.execute(this::accept);
  }

  static Peer with(Manners manners) {
    return at(InetAddress.getLoopbackAddress(), manners);
  }

  static Peer at(InetAddress host, Manners manners) {
    try {
      return new Peer(host, manners);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** One that knows no publisher: it answers every list of services. */
  static Peer withoutServices() {
    return with(
        c -> {
          while (true) {
            c.send(Responses.encodeListServices(c.next().seq(), List.of()));
          }
        });
  }

  /** One that gives every registration the same answer. */
  static Peer refusing(int code) {
    return with(
        c -> {
          while (true) {
            c.send(Responses.encodeRegister(c.next().seq(), Expected.error(code)));
          }
        });
  }

  int port() {
    return server.getLocalPort();
  }

  String address() {
    return "127.0.0.1:" + port();
  }

  /** All requests so far, in the order in which they came. */
  List<Request> requests() {
    return List.copyOf(requests);
  }

  List<Integer> sequence() {
    return requests.stream().map(Request::seq).toList();
  }

  int connections() {
    return connections.size();
  }

  private void accept() {
    try {
      while (true) {
        Connection connection = new Connection(server.accept());
        connections.add(connection);
        threads.execute(connection::run);
      }
    } catch (IOException e) {
      // closed
    }
  }

  @Override
  public void close() {
    over.countDown();
    try {
      server.close();
      for (Connection connection : connections) {
        connection.socket.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    threads.shutdown();
  }

  /** A caller's connection, as the server sees it. */
  final class Connection {
    private final Socket socket;

    private Connection(Socket socket) throws IOException {
      this.socket = socket;
      socket.setTcpNoDelay(true);
    }

    private void run() {
      try (socket) {
        manners.with(this);
      } catch (IOException e) {
        // the caller or the test has closed it
      }
    }

    /** The next request; EOFException when the caller has closed. */
    Request next() throws IOException {
      RequestHeader header = RequestHeader.decode(read(RequestHeader.SIZE), 0, RequestHeader.SIZE);
      Request request = new Request(header, read((int) header.length()));
      requests.add(request);
      return request;
    }

    private byte[] read(int length) throws IOException {
      InputStream in = socket.getInputStream();
      byte[] bytes = in.readNBytes(length);
      if (bytes.length < length) {
        throw new EOFException();
      }
      return bytes;
    }

    void send(byte[] bytes) throws IOException {
      socket.getOutputStream().write(bytes);
    }

    /** Keeps the connection and neither reads nor writes, until the test is over. */
    void ignore() throws IOException {
      try {
        over.await();
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    }

    /** Reads on without an answer, until the caller closes. */
    void onlyRead() throws IOException {
      while (true) {
        next();
      }
    }
  }

  /** The frame with one byte of another value. */
  static byte[] with(byte[] frame, int at, int value) {
    byte[] changed = frame.clone();
    changed[at] = (byte) value;
    return changed;
  }

  static byte[] joined(byte[]... parts) {
    List<Byte> bytes = new ArrayList<>();
    for (byte[] part : parts) {
      for (byte b : part) {
        bytes.add(b);
      }
    }
    byte[] all = new byte[bytes.size()];
    for (int i = 0; i < all.length; i++) {
      all[i] = bytes.get(i);
    }
    return all;
  }
}
