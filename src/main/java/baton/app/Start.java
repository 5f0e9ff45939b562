package baton.app;

import baton.conductor.Conductor;
import baton.config.BatonConfig;
import baton.config.ConductorConfigSourceFactory;
import baton.config.ConfiguredPublishers;
import baton.config.Fault;
import baton.rpc.RpcServer;
import io.quarkus.runtime.Application;
import io.quarkus.runtime.LaunchMode;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.quarkus.vertx.http.HttpServerStart;
import jakarta.annotation.Priority;
import jakarta.enterprise.event.Observes;
import jakarta.enterprise.event.ObservesAsync;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.jboss.logging.Logger;

/**
 * The order of the start: the configuration has been read and found right by now; then both ports
 * must be free, then the configured publishers are followed, then RPC and HTTP listen.
 */
@Singleton
final class Start {
  private static final Logger LOG = Logger.getLogger("baton");

  /** Before whatever else begins at the start. */
  private static final int FIRST = 1;

  private final Conductor conductor;
  private final ConfiguredPublishers configured;
  private final RpcServer rpc;
  private final BatonConfig config;
  private final String httpHost;
  private final int httpPort;
  private final String version;
  private volatile boolean endedBySignal;

  @Inject
  Start(
      Conductor conductor,
      ConfiguredPublishers configured,
      RpcServer rpc,
      BatonConfig config,
      @ConfigProperty(name = "quarkus.http.host") String httpHost,
      @ConfigProperty(name = "quarkus.http.port") int httpPort,
      @ConfigProperty(name = "quarkus.application.version") String version) {
    this.conductor = conductor;
    this.configured = configured;
    this.rpc = rpc;
    this.config = config;
    this.httpHost = httpHost;
    this.httpPort = httpPort;
    this.version = version;
  }

  void start(@Observes @Priority(FIRST) StartupEvent event) {
    List<Fault> faults = new ArrayList<>();
    if (LaunchMode.current() == LaunchMode.NORMAL) {
      endWell(Application.currentApplication());
      requireFree("quarkus.http.port", httpHost, httpPort, faults);
      requireFree("baton.rpc.port", config.rpc().host(), config.rpc().port(), faults);
    }
    if (faults.isEmpty()) {
      faults.addAll(configured.start());
    }
    ConductorConfigSourceFactory.refuse(faults);
  }

  private static void requireFree(String key, String host, int port, List<Fault> faults) {
    try (ServerSocket socket = new ServerSocket()) {
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(host, port));
    } catch (IOException e) {
      faults.add(new Fault(key, "cannot listen at " + host + ":" + port + ": " + e.getMessage()));
    }
  }

  void listening(@ObservesAsync HttpServerStart start) {
    LOG.infof(
        "Baton %s listens: http %d, rpc %s; %d publishers registered",
        version,
        start.options().getPort(),
        rpc.port() == 0 ? "off" : rpc.port(),
        conductor.services().size());
  }

  void end(@Observes ShutdownEvent event) {
    endedBySignal = !event.isStandardShutdown();
  }

  /**
   * Whoever ends the process by a signal gets exit code 0 when all is done; Java would say 143, as
   * if it had failed.
   */
  private void endWell(Application application) {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  application.awaitShutdown();
                  if (endedBySignal) {
                    Runtime.getRuntime().halt(0);
                  }
                },
                "baton-end"));
  }
}
