package baton.http;

import baton.embeds.Payload;
import io.netty.buffer.Unpooled;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.ext.Provider;
import java.io.OutputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import org.jboss.resteasy.reactive.server.core.ResteasyReactiveRequestContext;
import org.jboss.resteasy.reactive.server.spi.ResteasyReactiveResourceInfo;
import org.jboss.resteasy.reactive.server.spi.ServerMessageBodyWriter;
import org.jboss.resteasy.reactive.server.spi.ServerRequestContext;

/**
 * Sends a payload from where it lies, at the pace of its reader. Each piece holds the payload until
 * the socket has taken it, so that its memory is not another's while it is being read.
 *
 * <p>Works on the request's event loop, which is where the endpoint that replies with a payload
 * must be: on any other thread, the socket may take all between finding its queue full and asking
 * to be told when it no longer is, and nobody would go on.
 */
@Provider
public final class PayloadWriter implements ServerMessageBodyWriter<Payload> {
  private static final int PIECE = 256 * 1024;

  /** Bytes on their way to the socket before waiting for it. */
  private static final int QUEUE = 1024 * 1024;

  @Override
  public boolean isWriteable(
      Class<?> type, Type generic, ResteasyReactiveResourceInfo target, MediaType media) {
    return type == Payload.class;
  }

  @Override
  public boolean isWriteable(
      Class<?> type, Type generic, Annotation[] annotations, MediaType media) {
    return type == Payload.class;
  }

  @Override
  public void writeResponse(Payload payload, Type generic, ServerRequestContext context) {
    if (!Context.isOnEventLoopThread()) {
      payload.close();
      throw new IllegalStateException("payloads are sent on the event loop only");
    }
    var request = (ResteasyReactiveRequestContext) context;
    RoutingContext http = request.serverRequest().unwrap(RoutingContext.class);
    HttpServerResponse response = http.response();
    request.suspend();
    // Comes too when the client breaks off.
    http.addEndHandler(
        end -> {
          payload.close();
          request.resume();
        });
    response.putHeader(HttpHeaders.CONTENT_LENGTH, Long.toString(payload.length()));
    response.setWriteQueueMaxSize(QUEUE);
    send(payload, 0, response);
  }

  private static void send(Payload payload, long from, HttpServerResponse response) {
    long next = from;
    while (next < payload.length()) {
      if (response.closed()) {
        return;
      }
      if (response.writeQueueFull()) {
        long rest = next;
        response.drainHandler(drained -> send(payload, rest, response));
        return;
      }
      var piece = payload.slice(next, PIECE);
      next += piece.remaining();
      payload.hold();
      // A short payload goes out in one write, its headers included.
      var sent =
          next < payload.length() ? response.write(buffer(piece)) : response.end(buffer(piece));
      sent.onComplete(done -> payload.close());
    }
  }

  /** There is no other way to send bytes from where they are. */
  @SuppressWarnings("deprecation")
  private static Buffer buffer(ByteBuffer piece) {
    return Buffer.buffer(Unpooled.wrappedBuffer(piece));
  }

  @Override
  public void writeTo(
      Payload payload,
      Class<?> type,
      Type generic,
      Annotation[] annotations,
      MediaType media,
      MultivaluedMap<String, Object> headers,
      OutputStream out) {
    throw new UnsupportedOperationException("payloads are only sent by the server");
  }
}
