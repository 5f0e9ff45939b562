package baton.it;

import static baton.it.Router.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/** Three Batons with one {@code conductor_config.json}, which changes under them. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ReplicasIT {
  private static final Duration PROMISED = Duration.ofSeconds(5);
  private static final Prompt PROMPT = Prompt.ofBlocks(Prompt.VLLM, 12);
  private static final Prompt OTHER = Prompt.from(Prompt.VLLM, 5001, 8);

  @TempDir static Path folder;
  @TempDir static Path mount;

  private static final PlayedEngine ONE = PlayedEngine.of("m", "one");
  private static final PlayedEngine TWO = PlayedEngine.of("m", "two");
  private static final PlayedEngine THREE = PlayedEngine.of("m", "three");
  private static final PlayedEngine FOUR = PlayedEngine.of("m", "four");
  private static final Relay TO_ONE = new Relay(ONE.endpoint());
  private static final List<BatonProcess> REPLICAS = new ArrayList<>();
  private static MountedConfig config;

  @BeforeAll
  static void start() {
    ONE.store(PROMPT.keys());
    TWO.store(PROMPT.keys().subList(0, 5));
    TWO.store(OTHER.keys());
    TWO.remove(OTHER.keys().subList(6, 8));
    FOUR.store(OTHER.keys());
    config = new MountedConfig(mount).add(ONE, TWO, THREE);
    for (int i = 0; i < 3; i++) {
      Map<String, String> environment = new HashMap<>();
      environment.put("CONDUCTOR_CONFIG_PATH", config.path().toString());
      environment.put("SG_PROMPT_EMBEDS_CACHE_GIB", "${NOBODY_SAYS:0.0625}");
      if (i == 2) {
        // It hears of the first engine by way of a relay.
        environment.put("BATON_PUBLISHERS_ONE_ENDPOINT", TO_ONE.endpoint());
      }
      REPLICAS.add(
          BatonProcess.start(
              folder,
              BatonProcess.freePort(),
              environment,
              "baton.rpc.port=0",
              "baton.admin.token=secret-of-the-test"));
    }
    REPLICAS.forEach(BatonProcess::awaitReady);
  }

  @AfterAll
  static void stop() {
    REPLICAS.forEach(BatonProcess::close);
    Stream.of(ONE, TWO, THREE, FOUR).forEach(PlayedEngine::close);
    TO_ONE.close();
  }

  private static List<JsonNode> answers(Prompt prompt) {
    Map<String, Object> query =
        Api.fields("model", "m", "block_size", Prompt.BLOCK_SIZE, "token_ids", prompt.tokens());
    return REPLICAS.stream().map(baton -> baton.router().post("/query", query).body()).toList();
  }

  private static Set<String> digests() {
    return Set.copyOf(
        REPLICAS.stream()
            .map(baton -> baton.router().get("/global_view").at("/contexts/0/digest").textValue())
            .toList());
  }

  /** The tokens on the device, by instance, which all replicas answer. */
  private static Map<String, Long> agreed(Prompt prompt) {
    List<JsonNode> answers = answers(prompt);
    assertThat(Set.copyOf(answers)).as("%s", answers).hasSize(1);
    return devices(answers.get(0));
  }

  private static Map<String, Long> devices(JsonNode answer) {
    Map<String, Long> devices = new TreeMap<>();
    answer
        .get("instances")
        .properties()
        .forEach(hit -> devices.put(hit.getKey(), hit.getValue().get("device").longValue()));
    return devices;
  }

  @Test
  @Order(1)
  void replicas_thatAreReady_answerAlike() {
    assertThat(agreed(PROMPT)).isEqualTo(Map.of("one", 48L, "two", 20L, "three", 0L));
    assertThat(agreed(OTHER)).isEqualTo(Map.of("one", 0L, "two", 24L, "three", 0L));
    assertThat(digests()).hasSize(1).doesNotContain("0".repeat(16));
    for (BatonProcess baton : REPLICAS) {
      assertThat(baton.said()).contains("ready: all 3 configured publishers are live");
    }
  }

  @Test
  @Order(2)
  void stream_isBroken_digestsDiffer_andAgreeAfterRecovery() {
    TO_ONE.cut();
    eventually(() -> assertThat(state(REPLICAS.get(2), "one")).isEqualTo("lost"));
    assertThat(digests()).as("nothing has changed meanwhile").hasSize(1);

    ONE.store(OTHER.keys());

    eventually(() -> assertThat(devices(answers(OTHER).get(0))).containsEntry("one", 32L));
    eventually(() -> assertThat(devices(answers(OTHER).get(1))).containsEntry("one", 32L));
    assertThat(devices(answers(OTHER).get(2))).containsEntry("one", 0L);
    assertThat(digests()).hasSize(2);
    assertThat(REPLICAS.get(2).isReady()).as("an engine that goes is no reason").isTrue();

    TO_ONE.mend();
    eventually(() -> assertThat(digests()).hasSize(1));
    assertThat(agreed(OTHER)).isEqualTo(Map.of("one", 32L, "two", 24L, "three", 0L));
  }

  private static String state(BatonProcess baton, String instance) {
    for (JsonNode publisher : baton.router().get("/services/status").get("publishers")) {
      if (publisher.get("instance_id").textValue().equals(instance)) {
        return publisher.get("state").textValue();
      }
    }
    throw new AssertionError("no publisher " + instance);
  }

  @Test
  @Order(3)
  void file_namesAnotherEngine_allFollowIt_andNoBlockIsLost() {
    Instant changed = Instant.now();
    config.add(FOUR);

    Set<Integer> behind = new HashSet<>(Set.of(0, 1, 2));
    eventually(
        () -> {
          // Each look is at the other engines' blocks, too, which are there all the time.
          List<JsonNode> answers = answers(OTHER);
          for (int i = 0; i < 3; i++) {
            Map<String, Long> devices = devices(answers.get(i));
            if (!devices.containsKey("one")
                || devices.get("one") != 32
                || devices.get("two") != 24) {
              throw new IllegalStateException("blocks were lost: " + devices);
            }
            if (devices.getOrDefault("four", 0L) == 32) {
              behind.remove(i);
            }
          }
          assertThat(behind).isEmpty();
        });
    assertThat(Duration.between(changed, Instant.now())).isLessThan(PROMISED);
    assertThat(digests()).hasSize(1);
  }

  @Test
  @Order(4)
  void file_hasAFault_isRefusedWhole_andSaidEverywhere() {
    config.write(
        """
        {"kvevent_instance": {"five": {"endpoint": "tcp://127.0.0.1:1", "type": "vLLM"}}, "port": 1}
        """);
    for (BatonProcess baton : REPLICAS) {
      eventually(
          () ->
              assertThat(baton.health("configuration").at("/data/state").textValue())
                  .isEqualTo("degraded"));
      assertThat(baton.isReady()).isTrue();
      JsonNode admin = admin(baton);
      assertThat(admin.get("degraded").booleanValue()).isTrue();
      assertThat(admin.at("/last_refusal/faults").toString())
          .contains("port in ", "publisher five", "modelname is missing", "block_size is missing");
      assertThat(baton.router().metrics())
          .containsEntry("baton_config_degraded", 1.0)
          .containsEntry("baton_config_loads_total{outcome=refused}", 1.0)
          .containsEntry("baton_config_loads_total{outcome=applied}", 2.0);
    }
    assertThat(agreed(OTHER)).isEqualTo(Map.of("one", 32L, "two", 24L, "three", 0L, "four", 32L));

    config.publish();
    for (BatonProcess baton : REPLICAS) {
      eventually(
          () ->
              assertThat(baton.health("configuration").at("/data/state").textValue())
                  .isEqualTo("applied"));
      assertThat(admin(baton).at("/last_refusal/faults")).isNotEmpty();
      assertThat(baton.said()).containsOnlyOnce("is refused, and what was in force stays");
    }
  }

  private static JsonNode admin(BatonProcess baton) {
    Api.Reply refused = Api.get(baton.uri("/admin/config"));
    assertThat(refused.status()).isEqualTo(401);
    Api.Reply reply =
        Api.get(baton.uri("/admin/config"), "Authorization", "Bearer secret-of-the-test");
    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.text()).doesNotContain("secret-of-the-test");
    return reply.body();
  }

  @Test
  @Order(5)
  void admin_tellsWhereEachValueCameFrom() {
    JsonNode admin = admin(REPLICAS.get(2));
    assertThat(admin.get("file").textValue()).isEqualTo(config.path().toString());
    Map<String, String> settings = new TreeMap<>();
    admin
        .get("settings")
        .forEach(
            s ->
                settings.put(
                    s.get("key").textValue(),
                    s.get("value").asText() + " from " + s.get("origin").textValue()));
    assertThat(settings)
        .containsEntry("baton.admin.token", "*** from system properties")
        .containsEntry("baton.rpc.port", "0 from system properties")
        .containsEntry("baton.zmq.io-threads", "1 from default")
        .containsEntry("SG_PROMPT_EMBEDS_CACHE_GIB", "0.0625 from the environment")
        .containsEntry("baton.publishers.one.endpoint", TO_ONE.endpoint() + " from the environment")
        .containsEntry("baton.publishers.two.endpoint", TWO.endpoint() + " from " + config.path());
  }

  @Test
  @Order(6)
  void cacheSize_byAnExpression_isItsValue() {
    assertThat(REPLICAS.get(0).router().metric("cache_capacity_bytes{cache=prompt_embeds}"))
        .isEqualTo(1L << 26);
  }

  @Test
  @Order(7)
  void publishers_ofTheInterface_areNotTheFiles() {
    BatonProcess baton = REPLICAS.get(0);
    PlayedEngine own = PlayedEngine.of("m", "five");
    try {
      own.store(PROMPT.keys());
      assertThat(baton.router().post("/register", own.body()).status()).isEqualTo(200);
      eventually(
          () -> assertThat(baton.router().hit(own.registration(), PROMPT).device()).isEqualTo(48));

      config.remove(FOUR);

      for (BatonProcess each : REPLICAS) {
        eventually(() -> assertThat(instances(each)).doesNotContain("four"));
      }
      assertThat(instances(baton)).containsExactlyInAnyOrder("one", "two", "three", "five");
      assertThat(baton.router().hit(own.registration(), PROMPT).device()).isEqualTo(48);

      // One that contradicts it is a fault of the file, here and not elsewhere.
      config.put("five", Api.with(own.body(), "lora_name", "another"));
      for (BatonProcess each : REPLICAS) {
        String expected = each == baton ? "degraded" : "applied";
        eventually(
            () -> {
              assertThat(each.health("configuration").at("/data/state").textValue())
                  .isEqualTo(expected);
              assertThat(instances(each)).contains("five");
            });
      }
      assertThat(baton.router().hit(own.registration(), PROMPT).device()).isEqualTo(48);

      baton.router().post("/unregister", own.registration().key());
      eventually(
          () ->
              assertThat(baton.health("configuration").at("/data/state").textValue())
                  .isEqualTo("applied"));
      assertThat(instances(baton)).contains("five");
      assertThat(baton.said()).containsOnlyOnce("is registered with other values");
    } finally {
      own.close();
    }
  }

  private static Set<String> instances(BatonProcess baton) {
    return Set.copyOf(baton.router().get("/services").findValuesAsText("InstanceID"));
  }
}
