package baton.http;

import baton.embeds.PromptEmbedsCache;
import baton.embeds.Upload;
import io.netty.channel.MaxMessagesRecvByteBufAllocator;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.impl.ConnectionBase;
import java.nio.ByteBuffer;

/**
 * Receives one payload: each piece goes from the socket to where it will stay. Ends early, with the
 * reply, as soon as it is known that nothing will be stored. Runs on the request's event loop.
 */
final class PayloadReceiver {
  /** Bytes of a refused payload that are read and forgotten before the connection is closed. */
  private static final long MAX_DISCARDED = 64L * 1024 * 1024;

  /** Of up to 64 KiB each. */
  private static final int READS_PER_TURN = 2;

  /** The length of a body that does not say how long it is. */
  private static final long UNKNOWN = -1;

  private final HttpServerRequest request;
  private final PromptEmbedsCache cache;
  private final Promise<Upload> received = Promise.promise();
  private final long announced;
  private Uploads.Share share;
  private Upload upload;
  private boolean ended;
  private long discarded;

  /** The payload cannot be stored; not an error of the request's. */
  static final class NotStored extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NotStored(String reason) {
      super(reason, null, false, false);
    }
  }

  PayloadReceiver(HttpServerRequest request, PromptEmbedsCache cache) {
    this.request = request;
    this.cache = cache;
    this.announced = announcedLength(request);
  }

  /**
   * @return all of the payload; or fails with {@link NotStored}, or with a {@link BadRequest}. Its
   *     share of {@code uploads} is to be given back with {@link #end}.
   */
  Future<Upload> receive(Uploads uploads) {
    takeTurns();
    request.exceptionHandler(e -> fail(brokenOff()));
    request.handler(this::add);
    request.endHandler(end -> complete());
    if (announced > 0 && !cache.admits(announced)) {
      fail(notStored());
    } else if (announced != 0 && cache.enabled()) {
      share = uploads.begin(Math.max(announced, 0));
      if (share == null) {
        fail(busy());
      } else {
        upload = cache.upload(Math.max(announced, 0));
      }
    }
    if (!ended && "100-continue".equalsIgnoreCase(request.getHeader("Expect"))) {
      request.response().writeContinue();
    }
    request.resume();
    return received.future();
  }

  /**
   * By itself a connection reads up to a megabyte before the event loop's others get their turn,
   * and a lookup should not wait for that.
   */
  private void takeTurns() {
    if (request.connection() instanceof ConnectionBase connection
        && connection.channel().config().getRecvByteBufAllocator()
            instanceof MaxMessagesRecvByteBufAllocator reads) {
      reads.maxMessagesPerRead(READS_PER_TURN);
    }
  }

  /** Gives its share of the uploads back. */
  void end() {
    if (share != null) {
      share.end();
    }
  }

  private void add(Buffer chunk) {
    if (ended) {
      discard(chunk.length());
      return;
    }
    long length = (upload == null ? 0 : upload.length()) + chunk.length();
    ByteBuffer bytes = bytes(chunk);
    if (announced == UNKNOWN && !cache.canHold(length)) {
      // Counted once, with the length at which it was given up.
      cache.admits(length);
      fail(notStored());
    } else if (!Ascii.isAll(bytes)) {
      fail(BadRequest.field("invalid_value", "body", "has a byte that is not ASCII"));
    } else if (announced == UNKNOWN && !share.grow(chunk.length())) {
      fail(busy());
    } else {
      upload.append(bytes);
    }
  }

  /** What is left of a refused payload is passed over, within bounds. */
  private void discard(int size) {
    discarded += size;
    if (discarded > MAX_DISCARDED) {
      request.connection().close();
    }
  }

  private void complete() {
    if (ended) {
      return;
    }
    if (upload == null || upload.length() == 0) {
      fail(new NotStored("empty"));
    } else {
      ended = true;
      received.complete(upload);
    }
  }

  private void fail(RuntimeException failure) {
    if (ended) {
      return;
    }
    ended = true;
    if (upload != null) {
      upload.discard();
    }
    received.fail(failure);
  }

  private NotStored notStored() {
    return new NotStored(cache.enabled() ? "oversize" : "disabled");
  }

  private BadRequest busy() {
    request.response().putHeader("Retry-After", "1");
    return BadRequest.of(429, "busy", "too many payloads are being received; try again");
  }

  /** Nobody is left to read this; it only ends the exchange. */
  private static BadRequest brokenOff() {
    return BadRequest.of(400, "invalid_value", "the connection ended before the body did");
  }

  private static long announcedLength(HttpServerRequest request) {
    if (request.getHeader("Transfer-Encoding") != null) {
      return UNKNOWN;
    }
    String length = request.getHeader("Content-Length");
    if (length == null) {
      // HTTP/2 needs no such header; a body may follow nevertheless.
      return request.isEnded() ? 0 : UNKNOWN;
    }
    return Long.parseLong(length.strip());
  }

  /** There is no other way to its bytes without copying them. */
  @SuppressWarnings("deprecation")
  private static ByteBuffer bytes(Buffer chunk) {
    return chunk.getByteBuf().nioBuffer();
  }
}
