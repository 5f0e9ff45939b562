package baton.rpc;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** What the RPC port does, as meters. */
final class RpcMeter {
  /** How a call ended. */
  enum Outcome {
    OK,
    /** A business error. */
    ERROR,
    /** A body that could not be read. */
    MALFORMED,
    /** A fault of Baton's own. */
    FAULT
  }

  private final Map<RpcFunction, Map<Outcome, Timer>> calls = new EnumMap<>(RpcFunction.class);
  private final Counter unknownFunctions;
  private final Counter brokenConnections;
  private final Counter refusedConnections;

  RpcMeter(MeterRegistry registry, AtomicInteger connections, AtomicLong buffered) {
    for (RpcFunction function : RpcFunction.values()) {
      Map<Outcome, Timer> timers = new EnumMap<>(Outcome.class);
      for (Outcome outcome : Outcome.values()) {
        timers.put(
            outcome,
            Timer.builder("baton.rpc")
                .description("RPC calls by function and outcome, decoding and encoding included")
                .tag("function", function.method())
                .tag("outcome", outcome.name().toLowerCase(Locale.ROOT))
                .register(registry));
      }
      calls.put(function, timers);
    }
    unknownFunctions =
        counter(registry, "baton.rpc.unknown.functions", "Calls of no known function");
    brokenConnections =
        counter(
            registry,
            "baton.rpc.broken.connections",
            "Connections that Baton closed: no frames, too long, too slow, or no memory for more");
    refusedConnections =
        counter(registry, "baton.rpc.refused.connections", "Connections beyond the limit");
    Gauge.builder("baton.rpc.connections", connections, AtomicInteger::get)
        .description("Open RPC connections")
        .register(registry);
    Gauge.builder("baton.rpc.buffered", buffered, AtomicLong::get)
        .description("Bytes of frames that are being read")
        .baseUnit("bytes")
        .register(registry);
  }

  private static Counter counter(MeterRegistry registry, String name, String description) {
    return Counter.builder(name).description(description).register(registry);
  }

  void called(RpcFunction function, Outcome outcome, long nanos) {
    calls.get(function).get(outcome).record(nanos, TimeUnit.NANOSECONDS);
  }

  void unknownFunction() {
    unknownFunctions.increment();
  }

  void brokenConnection() {
    brokenConnections.increment();
  }

  void refusedConnection() {
    refusedConnections.increment();
  }
}
