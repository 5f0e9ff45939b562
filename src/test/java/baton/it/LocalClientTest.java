package baton.it;

import baton.client.ConductorClient;
import baton.conductor.Conductor;
import baton.publisher.Receivers;
import baton.publisher.RecoverySettings;
import baton.rpc.LocalConductor;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The client of the Conductor of its own process. */
class LocalClientTest extends ClientSuite {
  private static Conductor conductor;

  @BeforeAll
  static void open() {
    var receivers =
        new Receivers(
            new Receivers.Settings(1, 1, 100, 10_000, 16 << 20, RecoverySettings.DEFAULT));
    var limits = new Conductor.Limits(100, 1_000_000, List.of("tcp://*", "ipc://*"));
    conductor = new Conductor(receivers, limits);
  }

  @AfterAll
  static void close() {
    conductor.close();
  }

  @Override
  ConductorClient connected() {
    return new ConductorClient(new LocalConductor(conductor));
  }
}
