package baton.http;

import baton.rpc.Wire.QueryResult;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;

/** Times queries by outcome, from the body's first byte decoded to the answer known. */
@Singleton
final class QueryMeter {
  private final Map<Outcome, Timer> timers = new EnumMap<>(Outcome.class);

  private enum Outcome {
    HIT,
    MISS,
    /** No such context, or not the instance that was asked for. */
    UNKNOWN,
    REFUSED;

    static Outcome of(QueryResult result) {
      if (result.instances().isEmpty()) {
        return UNKNOWN;
      }
      boolean hit = result.instances().values().stream().anyMatch(i -> i.longestMatched() > 0);
      return hit ? HIT : MISS;
    }
  }

  @Inject
  QueryMeter(MeterRegistry registry) {
    for (Outcome outcome : Outcome.values()) {
      timers.put(outcome, timer(registry, outcome.name().toLowerCase(Locale.ROOT)));
    }
  }

  private static Timer timer(MeterRegistry registry, String outcome) {
    return Timer.builder("baton.query")
        .description("Queries by outcome, body decoding included")
        .tag("outcome", outcome)
        .serviceLevelObjectives(
            Duration.ofNanos(50_000),
            Duration.ofNanos(100_000),
            Duration.ofNanos(250_000),
            Duration.ofNanos(500_000),
            Duration.ofMillis(1),
            Duration.ofNanos(2_500_000),
            Duration.ofMillis(5),
            Duration.ofMillis(10),
            Duration.ofMillis(25),
            Duration.ofMillis(50),
            Duration.ofMillis(100),
            Duration.ofMillis(250),
            Duration.ofSeconds(1))
        .register(registry);
  }

  QueryResult time(Supplier<QueryResult> query) {
    long start = System.nanoTime();
    Outcome outcome = Outcome.REFUSED;
    try {
      QueryResult result = query.get();
      outcome = Outcome.of(result);
      return result;
    } finally {
      timers.get(outcome).record(Duration.ofNanos(System.nanoTime() - start));
    }
  }
}
