package baton.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.vertx.core.Future;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.RoutingContext;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import jakarta.ws.rs.core.Response;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import org.msgpack.jackson.dataformat.MessagePackFactory;

/**
 * What every endpoint does around its own work: media types, body, errors and the reply's bytes.
 */
@Singleton
final class Exchange {
  /** A longer body is decoded and answered on a worker thread, so that the event loop goes on. */
  private static final int INLINE_BYTES = 64 * 1024;

  private final Bodies bodies;
  private final ObjectMapper json;
  private final ObjectMapper msgpack = new ObjectMapper(new MessagePackFactory());

  /** Where a call's work runs. */
  enum Work {
    /** On the event loop if the body is short. */
    SHORT,
    /** Always on a worker thread. */
    BLOCKING
  }

  @Inject
  Exchange(Bodies bodies, ObjectMapper json) {
    this.bodies = bodies;
    this.json = json;
  }

  /** Reads the body, does the work and replies with its result. */
  CompletionStage<Response> call(
      RoutingContext http, Work work, Function<BodyReader, Object> action) {
    HttpServerRequest request = http.request();
    Media requestMedia = Media.ofContentType(request.getHeader("Content-Type"));
    Media fallback = requestMedia == null ? Media.JSON : requestMedia;
    Media replyMedia = Media.ofAccept(accept(request), fallback);
    if (replyMedia == null) {
      return refused(http, fallback, notAcceptable());
    }
    if (requestMedia == null || isEncoded(request)) {
      return refused(http, replyMedia, unsupportedContentType());
    }
    Future<Response> reply =
        bodies
            .read(request)
            .compose(
                body -> {
                  Supplier<Response> answer = () -> answer(body, requestMedia, replyMedia, action);
                  if (work == Work.BLOCKING || body.length() > INLINE_BYTES) {
                    return http.vertx().executeBlocking(answer::get, false);
                  }
                  return Future.succeededFuture(answer.get());
                })
            .otherwise(failure -> reply(replyMedia, ErrorReply.of(failure)));
    return reply.toCompletionStage();
  }

  private CompletionStage<Response> refused(RoutingContext http, Media media, ErrorReply error) {
    http.request().resume();
    return Future.succeededFuture(reply(media, error)).toCompletionStage();
  }

  /** A list may come on several lines. */
  private static String accept(HttpServerRequest request) {
    return String.join(",", request.headers().getAll("Accept"));
  }

  static boolean isEncoded(HttpServerRequest request) {
    String encoding = request.getHeader("Content-Encoding");
    return encoding != null && !encoding.equalsIgnoreCase("identity");
  }

  private Response answer(
      Bodies.Body body, Media requestMedia, Media replyMedia, Function<BodyReader, Object> action) {
    try {
      Object result = action.apply(BodyReader.of(requestMedia, body.bytes(), body.length()));
      return reply(replyMedia, 200, result);
    } catch (RuntimeException e) {
      return reply(replyMedia, ErrorReply.of(e));
    } finally {
      body.release();
    }
  }

  /** A reply in the type that the client prefers, or in JSON if it wants neither. */
  Response reply(RoutingContext http, int status, Object value) {
    Media media = Media.ofAccept(accept(http.request()), Media.JSON);
    return reply(media == null ? Media.JSON : media, status, value);
  }

  /** Replies to a request that has no body. */
  Response answer(RoutingContext http, Supplier<Object> action) {
    Media media = Media.ofAccept(accept(http.request()), Media.JSON);
    if (media == null) {
      return reply(Media.JSON, notAcceptable());
    }
    try {
      return reply(media, 200, action.get());
    } catch (RuntimeException e) {
      return reply(media, ErrorReply.of(e));
    }
  }

  /** An error in the type that the request's headers ask for, as far as they can be met. */
  Response error(String contentType, String accept, ErrorReply error) {
    Media requestMedia = Media.ofContentType(contentType);
    Media fallback = requestMedia == null ? Media.JSON : requestMedia;
    Media media = Media.ofAccept(accept, fallback);
    return reply(media == null ? fallback : media, error);
  }

  private Response reply(Media media, ErrorReply error) {
    return reply(media, error.status(), error);
  }

  private Response reply(Media media, int status, Object value) {
    try {
      byte[] bytes = (media == Media.JSON ? json : msgpack).writeValueAsBytes(value);
      return Response.status(status).type(media.type()).entity(bytes).build();
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a reply could not be written", e);
    }
  }

  private static ErrorReply notAcceptable() {
    return ErrorReply.of(
        406, "not_acceptable", "replies are application/json or application/msgpack");
  }

  private static ErrorReply unsupportedContentType() {
    return ErrorReply.of(
        415,
        "unsupported_content_type",
        "bodies are application/json in UTF-8 or application/msgpack, without a content encoding");
  }
}
