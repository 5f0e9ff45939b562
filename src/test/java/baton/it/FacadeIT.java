package baton.it;

import static baton.client.ConductorClient.CONDUCTOR_UNAVAILABLE;
import static baton.client.ConductorClient.OK;
import static baton.client.ConductorClient.RPC_FAIL;
import static baton.it.Api.fields;
import static baton.it.Api.tree;
import static baton.it.Api.vllm;
import static baton.it.Api.with;
import static org.assertj.core.api.Assertions.assertThat;

import baton.client.ConductorClient;
import baton.client.QueryResult;
import baton.it.Api.Reply;
import com.fasterxml.jackson.databind.JsonNode;
import io.quarkus.test.common.QuarkusTestResourceLifecycleManager;
import io.quarkus.test.common.WithTestResource;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A Baton that serves a Conductor elsewhere, which is a Python peer with fixed answers. */
@EnabledIf(value = "baton.it.RpcPeer#isThere", disabledReason = "needs python3")
@QuarkusIntegrationTest
@WithTestResource(FacadeIT.Elsewhere.class)
class FacadeIT {
  private static final List<Integer> TOKENS = IntStream.rangeClosed(1, 20).boxed().toList();

  /** The Conductor elsewhere, at a port that stays the same when it is started again. */
  public static final class Elsewhere implements QuarkusTestResourceLifecycleManager {
    private RpcPeer peer;

    @Override
    public Map<String, String> start() {
      peer = RpcPeer.serve();
      return Map.of("baton.conductor.address", peer.address());
    }

    @Override
    public void inject(TestInjector injector) {
      injector.injectIntoFields(peer, field -> field.getType() == RpcPeer.class);
    }

    @Override
    public void stop() {
      peer.close();
    }
  }

  RpcPeer peer;

  @AfterEach
  void conductorIsThere() {
    peer.stop();
    peer.start();
    Router.eventually(() -> assertThat(Api.get("/services").status()).isEqualTo(200));
  }

  private static Map<String, Object> query(String model) {
    return fields("model", model, "block_size", 16, "token_ids", TOKENS);
  }

  private JsonNode asked(String method, Object argument) {
    return RpcPeer.call(peer.address(), false, method, argument);
  }

  private static void assertError(Reply reply, int status, String reason) {
    assertThat(reply.status()).as(reply.text()).isEqualTo(status);
    assertThat(reply.body().get("reason").textValue()).isEqualTo(reason);
    assertThat(reply.text()).doesNotContain("Exception", "baton.");
  }

  private static void assertOk(Reply reply, JsonNode body) {
    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    assertThat(reply.body()).isEqualTo(body);
  }

  @ParameterizedTest
  @ValueSource(strings = {"two", "zero", "long", "count", "none"})
  void query_elsewhere_answersWhatThatConductorHolds(String model) {
    Map<String, Object> context =
        fields("tenant_id", "default", "model_name", model, "block_size", 16);
    JsonNode there = asked("Query", fields("context", context, "token_ids", TOKENS)).get("ok");
    assertOk(Api.post("/query", query(model)), there);
    assertOk(Api.postMsgpack("/query", query(model)), there);
  }

  @Test
  void query_everyField_reachesTheConductor() {
    Map<String, Object> salted = query("two");
    salted.put("cache_salt", "sält");
    salted.put("instance_id", "engine-b");
    JsonNode instances = Api.post("/query", salted).body().get("instances");
    assertThat(instances.properties()).hasSize(1);
    assertThat(instances.at("/engine-b/longest_matched").longValue())
        .as("the peer counts the salt's bytes")
        .isEqualTo(5);
  }

  @Test
  void services_elsewhere_areThatConductors() {
    JsonNode there = RpcPeer.asHttpServices(asked("ListServices", null));
    assertThat(there.get("count").intValue()).isEqualTo(3);
    assertOk(Api.get("/services"), there);
  }

  @Test
  void globalView_elsewhere_isThatConductors() {
    JsonNode there = RpcPeer.asHttpView(asked("GetGlobalView", null));
    assertThat(there.get("contexts")).hasSize(2);
    assertOk(Api.get("/global_view"), there);
  }

  @Test
  void register_elsewhere_isPassedOn() {
    JsonNode done = tree("{\"status\":\"registered successfully\",\"instance_id\":\"a\"}");
    assertOk(Api.post("/register", vllm("a", 0, 2101)), done);
    assertOk(Api.post("/register", vllm("a", 0, 2101)), done);
    assertError(
        Api.post("/register", with(vllm("a", 0, 2101), "modelname", "zmqfail")), 500, "internal");
  }

  @Test
  void register_invalidValue_isRefusedHereAndNamesItsField() {
    Reply reply = Api.post("/register", with(vllm("a", 0, 2101), "block_size", 0));
    assertThat(reply.status()).as(reply.text()).isEqualTo(400);
    assertThat(reply.body().get("field").textValue()).isEqualTo("block_size");
  }

  @Test
  void unregister_elsewhere_isPassedOn() {
    assertOk(
        Api.post("/unregister", fields("instance_id", "a", "tenant_id", "blue", "dp_rank", 3)),
        tree("{\"status\":\"unregistered successfully\",\"removed_instances\":[\"a|blue|3\"]}"));
    assertError(
        Api.post("/unregister", fields("instance_id", "ghost", "dp_rank", 0)), 404, "not_found");
  }

  @Test
  void queryByHash_elsewhere_isUnsupported() {
    assertError(
        Api.post(
            "/query_by_hash", fields("model", "two", "block_size", 16, "seq_hashes", List.of(1))),
        400,
        "unsupported");
  }

  @Test
  void query_conductorCannot_isUnavailable() {
    assertError(Api.post("/query", query("unavailable")), 503, "unavailable");
    assertError(Api.post("/query", query("boom")), 503, "unavailable");
    assertThat(Api.post("/query", query("two")).status()).isEqualTo(200);
  }

  @Test
  void everyEndpoint_conductorIsGone_isUnavailableUntilItIsBack() {
    assertThat(Api.post("/query", query("two")).status()).isEqualTo(200);
    peer.stop();
    for (int i = 0; i < 2; i++) {
      assertError(Api.post("/query", query("two")), 503, "unavailable");
      assertError(Api.get("/services"), 503, "unavailable");
      assertError(Api.get("/global_view"), 503, "unavailable");
      assertError(Api.post("/register", vllm("a", 0, 2101)), 503, "unavailable");
      assertError(
          Api.post("/unregister", fields("instance_id", "a", "dp_rank", 0)), 503, "unavailable");
    }
    peer.start();
    assertThat(Api.post("/query", query("two")).status()).isEqualTo(200);
    assertThat(Api.get("/services").status()).isEqualTo(200);
  }

  @Test
  void query_manyAtOnce_allAreAnswered() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(40);
    try {
      List<Callable<Reply>> work = Collections.nCopies(400, () -> Api.post("/query", query("two")));
      JsonNode expected = Api.post("/query", query("two")).body();
      for (Future<Reply> reply : threads.invokeAll(work)) {
        assertOk(reply.get(), expected);
      }
    } finally {
      threads.shutdownNow();
    }
  }

  // The facade's own RPC port

  private static ConductorClient client() {
    ConductorClient client = new ConductorClient();
    assertThat(client.setup("127.0.0.1:" + Integer.getInteger("test.rpc-port", 13334)))
        .isEqualTo(OK);
    return client;
  }

  @Test
  void rpc_elsewhere_answersWhatThatConductorHolds() {
    try (ConductorClient here = client();
        ConductorClient there = new ConductorClient()) {
      assertThat(there.setup(peer.address())).isEqualTo(OK);
      int[] tokens = {1, 2, 3};
      QueryResult found = here.query("two", 16, tokens);
      assertThat(found.hits()).hasSize(2);
      assertThat(found).isEqualTo(there.query("two", 16, tokens));
      assertThat(here.listServices()).isEqualTo(there.listServices());
      assertThat(here.getGlobalView()).isEqualTo(there.getGlobalView());
      assertThat(here.unregister("ghost")).isEqualTo(there.unregister("ghost"));
    }
  }

  @Test
  void rpc_conductorIsGone_isConductorUnavailableUntilItIsBack() {
    try (ConductorClient client = client()) {
      peer.stop();
      // RPC_FAIL and RPC_TIMEOUT are a client's own words, never sent.
      assertThat(client.query("two", 16, new int[] {1}).ret()).isEqualTo(CONDUCTOR_UNAVAILABLE);
      assertThat(client.unregister("a")).isEqualTo(CONDUCTOR_UNAVAILABLE);
      assertThat(client.getGlobalView().ret()).isEqualTo(RPC_FAIL);
      peer.start();
      assertThat(client.query("two", 16, new int[] {1}).ret()).isEqualTo(OK);
    }
  }
}
