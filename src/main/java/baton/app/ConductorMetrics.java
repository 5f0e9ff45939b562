package baton.app;

import baton.conductor.Conductor;
import baton.publisher.EventCounts;
import baton.publisher.EventKind;
import baton.publisher.PublisherType;
import baton.publisher.Refusal;
import baton.publisher.StreamStatus;
import baton.publisher.Subscription;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;

/** The conductor's state and counters as meters; labels are bounded by enums. */
@Singleton
final class ConductorMetrics implements MeterBinder {
  private final Conductor conductor;

  @Inject
  ConductorMetrics(Conductor conductor) {
    this.conductor = conductor;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    for (PublisherType type : PublisherType.values()) {
      bindEvents(registry, type.label(), conductor.counts(type));
    }
    for (Subscription.State state : Subscription.State.values()) {
      Gauge.builder("baton.publishers", conductor, c -> c.publishersByState().get(state))
          .description("Registered publishers by the state of their stream")
          .tag("state", state.label())
          .register(registry);
    }
    streams(
        registry,
        "baton.publishers.partial",
        "Publishers whose history is not known from its beginning",
        s -> s.partialSince() >= 0);
    streams(
        registry,
        "baton.publishers.suspect",
        "Publishers whose blocks were kept although messages were lost",
        StreamStatus::suspect);
    streams(
        registry,
        "baton.publishers.mismatched",
        "Publishers that are not what their registration says",
        s -> !s.problems().isEmpty());
    Gauge.builder("baton.held", conductor, Conductor::heldBytes)
        .description("Bytes of messages that wait for those before them")
        .baseUnit("bytes")
        .register(registry);
    gauge(registry, "baton.contexts", "Contexts that have an engine", Conductor::contextCount);
    gauge(
        registry,
        "baton.blocks",
        "Blocks held, one for each owner that holds it",
        c -> c.budget().used());
    gauge(
        registry,
        "baton.blocks.limit",
        "Blocks that may be held; further ones are refused",
        c -> c.budget().limit());
  }

  private void streams(
      MeterRegistry registry, String name, String description, Predicate<StreamStatus> which) {
    gauge(registry, name, description, c -> c.countStreams(which));
  }

  private void gauge(
      MeterRegistry registry, String name, String description, ToDoubleFunction<Conductor> value) {
    Gauge.builder(name, conductor, value).description(description).register(registry);
  }

  private static void bindEvents(MeterRegistry registry, String type, EventCounts counts) {
    for (EventKind kind : EventKind.values()) {
      FunctionCounter.builder("baton.events", counts, c -> c.applied(kind))
          .description("Events applied, by publisher type and kind")
          .tags("type", type, "kind", kind.label())
          .register(registry);
    }
    for (Refusal reason : Refusal.values()) {
      FunctionCounter.builder("baton.events.refused", counts, c -> c.refused(reason))
          .description("Messages, batches and events that were not applied, by reason")
          .tags("type", type, "reason", reason.label())
          .register(registry);
    }
    counter(
        registry, "baton.messages", "Event messages received", type, counts, EventCounts::messages);
    counter(
        registry,
        "baton.messages.duplicate",
        "Event messages dropped as old",
        type,
        counts,
        EventCounts::duplicates);
    counter(registry, "baton.gaps", "Jumps in the numbering", type, counts, EventCounts::gaps);
    counter(
        registry,
        "baton.messages.missing",
        "Numbers that were jumped over",
        type,
        counts,
        EventCounts::missing);
    counter(
        registry,
        "baton.replays",
        "Requests for what was missed",
        type,
        counts,
        EventCounts::replays);
    counter(
        registry,
        "baton.messages.replayed",
        "Messages applied that such requests brought",
        type,
        counts,
        EventCounts::replayed);
    counter(
        registry,
        "baton.losses",
        "Gaps that could not be filled",
        type,
        counts,
        EventCounts::losses);
    counter(
        registry,
        "baton.restarts",
        "Publishers found to have started again",
        type,
        counts,
        EventCounts::restarts);
  }

  private static void counter(
      MeterRegistry registry,
      String name,
      String description,
      String type,
      EventCounts counts,
      ToDoubleFunction<EventCounts> value) {
    FunctionCounter.builder(name, counts, value)
        .description(description)
        .tags("type", type)
        .register(registry);
  }
}
