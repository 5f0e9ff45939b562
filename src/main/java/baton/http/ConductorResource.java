package baton.http;

import baton.client.ConductorClient;
import baton.conductor.HashQuery;
import baton.conductor.Publisher;
import baton.conductor.PublisherKey;
import baton.http.Exchange.Work;
import baton.rpc.LocalConductor;
import baton.rpc.Wire.QueryResult;
import baton.rpc.Wire.UnregisterArgs;
import io.vertx.ext.web.RoutingContext;
import jakarta.inject.Inject;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Response;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * The six endpoints of the Mooncake Conductor, and the state of its streams; {@code
 * META-INF/openapi.yaml} describes them.
 */
@Path("/")
public final class ConductorResource {
  private final ConductorClient client;
  private final Exchange exchange;
  private final QueryMeter meter;
  private final AdminGuard guard;

  @Inject
  ConductorResource(ConductorClient client, Exchange exchange, QueryMeter meter, AdminGuard guard) {
    this.client = client;
    this.exchange = exchange;
    this.meter = meter;
    this.guard = guard;
  }

  @POST
  @Path("/register")
  public CompletionStage<Response> register(@Context RoutingContext http) {
    guard.admitRegistration(http);
    return exchange.call(
        http,
        Work.BLOCKING,
        body -> {
          // Checked here too, so that a refusal names its field wherever the Conductor is.
          Publisher publisher = Requests.register(body);
          return Replies.Registered.of(
              client.functions().register(LocalConductor.service(publisher)));
        });
  }

  @POST
  @Path("/unregister")
  public CompletionStage<Response> unregister(@Context RoutingContext http) {
    guard.admitRegistration(http);
    return exchange.call(
        http,
        Work.BLOCKING,
        body -> {
          PublisherKey key = Requests.unregister(body);
          return Replies.Unregistered.of(
              client
                  .functions()
                  .unregister(new UnregisterArgs(key.instanceId(), key.tenantId(), key.dpRank())));
        });
  }

  @POST
  @Path("/query")
  public CompletionStage<Response> query(@Context RoutingContext http) {
    return hits(http, body -> client.functions().query(Requests.query(body)));
  }

  @POST
  @Path("/query_by_hash")
  public CompletionStage<Response> queryByHash(@Context RoutingContext http) {
    return hits(http, body -> queryByHash(Requests.queryByHash(body)));
  }

  private QueryResult queryByHash(HashQuery query) {
    if (client.functions() instanceof LocalConductor local) {
      return local.query(query);
    }
    throw BadRequest.field(
        "unsupported", "seq_hashes", "cannot be asked of a Conductor elsewhere; ask by token_ids");
  }

  private CompletionStage<Response> hits(
      RoutingContext http, Function<BodyReader, QueryResult> query) {
    Work work = client.waits() ? Work.BLOCKING : Work.SHORT;
    return exchange.call(http, work, body -> Replies.Hits.of(meter.time(() -> query.apply(body))));
  }

  @GET
  @Path("/services")
  public Response services(@Context RoutingContext http) {
    return exchange.answer(http, () -> Replies.Services.of(client.functions().services()));
  }

  /** Not one of the Conductor's own: how each publisher's stream is. */
  @GET
  @Path("/services/status")
  public Response status(@Context RoutingContext http) {
    return exchange.answer(
        http,
        () -> {
          if (client.functions() instanceof LocalConductor local) {
            return Replies.Statuses.of(local.statuses());
          }
          throw BadRequest.of(
              400, "unsupported", "the streams of a Conductor elsewhere cannot be asked for");
        });
  }

  @GET
  @Path("/global_view")
  public Response globalView(@Context RoutingContext http) {
    return exchange.answer(
        http,
        () ->
            client.functions() instanceof LocalConductor local
                ? Replies.GlobalView.of(local.views())
                : Replies.GlobalView.of(client.functions().globalView()));
  }
}
