package baton.app;

import baton.conductor.Conductor;
import baton.rpc.RpcServer;
import io.quarkus.vertx.http.HttpServerStart;
import jakarta.enterprise.event.ObservesAsync;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.jboss.logging.Logger;

/** Says once what has started. */
@Singleton
final class StartReport {
  private static final Logger LOG = Logger.getLogger("baton");

  private final Conductor conductor;
  private final RpcServer rpc;
  private final String version;

  @Inject
  StartReport(
      Conductor conductor,
      RpcServer rpc,
      @ConfigProperty(name = "quarkus.application.version") String version) {
    this.conductor = conductor;
    this.rpc = rpc;
    this.version = version;
  }

  void listening(@ObservesAsync HttpServerStart start) {
    LOG.infof(
        "Baton %s listens: http %d, rpc %s; %d publishers registered",
        version,
        start.options().getPort(),
        rpc.port() == 0 ? "off" : rpc.port(),
        conductor.services().size());
  }
}
