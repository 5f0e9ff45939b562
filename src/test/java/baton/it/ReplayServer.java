package baton.it;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** An engine's replay socket: answers with what it was told to remember, as vLLM does. */
final class ReplayServer implements AutoCloseable {
  private static final long END = -1;

  private final ZContext context = new ZContext();
  private final List<byte[]> payloads = new CopyOnWriteArrayList<>();
  private final Thread thread;
  private final String endpoint;
  private volatile boolean closed;

  ReplayServer() {
    ZMQ.Socket socket = context.createSocket(SocketType.ROUTER);
    socket.setReceiveTimeOut(50);
    socket.setLinger(0);
    endpoint = "tcp://127.0.0.1:" + socket.bindToRandomPort("tcp://127.0.0.1", 32_100, 40_000);
    thread = new Thread(() -> serve(socket), "replay-server");
    thread.start();
  }

  String endpoint() {
    return endpoint;
  }

  /** Remembers a batch under the next number, from 0 on. */
  byte[] remember(Object batch) {
    byte[] payload = EnginePublisher.pack(batch);
    payloads.add(payload);
    return payload;
  }

  /** Is another engine from now on, which has published nothing. */
  void forget() {
    payloads.clear();
  }

  private void serve(ZMQ.Socket socket) {
    while (!closed) {
      byte[] client = socket.recv();
      if (client == null) {
        continue;
      }
      if (socket.recv().length != 0) {
        throw new IllegalStateException("a request begins with an empty frame");
      }
      long from = ByteBuffer.wrap(socket.recv()).getLong();
      byte[][] known = payloads.toArray(byte[][]::new);
      for (int i = (int) from; i < known.length; i++) {
        answer(socket, client, i, known[i]);
      }
      answer(socket, client, END, new byte[0]);
    }
    socket.close();
  }

  private static void answer(ZMQ.Socket socket, byte[] client, long number, byte[] payload) {
    socket.send(client, ZMQ.SNDMORE);
    socket.send(new byte[0], ZMQ.SNDMORE);
    socket.send(ByteBuffer.allocate(Long.BYTES).putLong(number).array(), ZMQ.SNDMORE);
    socket.send(payload);
  }

  @Override
  public void close() {
    closed = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    context.close();
  }
}
