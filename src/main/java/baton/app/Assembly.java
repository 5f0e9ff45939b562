package baton.app;

import baton.conductor.Conductor;
import baton.config.BatonConfig;
import baton.config.CacheSize;
import baton.config.ConfiguredPublishers;
import baton.embeds.PromptEmbedsCache;
import baton.publisher.Receivers;
import baton.publisher.RecoverySettings;
import io.quarkus.runtime.Startup;
import io.quarkus.runtime.configuration.ConfigurationException;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.io.UncheckedIOException;
import org.eclipse.microprofile.config.Config;

/** Builds the core's objects from the configuration; the one place that does. */
@Singleton
final class Assembly {
  private static final int MAX_DEFAULT_THREADS = 4;

  /** What a held block costs, tables half empty and holder sets included. */
  private static final int BYTES_PER_BLOCK = 128;

  /** The part of the heap that messages may take while they wait for others: one in so many. */
  private static final int HEAP_SHARE_HELD = 8;

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
            zmq.maxMessageBytes(),
            recovery(config.recovery()));
    long maxBlocks = config.index().maxBlocks();
    var limits =
        new Conductor.Limits(
            config.registration().maxPublishers(),
            maxBlocks > 0 ? maxBlocks : Runtime.getRuntime().maxMemory() / BYTES_PER_BLOCK,
            config.registration().allowedEndpoints());
    return new Conductor(new Receivers(settings), limits);
  }

  @Produces
  @Singleton
  CacheSize promptEmbedsSize(Config values, BatonConfig config) {
    String gib = values.getConfigValue(CacheSize.VARIABLE).getValue();
    return CacheSize.here(gib, config.promptEmbeds().maxUploadBytes());
  }

  @Produces
  @Singleton
  @Startup
  PromptEmbedsCache promptEmbedsCache(CacheSize size) {
    try {
      return new PromptEmbedsCache(size.bytes());
    } catch (UncheckedIOException e) {
      throw cannotStart(
          "the prompt-embeds cache ("
              + CacheSize.VARIABLE
              + ") needs a folder for temporary files: "
              + e.getCause());
    }
  }

  /** Ends the process with a message for people, and no stack trace. */
  private static RuntimeException cannotStart(String message) {
    return new ConfigurationException(message);
  }

  private static RecoverySettings recovery(BatonConfig.Recovery config) {
    return new RecoverySettings(
        config.answerTimeoutMs(),
        config.timeoutMs(),
        config.maxHeldMessages(),
        config.maxHeldBytes(),
        config.maxTotalHeldBytes() > 0
            ? config.maxTotalHeldBytes()
            : Runtime.getRuntime().maxMemory() / HEAP_SHARE_HELD,
        config.onLoss() == BatonConfig.OnLoss.KEEP,
        config.checkIntervalMs(),
        config.lostTimeoutMs());
  }

  @Produces
  @Singleton
  ConfiguredPublishers configuredPublishers(
      Config values, BatonConfig config, Conductor conductor) {
    return new ConfiguredPublishers(values, conductor, config.config().checkIntervalMs());
  }

  void close(@Disposes Conductor conductor) {
    conductor.close();
  }

  void close(@Disposes ConfiguredPublishers publishers) {
    publishers.close();
  }
}
