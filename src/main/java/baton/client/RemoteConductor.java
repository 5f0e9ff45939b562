package baton.client;

import baton.rpc.ConductorFailure;
import baton.rpc.ConductorFunctions;
import baton.rpc.ErrorCode;
import baton.rpc.Wire.GlobalView;
import baton.rpc.Wire.QueryRequest;
import baton.rpc.Wire.QueryResult;
import baton.rpc.Wire.RegisterResult;
import baton.rpc.Wire.ServiceConfig;
import baton.rpc.Wire.UnregisterArgs;
import baton.rpc.Wire.UnregisterResult;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * A Conductor elsewhere, for a server that asks it on behalf of many: a few connections, made when
 * they are needed, and made anew after they broke. Idle ones are guarded by this object's monitor.
 */
public final class RemoteConductor implements ConductorFunctions {
  private static final int MAX_CONNECTIONS = 16;

  private final InetSocketAddress address;
  private final int connectTimeoutMs;
  private final int requestTimeoutMs;
  private final AtomicInteger sequence = new AtomicInteger();
  private final Semaphore connections = new Semaphore(MAX_CONNECTIONS);
  private final ArrayDeque<RpcLink> idle = new ArrayDeque<>();
  private boolean closed;

  /**
   * @param address {@code host:port}
   * @throws IllegalArgumentException if it is none
   */
  public RemoteConductor(String address, int connectTimeoutMs, int requestTimeoutMs) {
    this.address = RpcAddress.parse(address);
    if (this.address == null) {
      throw new IllegalArgumentException("\"" + address + "\" is not host:port");
    }
    this.connectTimeoutMs = connectTimeoutMs;
    this.requestTimeoutMs = requestTimeoutMs;
  }

  @Override
  public QueryResult query(QueryRequest request) {
    return call(link -> link.query(request), true);
  }

  @Override
  public RegisterResult register(ServiceConfig service) {
    return call(link -> link.register(service), true);
  }

  @Override
  public UnregisterResult unregister(UnregisterArgs args) {
    return call(link -> link.unregister(args), false);
  }

  @Override
  public GlobalView globalView() {
    return call(RpcLink::globalView, true);
  }

  @Override
  public List<ServiceConfig> services() {
    return call(RpcLink::services, true);
  }

  /**
   * Calls a function on an idle connection, or on a new one. That the other side has closed an idle
   * one shows only when it is used; a function that may run twice is called again then.
   */
  private <T> T call(Function<RpcLink, T> function, boolean repeatable) {
    try {
      if (!connections.tryAcquire(requestTimeoutMs, TimeUnit.MILLISECONDS)) {
        throw new ConductorFailure(ErrorCode.RPC_TIMEOUT, "all connections are busy");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ConductorFailure(ErrorCode.RPC_FAIL, "interrupted");
    }
    try {
      RpcLink idleLink = takeIdle();
      if (idleLink != null) {
        try {
          return use(idleLink, function);
        } catch (ConductorFailure e) {
          if (!repeatable || e.code() != ErrorCode.RPC_FAIL) {
            throw e;
          }
        }
      }
      return use(connect(), function);
    } finally {
      connections.release();
    }
  }

  private <T> T use(RpcLink link, Function<RpcLink, T> function) {
    try {
      return function.apply(link);
    } finally {
      giveBack(link);
    }
  }

  private synchronized RpcLink takeIdle() {
    if (closed) {
      throw new ConductorFailure(ErrorCode.CONDUCTOR_UNAVAILABLE, "shutting down");
    }
    return idle.pollLast();
  }

  private RpcLink connect() {
    try {
      var resolved = new InetSocketAddress(address.getHostString(), address.getPort());
      return RpcLink.connect(
          resolved, connectTimeoutMs, requestTimeoutMs, sequence::getAndIncrement);
    } catch (IOException e) {
      throw new ConductorFailure(
          ErrorCode.RPC_FAIL, "the Conductor at " + address + " cannot be reached");
    }
  }

  private synchronized void giveBack(RpcLink link) {
    if (link.isBroken()) {
      // What broke one connection has most likely ended the idle ones as well.
      idle.forEach(RpcLink::close);
      idle.clear();
    } else if (closed) {
      link.close();
    } else {
      idle.addLast(link);
    }
  }

  @Override
  public boolean waits() {
    return true;
  }

  @Override
  public synchronized void close() {
    closed = true;
    idle.forEach(RpcLink::close);
    idle.clear();
  }
}
