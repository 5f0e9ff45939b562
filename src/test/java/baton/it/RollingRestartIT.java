package baton.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three Batons are replaced one after the other, while engines publish and a client asks those that
 * are ready, in turns: as in a Deployment behind a Service.
 */
class RollingRestartIT {
  private static final int QUERIES_PER_SECOND = 200;
  private static final int BATCHES_PER_SECOND = 20;

  /** A client hears of readiness a little late, as endpoints do. */
  private static final int PROBE_MS = 100;

  private static final int FIRST_BLOCKS = 200;
  private static final Prompt PROMPT = Prompt.ofBlocks(Prompt.VLLM, 8_000);

  /** How old an event may be that an answer does not know: generous, since all share a machine. */
  private static final Duration LAG = Duration.ofSeconds(10);

  @TempDir Path folder;
  @TempDir Path mount;

  private final List<PlayedEngine> engines = new ArrayList<>();
  private final List<BatonProcess> replicas = new CopyOnWriteArrayList<>();
  private final List<BatonProcess> ready = new CopyOnWriteArrayList<>();
  private final ScheduledExecutorService threads = Executors.newScheduledThreadPool(8);
  private final Queue<String> failures = new ConcurrentLinkedQueue<>();
  private final AtomicInteger answered = new AtomicInteger();
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** When each block of the prompt was published by all engines, in nanoseconds; by one thread. */
  private final long[] publishedAt = new long[PROMPT.keys().size()];

  private volatile int published;
  private MountedConfig config;

  @AfterEach
  void stop() throws InterruptedException {
    threads.shutdownNow();
    assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
    replicas.forEach(BatonProcess::close);
    engines.forEach(PlayedEngine::close);
  }

  @Test
  void replicas_areReplacedUnderLoad_noRequestFails_andNoAnswerIsWrong() {
    for (int i = 0; i < 3; i++) {
      engines.add(PlayedEngine.of("m", "engine-" + i));
    }
    config = new MountedConfig(mount).add(engines.toArray(PlayedEngine[]::new));
    publish(FIRST_BLOCKS);
    for (int i = 0; i < 3; i++) {
      replicas.add(start(BatonProcess.freePort()));
    }
    replicas.forEach(BatonProcess::awaitReady);

    every(1000 / BATCHES_PER_SECOND, () -> publish(1));
    every(PROBE_MS, this::probe);
    Router.eventually(() -> assertThat(ready).hasSize(3));
    AtomicInteger turn = new AtomicInteger();
    every(1000 / QUERIES_PER_SECOND, () -> threads.execute(() -> ask(turn.getAndIncrement())));
    awaitAnswers(QUERIES_PER_SECOND);

    for (int i = 0; i < 3; i++) {
      BatonProcess leaving = replicas.get(i);
      leaving.terminate();
      assertThat(leaving.exitCode()).as(leaving.said()).isZero();
      replicas.set(i, start(leaving.port()));
      Router.eventually(() -> assertThat(ready).hasSize(3));
      assertThat(replicas.get(i).said()).contains("ready: all 3 configured publishers are live");
      awaitAnswers(QUERIES_PER_SECOND);
    }

    assertThat(failures).isEmpty();
    assertThat(answered).hasValueGreaterThan(6 * QUERIES_PER_SECOND);
  }

  private BatonProcess start(int port) {
    return BatonProcess.start(
        folder,
        port,
        Map.of("CONDUCTOR_CONFIG_PATH", config.path().toString(), "QUARKUS_SHUTDOWN_DELAY", "2S"),
        "baton.rpc.port=0");
  }

  private void every(int ms, Runnable task) {
    threads.scheduleAtFixedRate(
        () -> {
          try {
            task.run();
          } catch (RuntimeException | AssertionError e) {
            failures.add(e.toString());
          }
        },
        0,
        ms,
        TimeUnit.MILLISECONDS);
  }

  private void awaitAnswers(int more) {
    int enough = answered.get() + more;
    Router.eventually(() -> assertThat(answered).hasValueGreaterThanOrEqualTo(enough));
  }

  /** All engines compute the same prompt's next blocks. */
  private void publish(int blocks) {
    int from = published;
    // Before, so that whoever sees a block finds that it may have been published.
    published = from + blocks;
    List<Long> keys = PROMPT.keys().subList(from, from + blocks);
    engines.forEach(engine -> engine.store(keys));
    for (int i = from; i < published; i++) {
      publishedAt[i] = System.nanoTime();
    }
  }

  private void probe() {
    for (BatonProcess baton : replicas) {
      boolean isReady = baton.isReady();
      if (!isReady) {
        ready.remove(baton);
      } else if (!ready.contains(baton)) {
        ready.add(baton);
      }
    }
    ready.removeIf(baton -> !replicas.contains(baton));
  }

  private void ask(int turn) {
    List<BatonProcess> candidates = List.copyOf(ready);
    if (candidates.size() < 2) {
      failures.add("only " + candidates.size() + " replicas are ready");
      return;
    }
    BatonProcess baton = candidates.get(turn % candidates.size());
    long oldest = System.nanoTime() - LAG.toNanos();
    int atLeast = FIRST_BLOCKS;
    int known = published;
    while (atLeast < known && publishedAt[atLeast] != 0 && publishedAt[atLeast] < oldest) {
      atLeast++;
    }
    byte[] body =
        Api.json(
            Api.fields(
                "model", "m", "block_size", Prompt.BLOCK_SIZE, "token_ids", PROMPT.tokens(known)));
    HttpRequest request =
        HttpRequest.newBuilder(baton.uri("/query"))
            .header("Content-Type", Api.JSON)
            .timeout(Duration.ofSeconds(30))
            .POST(BodyPublishers.ofByteArray(body))
            .build();
    try {
      HttpResponse<String> response = http.send(request, BodyHandlers.ofString());
      check(response, atLeast, known);
      answered.incrementAndGet();
    } catch (IOException e) {
      failures.add("port " + baton.port() + ": " + e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void check(HttpResponse<String> response, int atLeast, int atMost) {
    if (response.statusCode() != 200) {
      failures.add(response.statusCode() + " " + response.body());
      return;
    }
    JsonNode instances = Api.tree(response.body()).get("instances");
    for (PlayedEngine engine : engines) {
      long blocks = instances.at("/" + engine.name() + "/device").longValue() / Prompt.BLOCK_SIZE;
      if (blocks < atLeast || blocks > atMost) {
        failures.add(
            "%s holds %d blocks, it said; there were %d to %d"
                .formatted(engine.name(), blocks, atLeast, atMost));
      }
    }
  }
}
