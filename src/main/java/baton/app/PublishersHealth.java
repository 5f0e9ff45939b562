package baton.app;

import baton.conductor.Conductor;
import baton.conductor.Publisher;
import baton.config.BatonConfig;
import baton.config.ConfiguredPublishers;
import baton.publisher.Subscription;
import io.quarkus.runtime.Startup;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Readiness;
import org.jboss.logging.Logger;

/**
 * Ready once the configured publishers are connected and, where they can replay, caught up, or the
 * deadline has passed; and from then on for good: an engine that goes must not take all Batons with
 * it.
 */
@Readiness
@Singleton
@Startup // the deadline counts from there, not from the first probe
final class PublishersHealth implements HealthCheck {
  private static final Logger LOG = Logger.getLogger(PublishersHealth.class);
  private static final int SHOWN = 10;

  private final Conductor conductor;
  private final ConfiguredPublishers configured;
  private final long deadline;
  private volatile boolean ready;

  @Inject
  PublishersHealth(Conductor conductor, ConfiguredPublishers configured, BatonConfig config) {
    this.conductor = conductor;
    this.configured = configured;
    this.deadline =
        System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(config.readiness().deadlineMs());
  }

  @Override
  public HealthCheckResponse call() {
    Map<String, Publisher> publishers = configured.inForce().publishers();
    List<String> waiting =
        publishers.entrySet().stream()
            .filter(entry -> conductor.state(entry.getValue()) != Subscription.State.LIVE)
            .map(Map.Entry::getKey)
            .toList();
    boolean late = System.nanoTime() - deadline > 0;
    if (!ready && (waiting.isEmpty() || late)) {
      ready = true;
      LOG.infof(
          waiting.isEmpty()
              ? "ready: all %1$d configured publishers are live"
              : "ready, for the deadline has passed: %2$d of %1$d configured publishers are not live",
          publishers.size(),
          waiting.size());
    }
    return HealthCheckResponse.named("publishers")
        .status(ready)
        .withData("configured", publishers.size())
        .withData("live", publishers.size() - waiting.size())
        .withData(
            "not_live", String.join(", ", waiting.subList(0, Math.min(SHOWN, waiting.size()))))
        .withData("deadline_passed", late)
        .build();
  }
}
