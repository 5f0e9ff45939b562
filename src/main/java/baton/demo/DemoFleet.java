package baton.demo;

import baton.conductor.Conductor;
import baton.conductor.Publisher;
import baton.config.BatonConfig;
import baton.publisher.PublisherType;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jboss.logging.Logger;
import org.zeromq.ZContext;

/** Plays {@code baton.demo.engines} engines on a thread of its own, and registers them. */
@Singleton
final class DemoFleet {
  private static final Logger LOG = Logger.getLogger(DemoFleet.class);
  private static final int TURN_MS = 250;

  private final Conductor conductor;
  private final int size;
  private final CountDownLatch stop = new CountDownLatch(1);
  private Thread thread;

  @Inject
  DemoFleet(Conductor conductor, BatonConfig config) {
    this.conductor = conductor;
    this.size = config.demo().engines();
  }

  void start(@Observes StartupEvent event) {
    if (size > 0) {
      LOG.infof("playing %d engines with the model \"%s\"", size, DemoEngine.MODEL);
      thread = new Thread(this::run, "baton-demo");
      thread.setDaemon(true);
      thread.start();
    }
  }

  private void run() {
    try (ZContext context = new ZContext()) {
      List<DemoEngine> engines =
          IntStream.range(0, size).mapToObj(i -> new DemoEngine(context, i)).toList();
      engines.forEach(engine -> conductor.register(registration(engine)));
      while (!stop.await(TURN_MS, TimeUnit.MILLISECONDS)) {
        engines.forEach(DemoEngine::turn);
      }
      engines.forEach(DemoEngine::close);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static Publisher registration(DemoEngine engine) {
    return new Publisher(
        engine.endpoint(),
        "",
        PublisherType.VLLM,
        DemoEngine.MODEL,
        "",
        "",
        engine.name(),
        DemoEngine.BLOCK_SIZE,
        0,
        null,
        DemoEngine.PROFILE);
  }

  void stop(@Observes ShutdownEvent event) throws InterruptedException {
    stop.countDown();
    if (thread != null) {
      thread.join();
    }
  }
}
