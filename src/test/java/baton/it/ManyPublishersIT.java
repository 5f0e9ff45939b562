package baton.it;

import static baton.it.Dialect.VLLM;
import static baton.it.Router.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.net.URL;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A fleet that comes, goes and comes again. */
@QuarkusIntegrationTest
class ManyPublishersIT {
  private static final int PUBLISHERS = 200;
  private static final int BLOCKS = 5;

  @TestHTTPResource URL root;
  private Router router;
  private List<EnginePublisher> publishers;
  private List<Registration> fleet;

  @BeforeEach
  void serve() {
    router = new Router(root);
    publishers = Stream.generate(EnginePublisher::serve).limit(PUBLISHERS).toList();
    Registration first = Registration.vllm(publishers.get(0).endpoint());
    fleet =
        Stream.concat(
                Stream.of(first), publishers.stream().skip(1).map(p -> first.another(p.endpoint())))
            .toList();
  }

  @AfterEach
  void leaveNothingBehind() {
    router.unregisterAll();
    publishers.forEach(EnginePublisher::close);
  }

  @Test
  void fleet_registeredAtOnce_isFollowedAndForgottenAndFollowedAgain() {
    assertThat(router.services()).isEmpty();
    long blocksBefore = router.metric("baton_blocks");
    assertThat(blocksBefore).isZero();

    for (int round = 0; round < 2; round++) {
      fleet.parallelStream().forEach(router::register);
      assertThat(router.services()).hasSize(PUBLISHERS);
      publishers.forEach(EnginePublisher::awaitSubscriber);
      eventually(() -> assertThat(router.publishers("live")).isEqualTo(PUBLISHERS));
      assertThat(router.metric("baton_blocks")).isZero();

      // Every publisher has blocks of its own, and one that all have. Other ones in each round.
      int firstToken = 1 + round * 1_000_000;
      Prompt common = Prompt.from(Prompt.VLLM, firstToken + 500_000, 1);
      List<Prompt> own =
          IntStream.range(0, PUBLISHERS)
              .mapToObj(i -> Prompt.from(Prompt.VLLM, firstToken + i * 100, BLOCKS))
              .toList();
      for (int i = 0; i < PUBLISHERS; i++) {
        EnginePublisher publisher = publishers.get(i).next(0);
        for (int block = 0; block < BLOCKS; block++) {
          publisher.send(VLLM.batch(VLLM.stored(own.get(i).key(block), "GPU")));
        }
        publisher.send(VLLM.batch(VLLM.stored(common.keys(), "GPU")));
      }

      long expected = (long) PUBLISHERS * (BLOCKS + 1);
      eventually(() -> assertThat(router.metric("baton_blocks")).isEqualTo(expected));
      for (int i = 0; i < PUBLISHERS; i++) {
        assertThat(devices(own.get(i)))
            .as("holders of the blocks of %s", fleet.get(i).instance())
            .isEqualTo(Map.of(fleet.get(i).instance(), 4L * BLOCKS));
      }
      assertThat(devices(common)).hasSize(PUBLISHERS).containsValues(4L);
      assertThat(router.prefixCount(fleet.get(0))).isEqualTo((long) PUBLISHERS * BLOCKS + 1);

      fleet.parallelStream().forEach(router::unregister);
      assertThat(router.services()).isEmpty();
      assertThat(router.metric("baton_blocks")).isZero();
      assertThat(router.metric("baton_contexts")).isZero();
      assertThat(router.query(fleet.get(0), common)).isEmpty();
      for (String state : List.of("connecting", "live", "lost")) {
        assertThat(router.publishers(state)).as(state).isZero();
      }
    }
  }

  /** The instances that hold something of the prompt. */
  private Map<String, Long> devices(Prompt prompt) {
    Map<String, Long> devices = new TreeMap<>();
    router
        .query(fleet.get(0), prompt)
        .forEach(
            (instance, hit) -> {
              if (hit.device() > 0) {
                devices.put(instance, hit.device());
              }
            });
    return devices;
  }
}
