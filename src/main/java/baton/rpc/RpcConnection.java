package baton.rpc;

import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetSocket;
import java.util.concurrent.atomic.AtomicLong;
import org.jboss.logging.Logger;

/**
 * One peer's connection. Belongs to its event loop. Requests are answered one at a time and in
 * order: while one is being worked on, or its answer waits for a slow peer, nothing more is read.
 *
 * <p>The buffer holds what has come of the frames that are not answered yet: at most one frame of
 * the largest size and what arrived with its end. It grows with what comes, not with what is
 * announced.
 */
final class RpcConnection {
  private static final Logger LOG = Logger.getLogger(RpcConnection.class);

  /** A longer body is worked on by another thread. */
  private static final int INLINE_BYTES = 64 * 1024;

  /** A frame that has begun must be complete by then; an idle connection may last for ever. */
  private static final int FRAME_TIMEOUT_MS = 30_000;

  private static final int FIRST_BYTES = 4096;

  /**
   * What connections may hold.
   *
   * @param body bytes of one body and its attachment
   * @param total bytes of all connections
   * @param buffered what they hold now
   */
  record Limits(int body, long total, AtomicLong buffered) {}

  private final Vertx vertx;
  private final NetSocket socket;
  private final Limits limits;
  private final RpcMeter meter;
  private final RpcCalls calls;
  private final Context context;

  private byte[] bytes = new byte[0];
  private int start;
  private int end;

  /** Another thread works on a request in the buffer. */
  private boolean working;

  /** The peer is slow to read its answers. */
  private boolean choked;

  /** What has begun is finished, and then the connection ends. */
  private boolean draining;

  private boolean ended;
  private long frameTimer = -1;

  RpcConnection(
      Vertx vertx, NetSocket socket, ConductorFunctions conductor, Limits limits, RpcMeter meter) {
    this.vertx = vertx;
    this.socket = socket;
    this.limits = limits;
    this.meter = meter;
    this.context = vertx.getOrCreateContext();
    this.calls = new RpcCalls(conductor, meter, socket.remoteAddress().hostAddress());
  }

  void start() {
    socket.exceptionHandler(e -> LOG.debugf(e, "rpc peer %s", socket.remoteAddress()));
    socket.handler(
        chunk -> {
          if (!ended && append(chunk)) {
            proceed();
          }
        });
  }

  /** The socket has closed: a call may still run, but its answer has nowhere to go. */
  void closed() {
    ended = true;
    cancelTimer();
    if (!working) {
      release();
    }
  }

  /** Ends the connection after the request that has begun. Called by any thread. */
  void drain() {
    context.runOnContext(
        ignored -> {
          draining = true;
          endIfDrained();
        });
  }

  private void endIfDrained() {
    if (draining && !ended && !isBusy() && start == end) {
      ended = true;
      socket.close();
    }
  }

  private boolean isBusy() {
    return working || choked;
  }

  private boolean append(Buffer chunk) {
    int size = chunk.length();
    if (size > bytes.length - end) {
      int held = end - start;
      int wanted = Math.addExact(held, size);
      byte[] target = bytes;
      if (wanted > bytes.length) {
        int length =
            (int)
                Math.min(Math.max(FIRST_BYTES, Math.max(wanted, 2L * held)), Integer.MAX_VALUE - 8);
        if (limits.buffered().addAndGet(length - bytes.length) > limits.total()) {
          limits.buffered().addAndGet(bytes.length - length);
          breakOff("there is no memory for more");
          return false;
        }
        target = new byte[length];
      }
      System.arraycopy(bytes, start, target, 0, held);
      bytes = target;
      start = 0;
      end = held;
    }
    chunk.getBytes(bytes, end);
    end += size;
    return true;
  }

  /** Works on complete frames until there is none, or one is taken by another thread. */
  private void proceed() {
    while (!isBusy() && !ended && end - start >= RequestHeader.SIZE) {
      RequestHeader header;
      try {
        header = RequestHeader.decode(bytes, start, end - start);
      } catch (MalformedMessage e) {
        breakOff(e.getMessage());
        return;
      }
      long length = header.length() + header.attachLength();
      if (length > limits.body()) {
        breakOff("a frame of " + length + " bytes");
        return;
      }
      if (end - start - RequestHeader.SIZE < length) {
        break;
      }
      cancelTimer();
      int body = start + RequestHeader.SIZE;
      // Before the work, which may be done, and the next frame begun, when the call returns.
      start = body + (int) length;
      work(header, body);
    }
    if (!isBusy() && !ended) {
      tidy();
      endIfDrained();
    }
  }

  private void tidy() {
    if (start == end) {
      start = 0;
      end = 0;
      if (bytes.length > INLINE_BYTES) {
        release();
      }
    } else if (frameTimer < 0) {
      frameTimer = vertx.setTimer(FRAME_TIMEOUT_MS, timer -> breakOff("a frame that does not end"));
    }
  }

  private void work(RequestHeader header, int body) {
    byte[] frame = bytes;
    int length = (int) header.length();
    if (length <= INLINE_BYTES && !calls.waits(header)) {
      answer(calls.answer(header, frame, body, length));
      return;
    }
    working = true;
    socket.pause();
    vertx
        .executeBlocking(() -> calls.answer(header, frame, body, length), false)
        .onSuccess(
            response -> {
              working = false;
              if (ended) {
                release();
                return;
              }
              answer(response);
              goOn();
            })
        .onFailure(
            e -> {
              LOG.errorf(e, "rpc peer %s: a call failed", socket.remoteAddress());
              working = false;
              if (!ended) {
                breakOff("its call failed");
              }
              release();
            });
  }

  private void answer(byte[] response) {
    socket.write(Buffer.buffer(response));
    if (socket.writeQueueFull()) {
      choked = true;
      socket.pause();
      socket.drainHandler(
          drained -> {
            choked = false;
            goOn();
          });
    }
  }

  private void goOn() {
    proceed();
    if (!isBusy() && !ended) {
      socket.resume();
    }
  }

  private void breakOff(String reason) {
    ended = true;
    meter.brokenConnection();
    LOG.debugf("rpc peer %s: connection closed: %s", socket.remoteAddress(), reason);
    socket.close();
  }

  private void release() {
    limits.buffered().addAndGet(-bytes.length);
    bytes = new byte[0];
    start = 0;
    end = 0;
  }

  private void cancelTimer() {
    if (frameTimer >= 0) {
      vertx.cancelTimer(frameTimer);
      frameTimer = -1;
    }
  }
}
