package baton.http;

import baton.embeds.PromptEmbedsCache;
import io.smallrye.common.annotation.Blocking;
import io.vertx.ext.web.RoutingContext;
import jakarta.inject.Inject;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Response;
import java.math.BigInteger;
import java.util.List;
import java.util.function.Supplier;

/** What operators may ask and do about the prompt-embeds cache. */
@Path("/admin/prompt_embeds")
public final class PromptEmbedsAdminResource {
  private static final BigInteger LONGEST = BigInteger.valueOf(Long.MAX_VALUE);

  private final PromptEmbedsCache cache;
  private final Exchange exchange;
  private final AdminGuard guard;

  @Inject
  PromptEmbedsAdminResource(PromptEmbedsCache cache, Exchange exchange, AdminGuard guard) {
    this.cache = cache;
    this.exchange = exchange;
    this.guard = guard;
  }

  @GET
  @Path("/can_hold")
  public Response canHold(@Context RoutingContext http) {
    return answer(http, () -> new Replies.CanHold(cache.canHold(bytes(http))));
  }

  private static long bytes(RoutingContext http) {
    List<String> values = http.queryParam("bytes");
    if (values.isEmpty()) {
      throw BadRequest.missing("bytes");
    }
    if (values.size() > 1 || !values.get(0).matches("[0-9]{1,100}")) {
      throw BadRequest.type("bytes", "a whole number of bytes, at least 0");
    }
    return new BigInteger(values.get(0)).min(LONGEST).longValue();
  }

  @GET
  @Path("/stats")
  public Response stats(@Context RoutingContext http) {
    return answer(http, () -> Replies.CacheStats.of(cache.stats()));
  }

  @POST
  @Path("/clear")
  @Blocking
  public Response clear(@Context RoutingContext http) {
    guard.admit(http);
    cache.clear();
    cache.trim();
    return Response.noContent().build();
  }

  private Response answer(RoutingContext http, Supplier<Object> action) {
    guard.admit(http);
    return exchange.answer(http, action);
  }
}
