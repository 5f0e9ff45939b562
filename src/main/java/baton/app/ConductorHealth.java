package baton.app;

import baton.conductor.Conductor;
import baton.publisher.StreamStatus;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Readiness;

/** Ready while the conductor answers; with the facts that tell how much it knows. */
@Readiness
@Singleton
final class ConductorHealth implements HealthCheck {
  private final Conductor conductor;

  @Inject
  ConductorHealth(Conductor conductor) {
    this.conductor = conductor;
  }

  @Override
  public HealthCheckResponse call() {
    var response =
        HealthCheckResponse.named("conductor")
            .status(conductor.isOpen())
            .withData("contexts", conductor.contextCount())
            .withData("blocks", conductor.budget().used())
            .withData("blocks_limit", conductor.budget().limit());
    conductor
        .publishersByState()
        .forEach((state, count) -> response.withData("publishers_" + state.label(), count));
    return response
        .withData("publishers_partial", conductor.countStreams(s -> s.partialSince() >= 0))
        .withData("publishers_suspect", conductor.countStreams(StreamStatus::suspect))
        .withData("publishers_mismatched", conductor.countStreams(s -> !s.problems().isEmpty()))
        .build();
  }
}
