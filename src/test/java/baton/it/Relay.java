package baton.it;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A TCP connection's way, which can be cut. */
final class Relay implements AutoCloseable {
  private final ServerSocket listener;
  private final int target;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private volatile boolean cut;

  /**
   * @param endpoint of ZMQ, on this machine
   */
  Relay(String endpoint) {
    target = Integer.parseInt(endpoint.substring(endpoint.lastIndexOf(':') + 1));
    try {
      listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    daemon(this::accept);
  }

  String endpoint() {
    return "tcp://127.0.0.1:" + listener.getLocalPort();
  }

  /** Ends what is connected; whoever connects again is turned away. */
  void cut() {
    cut = true;
    sockets.forEach(Relay::end);
  }

  void mend() {
    cut = false;
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket from = listener.accept();
        if (cut) {
          from.close();
          continue;
        }
        Socket to = new Socket(InetAddress.getLoopbackAddress(), target);
        sockets.add(from);
        sockets.add(to);
        daemon(() -> pass(from, to));
        daemon(() -> pass(to, from));
      } catch (IOException e) {
        // The listener was closed, or nobody is there: the next one may have more luck.
      }
    }
  }

  private void pass(Socket from, Socket to) {
    try {
      from.getInputStream().transferTo(to.getOutputStream());
    } catch (IOException e) {
      // Cut, or one of the two has gone.
    } finally {
      end(from);
      end(to);
      sockets.remove(from);
      sockets.remove(to);
    }
  }

  private static void end(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void daemon(Runnable task) {
    Thread thread = new Thread(task, "relay");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() {
    try {
      listener.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    cut();
  }
}
