package baton.rpc;

import baton.config.BatonConfig;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.vertx.core.AbstractVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Promise;
import io.vertx.core.Verticle;
import io.vertx.core.Vertx;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.net.NetSocket;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.jboss.logging.Logger;

/**
 * The RPC port, on the event loops that HTTP uses too. Each connection is a {@link RpcConnection};
 * here are their number and the bytes they may hold together.
 */
@Singleton
public final class RpcServer {
  private static final Logger LOG = Logger.getLogger(RpcServer.class);

  private final BatonConfig.Rpc config;
  private final ConductorFunctions conductor;
  private final Vertx vertx;
  private final RpcMeter meter;
  private final Duration drainTimeout;
  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicLong buffered = new AtomicLong();
  private final Set<RpcConnection> open = ConcurrentHashMap.newKeySet();
  private final CompletableFuture<Void> drained = new CompletableFuture<>();
  private volatile boolean draining;
  private volatile int port;

  @Inject
  RpcServer(
      BatonConfig config,
      ConductorFunctions conductor,
      Vertx vertx,
      MeterRegistry registry,
      @ConfigProperty(name = "quarkus.shutdown.timeout") Optional<Duration> drainTimeout) {
    this.drainTimeout = drainTimeout.orElse(Duration.ZERO);
    this.config = config.rpc();
    this.conductor = conductor;
    this.vertx = vertx;
    this.meter = new RpcMeter(registry, connections, buffered);
  }

  /** The port that is open, 0 for none. */
  public int port() {
    return port;
  }

  void start(@Observes StartupEvent event) {
    if (config.port() == 0) {
      return;
    }
    var options = new DeploymentOptions().setInstances(Runtime.getRuntime().availableProcessors());
    vertx.deployVerticle(this::listener, options).toCompletionStage().toCompletableFuture().join();
    port = config.port();
  }

  /** Lets requests be finished that have begun; idle connections are closed at once. */
  void stop(@Observes ShutdownEvent event) throws InterruptedException, ExecutionException {
    draining = true;
    if (drainTimeout.isZero()) {
      return; // nobody is to be waited for
    }
    open.forEach(RpcConnection::drain);
    finishDraining();
    try {
      drained.get(drainTimeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      LOG.warnf("%d RPC connections had a request that did not end in time", open.size());
    }
  }

  private void finishDraining() {
    if (draining && open.isEmpty()) {
      drained.complete(null);
    }
  }

  private Verticle listener() {
    return new AbstractVerticle() {
      @Override
      public void start(Promise<Void> started) {
        var options = new NetServerOptions().setHost(config.host()).setPort(config.port());
        vertx
            .createNetServer(options)
            .connectHandler(RpcServer.this::connected)
            .listen()
            .<Void>mapEmpty()
            .onComplete(started);
      }
    };
  }

  private void connected(NetSocket socket) {
    if (draining) {
      socket.close();
      return;
    }
    if (connections.incrementAndGet() > config.maxConnections()) {
      connections.decrementAndGet();
      meter.refusedConnection();
      socket.close();
      return;
    }
    var limits =
        new RpcConnection.Limits(config.maxBodyBytes(), config.maxBufferedBytes(), buffered);
    RpcConnection connection = new RpcConnection(vertx, socket, conductor, limits, meter);
    open.add(connection);
    socket.closeHandler(
        closed -> {
          connections.decrementAndGet();
          connection.closed();
          open.remove(connection);
          finishDraining();
        });
    connection.start();
    if (draining) {
      connection.drain();
    }
  }
}
