package baton.publisher;

import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import org.zeromq.ZMQ;
import zmq.Msg;

/**
 * One request to an engine for what it has published, and its answers. Each request has a socket of
 * its own, so that answers to an earlier one, which may come late, never reach it. Used by one
 * thread.
 *
 * <p>Format: vLLM's {@code ZmqEventPublisher}. Request: an empty frame and the first number wanted,
 * 8 bytes. Answers: an empty frame, perhaps a topic, the number, the payload; the last one has the
 * number -1.
 */
final class Replay implements AutoCloseable {
  private static final long END = -1;
  private static final int SHORTEST = 3;
  private static final int LONGEST = 4;

  /**
   * @param payload null if the answer is none
   */
  record Answer(long number, byte[] payload) {
    boolean isEnd() {
      return payload != null && number == END && payload.length == 0;
    }

    boolean isMalformed() {
      return payload == null || (number < 0 && !isEnd());
    }
  }

  private final ZMQ.Socket socket;
  private final SelectionKey key;
  private volatile boolean closed;

  /**
   * @param attachment of the socket's key
   */
  Replay(ZMQ.Socket socket, Selector selector, Object attachment) throws ClosedChannelException {
    this.socket = socket;
    this.key = socket.getFD().register(selector, SelectionKey.OP_READ, attachment);
  }

  /** Sends the request; it waits for the connection. */
  void ask(String endpoint, long from) {
    socket.connect(endpoint);
    socket.send(new byte[0], ZMQ.SNDMORE | ZMQ.DONTWAIT);
    socket.send(ByteBuffer.allocate(Long.BYTES).putLong(from).array(), ZMQ.DONTWAIT);
  }

  /** The next answer, or null if none is there. */
  Answer receive() {
    Msg frame = socket.recvMsg(ZMQ.DONTWAIT);
    if (frame == null) {
      return null;
    }
    boolean fits = frame.size() == 0;
    Msg number = null;
    Msg payload = null;
    int frames = 1;
    for (; frame.hasMore(); frames++) {
      frame = socket.recvMsg(0);
      number = payload;
      payload = frame;
    }
    fits &= frames >= SHORTEST && frames <= LONGEST && number.size() == Long.BYTES;
    return fits
        ? new Answer(ByteBuffer.wrap(number.data()).getLong(), payload.data())
        : new Answer(END, null);
  }

  boolean isClosed() {
    return closed;
  }

  @Override
  public void close() {
    closed = true;
    key.cancel();
    socket.close();
  }
}
