package baton.rpc;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Vertx;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** An RPC port of the test's own process, in front of any Conductor. */
public final class RpcTestServer implements AutoCloseable {
  static final int MAX_BODY = 8 * 1024 * 1024;

  final Vertx vertx = Vertx.vertx();
  final AtomicLong buffered = new AtomicLong();
  final AtomicInteger connections = new AtomicInteger();
  private final int port;

  public RpcTestServer(ConductorFunctions conductor) {
    RpcMeter meter = new RpcMeter(new SimpleMeterRegistry(), connections, buffered);
    var limits = new RpcConnection.Limits(MAX_BODY, 4L * MAX_BODY, buffered);
    port =
        vertx
            .createNetServer()
            .connectHandler(
                socket -> {
                  var connection = new RpcConnection(vertx, socket, conductor, limits, meter);
                  connections.incrementAndGet();
                  socket.closeHandler(
                      closed -> {
                        connections.decrementAndGet();
                        connection.closed();
                      });
                  connection.start();
                })
            .listen(0, "127.0.0.1")
            .toCompletionStage()
            .toCompletableFuture()
            .join()
            .actualPort();
  }

  public int port() {
    return port;
  }

  @Override
  public void close() {
    vertx.close().toCompletionStage().toCompletableFuture().join();
  }
}
