package baton.app;

import baton.conductor.Conductor;
import baton.config.BatonConfig;
import baton.publisher.Receivers;
import io.quarkus.runtime.Startup;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;

/** Builds the core's objects from the configuration; the one place that does. */
@Singleton
final class Assembly {
  private static final int MAX_DEFAULT_THREADS = 4;

  /** What a held block costs, tables half empty and holder sets included. */
  private static final int BYTES_PER_BLOCK = 128;

  @Produces
  @Singleton
  @Startup
  Conductor conductor(BatonConfig config) {
    BatonConfig.Zmq zmq = config.zmq();
    int processors = Runtime.getRuntime().availableProcessors();
    int threads = zmq.threads() > 0 ? zmq.threads() : Math.min(processors, MAX_DEFAULT_THREADS);
    var settings =
        new Receivers.Settings(
            threads,
            zmq.ioThreads(),
            config.registration().maxPublishers(),
            zmq.receiveHighWaterMark(),
            zmq.maxMessageBytes());
    long maxBlocks = config.index().maxBlocks();
    var limits =
        new Conductor.Limits(
            config.registration().maxPublishers(),
            maxBlocks > 0 ? maxBlocks : Runtime.getRuntime().maxMemory() / BYTES_PER_BLOCK,
            config.registration().allowedEndpoints());
    return new Conductor(new Receivers(settings), limits);
  }

  void close(@Disposes Conductor conductor) {
    conductor.close();
  }
}
