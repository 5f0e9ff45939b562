package baton.app;

import baton.client.ConductorClient;
import baton.client.RemoteConductor;
import baton.conductor.Conductor;
import baton.config.BatonConfig;
import baton.rpc.ConductorFunctions;
import baton.rpc.LocalConductor;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;

/** The Conductor that this process serves: its own, or another one's at a configured address. */
@Singleton
final class Clients {
  @Produces
  @Singleton
  ConductorFunctions functions(BatonConfig config, Conductor conductor) {
    BatonConfig.Remote remote = config.conductor();
    return remote
        .address()
        .<ConductorFunctions>map(
            a -> new RemoteConductor(a, remote.connectTimeoutMs(), remote.requestTimeoutMs()))
        .orElseGet(() -> new LocalConductor(conductor));
  }

  @Produces
  @Singleton
  ConductorClient client(ConductorFunctions functions) {
    return new ConductorClient(functions);
  }

  void close(@Disposes ConductorClient client) {
    client.close();
  }
}
