package baton.http;

import baton.config.BatonConfig;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Reads request bodies on the event loop, so that a slow client holds no thread, and keeps within
 * two limits: the bytes of one body and the bytes of all that are in memory.
 */
@Singleton
final class Bodies {
  private static final int FIRST_BYTES = 16 * 1024;

  private final int maxBytes;
  private final long maxBuffered;
  private final AtomicLong buffered = new AtomicLong();

  @Inject
  Bodies(BatonConfig config, MeterRegistry registry) {
    maxBytes = config.http().maxBodyBytes();
    maxBuffered = config.http().maxBufferedBytes();
    Gauge.builder("baton.http.buffered", buffered, AtomicLong::get)
        .description("Bytes of request bodies in memory")
        .baseUnit("bytes")
        .register(registry);
  }

  /** A body's bytes; {@link #release} gives its memory back to the budget. */
  final class Body {
    private final Promise<Body> complete = Promise.promise();
    private byte[] bytes = new byte[0];
    private int length;
    private long discarded;
    private boolean ended;
    private boolean failed;

    byte[] bytes() {
      return bytes;
    }

    int length() {
      return length;
    }

    void release() {
      buffered.addAndGet(-bytes.length);
      length = 0;
      bytes = new byte[0];
    }

    private boolean grow(int more) {
      long wanted = Math.max(Math.max(FIRST_BYTES, 2L * bytes.length), (long) length + more);
      int larger = (int) Math.min(wanted, maxBytes);
      if (buffered.addAndGet(larger - bytes.length) > maxBuffered) {
        buffered.addAndGet(bytes.length - larger);
        return false;
      }
      bytes = Arrays.copyOf(bytes, larger);
      return true;
    }

    private void add(Buffer chunk, HttpServerRequest request) {
      if (failed) {
        discard(chunk.length(), request);
        return;
      }
      int size = chunk.length();
      if (size > maxBytes - length) {
        fail(tooLarge());
        return;
      }
      if (size > bytes.length - length && !grow(size)) {
        fail(
            BadRequest.of(503, "unavailable", "too many request bodies are being read; try again"));
        return;
      }
      chunk.getBytes(bytes, length);
      length += size;
    }

    /**
     * The rest of a refused body is read and forgotten, so that the connection stays usable; within
     * bounds, which a body that is refused before its first byte needs above the limit.
     */
    private void discard(int size, HttpServerRequest request) {
      discarded += size;
      if (discarded > 2L * maxBytes) {
        request.connection().close();
      }
    }

    private void end() {
      if (!failed) {
        ended = true;
        complete.complete(this);
      }
    }

    /** Once it has ended it is another's: a connection that breaks then must not take it away. */
    private void fail(Throwable failure) {
      if (!ended && !failed) {
        failed = true;
        release();
        complete.fail(failure);
      }
    }

    private BadRequest tooLarge() {
      return BadRequest.of(413, "too_large", "the body is longer than " + maxBytes + " bytes");
    }
  }

  /** Starts reading; fails with a {@link BadRequest} as soon as a limit is passed. */
  Future<Body> read(HttpServerRequest request) {
    Body body = new Body();
    request.exceptionHandler(e -> body.fail(brokenOff()));
    request.handler(chunk -> body.add(chunk, request));
    request.endHandler(end -> body.end());
    if (announcedLength(request) > maxBytes) {
      body.fail(body.tooLarge());
    } else if ("100-continue".equalsIgnoreCase(request.getHeader("Expect"))) {
      request.response().writeContinue();
    }
    request.resume();
    return body.complete.future();
  }

  /** Nobody is left to read this reply; it only ends the exchange. */
  private static BadRequest brokenOff() {
    return BadRequest.of(400, "invalid_value", "the connection ended before the body did");
  }

  private static long announcedLength(HttpServerRequest request) {
    String header = request.getHeader("Content-Length");
    // Vert.x has refused a length that is no number before the request came here.
    return header == null ? 0 : Long.parseLong(header.strip());
  }
}
