package baton.it;

import static baton.it.Dialect.VLLM;
import static baton.it.Router.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.net.URL;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What was missed is asked for, and {@code /services/status} tells about it. */
@QuarkusIntegrationTest
class ReplayIT {
  private static final Prompt PROMPT = Prompt.ofBlocks(Prompt.VLLM, 4);
  private static final Prompt OTHER_PROMPT = Prompt.from(Prompt.VLLM, 1001, 4);

  @TestHTTPResource URL root;
  private final ReplayServer replay = new ReplayServer();
  private EnginePublisher publisher = EnginePublisher.serve();
  private Router router;

  @BeforeEach
  void connect() {
    router = new Router(root);
  }

  @AfterEach
  void leaveNothingBehind() {
    Api.unregisterAll();
    publisher.close();
    replay.close();
  }

  private Registration follow() {
    Registration engine = Registration.vllm(publisher.endpoint());
    Map<String, Object> body = engine.body();
    body.put("replay_endpoint", replay.endpoint());
    Api.Reply reply = Api.post("/register", body);
    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    publisher.awaitSubscriber();
    return engine;
  }

  private static JsonNode status() {
    Api.Reply reply = Api.get("/services/status");
    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    assertThat(reply.body().get("count").intValue()).isEqualTo(1);
    return reply.body().at("/publishers/0");
  }

  private static Object store(List<Long> keys) {
    return VLLM.batch(VLLM.stored(keys, "GPU"));
  }

  private static void awaitLive() {
    eventually(() -> assertThat(status().get("state").textValue()).isEqualTo("live"));
  }

  @Test
  void lateJoiner_isToldAllThatWasPublishedBefore() {
    // Case 24.
    replay.remember(store(PROMPT.keys()));
    replay.remember(VLLM.batch(VLLM.removed(PROMPT.key(3), "GPU")));

    Registration engine = follow();

    router.awaitDevice(engine, PROMPT, 12);
    awaitLive();
    JsonNode status = status();
    assertThat(status.get("last_sequence").longValue()).isEqualTo(1);
    assertThat(status.get("messages").longValue()).isZero();
    assertThat(status.get("replayed").longValue()).isEqualTo(2);
    assertThat(status.get("partial_since").isNull()).isTrue();
    assertThat(status.at("/events/stored").longValue()).isEqualTo(1);
    assertThat(status.at("/events/removed").longValue()).isEqualTo(1);
  }

  @Test
  void gap_isFilled_andNothingIsRetracted() {
    Registration engine = follow();
    awaitLive();
    publisher.sendPayload(replay.remember(store(PROMPT.key(0))));
    replay.remember(store(PROMPT.key(1)));
    replay.remember(store(PROMPT.key(2)));
    publisher.next(3).sendPayload(replay.remember(store(PROMPT.key(3))));

    router.awaitDevice(engine, PROMPT, 16);
    awaitLive();
    JsonNode status = status();
    assertThat(status.get("gaps").longValue()).isEqualTo(1);
    assertThat(status.get("missing").longValue()).isEqualTo(2);
    assertThat(status.get("losses").longValue()).isZero();
    assertThat(status.get("restarts").longValue()).isZero();
    assertThat(status.get("partial_since").isNull()).isTrue();
  }

  @Test
  void newConnection_ofTheSameEngine_keepsTheBlocks() {
    Registration engine = follow();
    publisher.sendPayload(replay.remember(store(PROMPT.key(0))));
    router.awaitDevice(engine, PROMPT, 4);

    publisher.close();
    eventually(() -> assertThat(status().get("state").textValue()).isEqualTo("lost"));
    publisher = EnginePublisher.serve(engine.endpoint()).awaitSubscriber();
    publisher.next(1).sendPayload(replay.remember(store(PROMPT.key(1))));

    router.awaitDevice(engine, PROMPT, 8);
    assertThat(status().get("restarts").longValue()).isZero();
  }

  @Test
  void newConnection_ofAnotherEngine_removesTheBlocks_thoughItCountsOn() {
    Registration engine = follow();
    publisher.sendPayload(replay.remember(store(PROMPT.key(0))));
    router.awaitDevice(engine, PROMPT, 4);

    publisher.close();
    replay.forget();
    replay.remember(store(OTHER_PROMPT.key(0)));
    publisher = EnginePublisher.serve(engine.endpoint()).awaitSubscriber();
    publisher.next(1).sendPayload(replay.remember(store(OTHER_PROMPT.key(1))));

    router.awaitDevice(engine, OTHER_PROMPT, 8);
    assertThat(router.hit(engine, PROMPT).device()).isZero();
    assertThat(status().get("restarts").longValue()).isEqualTo(1);
  }

  @Test
  void engine_ofAnotherHashSeed_isToldInWords() {
    Registration engine = follow();
    publisher.sendPayload(
        replay.remember(
            VLLM.batch(List.of("BlockStored", List.of(1L), List.of(), List.of(1, 2, 3, 4), 4))));
    eventually(() -> assertThat(status().at("/events/stored").longValue()).isEqualTo(1));
    // A parent that is no null: not the first of a chain.
    assertThat(status().get("problems")).isEmpty();
    Object first =
        java.util.Arrays.asList("BlockStored", List.of(1L), null, List.of(1, 2, 3, 4), 4);
    publisher.sendPayload(replay.remember(VLLM.batch(first)));

    eventually(() -> assertThat(status().get("problems")).hasSize(1));
    assertThat(status().at("/problems/0").textValue())
        .startsWith("hash_profile: by strategy vllm_v1, algorithm sha256_cbor");
    assertThat(router.hit(engine, PROMPT).device()).isZero();
  }
}
