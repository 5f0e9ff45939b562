package baton.http;

import baton.embeds.Payload;
import baton.embeds.PromptEmbedsCache;
import io.smallrye.common.annotation.NonBlocking;
import io.vertx.core.Future;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.RoutingContext;
import jakarta.inject.Inject;
import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.HEAD;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** Payloads of prompt embeddings, put once and looked up on each turn of a chat. */
@Path("/prompt_embeds/{identifier: .*}")
public final class PromptEmbedsResource {
  /** A longer payload may drive out many others, which is nothing for an event loop. */
  private static final int INLINE_BYTES = 64 * 1024;

  private static final String TEXT = "text/plain";
  private static final Set<String> TYPES = Set.of(TEXT, "application/octet-stream");

  private final PromptEmbedsCache cache;
  private final Uploads uploads;
  private final Exchange exchange;

  @Inject
  PromptEmbedsResource(PromptEmbedsCache cache, Uploads uploads, Exchange exchange) {
    this.cache = cache;
    this.uploads = uploads;
    this.exchange = exchange;
  }

  @PUT
  public CompletionStage<Response> put(@Context RoutingContext http) {
    PayloadName name;
    try {
      name = PayloadName.of(http.request());
      requirePayload(http.request());
    } catch (BadRequest e) {
      http.request().resume();
      return Future.succeededFuture(refusal(http, e)).toCompletionStage();
    }
    var receiver = new PayloadReceiver(http.request(), cache);
    return receiver
        .receive(uploads)
        .compose(
            upload ->
                upload.length() <= INLINE_BYTES
                    ? Future.succeededFuture(cache.put(name.identifier(), upload, name.salt()))
                    : http.vertx()
                        .executeBlocking(
                            () -> cache.put(name.identifier(), upload, name.salt()), false))
        .map(stored -> exchange.reply(http, 200, Replies.Stored.YES))
        .otherwise(failure -> refusal(http, failure))
        .onComplete(done -> receiver.end())
        .toCompletionStage();
  }

  private static void requirePayload(HttpServerRequest request) {
    String type = request.getHeader("Content-Type");
    boolean fits =
        type == null || TYPES.contains(type.split(";", 2)[0].strip().toLowerCase(Locale.ROOT));
    if (!fits || Exchange.isEncoded(request)) {
      throw BadRequest.of(
          415,
          "unsupported_content_type",
          "payloads are text/plain or application/octet-stream, without a content encoding");
    }
  }

  @GET
  @NonBlocking
  public Response get(@Context RoutingContext http) {
    return look(http, payload -> Response.ok(payload, TEXT).build());
  }

  @HEAD
  @NonBlocking
  public Response head(@Context RoutingContext http) {
    return look(
        http,
        payload -> {
          try (payload) {
            return Response.ok()
                .type(TEXT)
                .header(HttpHeaders.CONTENT_LENGTH, payload.length())
                .build();
          }
        });
  }

  private Response look(RoutingContext http, Function<Payload, Response> found) {
    try {
      PayloadName name = PayloadName.of(http.request());
      Payload payload = cache.get(name.identifier(), name.salt());
      return payload == null ? exchange.reply(http, 404, Replies.Miss.MISS) : found.apply(payload);
    } catch (BadRequest e) {
      return refusal(http, e);
    }
  }

  @DELETE
  @NonBlocking
  public Response delete(@Context RoutingContext http) {
    try {
      PayloadName name = PayloadName.of(http.request());
      cache.remove(name.identifier(), name.salt());
      return Response.noContent().build();
    } catch (BadRequest e) {
      return refusal(http, e);
    }
  }

  private Response refusal(RoutingContext http, Throwable failure) {
    if (failure instanceof PayloadReceiver.NotStored not) {
      return exchange.reply(http, 200, new Replies.Stored(false, not.getMessage()));
    }
    ErrorReply error = ErrorReply.of(failure);
    return exchange.reply(http, error.status(), error);
  }
}
