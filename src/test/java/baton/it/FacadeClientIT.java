package baton.it;

import static baton.client.ConductorClient.OK;
import static org.assertj.core.api.Assertions.assertThat;

import baton.client.ConductorClient;
import baton.conductor.Conductor;
import baton.publisher.Receivers;
import baton.publisher.RecoverySettings;
import baton.rpc.LocalConductor;
import baton.rpc.RpcTestServer;
import io.quarkus.test.common.QuarkusTestResourceLifecycleManager;
import io.quarkus.test.common.WithTestResource;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.util.List;
import java.util.Map;

/** The client of a Baton that only stands in front of a Conductor elsewhere. */
@QuarkusIntegrationTest
@WithTestResource(FacadeClientIT.Elsewhere.class)
class FacadeClientIT extends ClientSuite {

  /** A Conductor in the test's own process, with an RPC port. */
  public static final class Elsewhere implements QuarkusTestResourceLifecycleManager {
    private Conductor conductor;
    private RpcTestServer server;

    @Override
    public Map<String, String> start() {
      var receivers =
          new Receivers(
              new Receivers.Settings(1, 1, 100, 10_000, 16 << 20, RecoverySettings.DEFAULT));
      var limits = new Conductor.Limits(100, 1_000_000, List.of("tcp://*"));
      conductor = new Conductor(receivers, limits);
      server = new RpcTestServer(new LocalConductor(conductor));
      return Map.of("baton.conductor.address", "127.0.0.1:" + server.port());
    }

    @Override
    public void stop() {
      server.close();
      conductor.close();
    }
  }

  @Override
  ConductorClient connected() {
    ConductorClient client = new ConductorClient();
    assertThat(client.setup(RpcIT.ADDRESS)).isEqualTo(OK);
    return client;
  }
}
