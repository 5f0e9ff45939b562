package baton.client;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

/**
 * A TCP connection on which writing has a deadline too: a peer that has stopped reading must not
 * hold a caller for ever. Used by one thread at a time; closed by any.
 */
final class TimedSocket implements AutoCloseable {
  private final SocketChannel channel;
  private final Selector selector;
  private final SelectionKey key;

  private TimedSocket(SocketChannel channel, Selector selector) throws IOException {
    this.channel = channel;
    this.selector = selector;
    channel.configureBlocking(false);
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    key = channel.register(selector, 0);
  }

  /**
   * Connects.
   *
   * @throws SocketTimeoutException if nobody answers in time
   */
  static TimedSocket connect(InetSocketAddress address, int timeoutMs) throws IOException {
    if (address.isUnresolved()) {
      throw new UnknownHostException(address.getHostString());
    }
    SocketChannel channel = SocketChannel.open();
    Selector selector = null;
    try {
      selector = Selector.open();
      TimedSocket socket = new TimedSocket(channel, selector);
      long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
      if (!channel.connect(address)) {
        do {
          socket.await(SelectionKey.OP_CONNECT, deadline);
        } while (!channel.finishConnect());
      }
      return socket;
    } catch (IOException | RuntimeException e) {
      channel.close();
      if (selector != null) {
        selector.close();
      }
      throw e;
    }
  }

  /** Writes all bytes by the deadline, a time of {@link System#nanoTime}. */
  void write(byte[] bytes, long deadline) throws IOException {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    while (buffer.hasRemaining()) {
      if (channel.write(buffer) == 0) {
        await(SelectionKey.OP_WRITE, deadline);
      }
    }
  }

  /** Fills a part of an array by the deadline. */
  void read(byte[] bytes, int offset, int length, long deadline) throws IOException {
    ByteBuffer buffer = ByteBuffer.wrap(bytes, offset, length);
    while (buffer.hasRemaining()) {
      int read = channel.read(buffer);
      if (read < 0) {
        throw new EOFException("the peer has closed it");
      }
      if (read == 0) {
        await(SelectionKey.OP_READ, deadline);
      }
    }
  }

  private void await(int operation, long deadline) throws IOException {
    long left = deadline - System.nanoTime();
    if (left <= 0) {
      throw new SocketTimeoutException("not ready in time");
    }
    key.interestOps(operation);
    selector.select(Math.max(1, TimeUnit.NANOSECONDS.toMillis(left)));
    selector.selectedKeys().clear();
    // An interrupted thread's select returns at once, again and again.
    if (Thread.currentThread().isInterrupted()) {
      throw new InterruptedIOException("interrupted");
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
    selector.close();
  }
}
