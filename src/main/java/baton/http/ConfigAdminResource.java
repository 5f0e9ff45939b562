package baton.http;

import baton.config.ConfiguredPublishers;
import io.vertx.ext.web.RoutingContext;
import jakarta.inject.Inject;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Response;

/** What configuration is in force, and where it came from. */
@Path("/admin/config")
public final class ConfigAdminResource {
  private final ConfiguredPublishers configured;
  private final Exchange exchange;
  private final AdminGuard guard;

  @Inject
  ConfigAdminResource(ConfiguredPublishers configured, Exchange exchange, AdminGuard guard) {
    this.configured = configured;
    this.exchange = exchange;
    this.guard = guard;
  }

  @GET
  public Response config(@Context RoutingContext http) {
    guard.admit(http);
    return exchange.answer(http, () -> Replies.Configuration.of(configured.inForce()));
  }
}
