package baton.app;

import baton.config.ConfiguredPublishers;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.function.ToDoubleFunction;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Readiness;

/**
 * Whether the file of publishers is in force as it is, in health and in metrics. Never a reason not
 * to be ready: all Batons have the same file.
 */
@Readiness
@Singleton
final class ConfigurationHealth implements HealthCheck, MeterBinder {
  private final ConfiguredPublishers configured;

  @Inject
  ConfigurationHealth(ConfiguredPublishers configured) {
    this.configured = configured;
  }

  @Override
  public HealthCheckResponse call() {
    ConfiguredPublishers.InForce inForce = configured.inForce();
    var response =
        HealthCheckResponse.named("configuration")
            .up()
            .withData("state", inForce.degraded() ? "degraded" : "applied")
            .withData("loaded", inForce.loaded().toString());
    if (inForce.degraded()) {
      response
          .withData("refused", inForce.lastRefusal().at().toString())
          .withData("faults", inForce.lastRefusal().faults().size());
    }
    return response.build();
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Gauge.builder("baton.config.degraded", configured, c -> c.inForce().degraded() ? 1 : 0)
        .description("1 while what the file of publishers says now is refused")
        .register(registry);
    loads(registry, "applied", ConfiguredPublishers::appliedCount);
    loads(registry, "refused", ConfiguredPublishers::refusedCount);
  }

  private void loads(
      MeterRegistry registry, String outcome, ToDoubleFunction<ConfiguredPublishers> count) {
    FunctionCounter.builder("baton.config.loads", configured, count)
        .description("Contents of the file of publishers, the one at the start included")
        .tag("outcome", outcome)
        .register(registry);
  }
}
