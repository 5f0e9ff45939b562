package baton.it;

import static baton.client.ConductorClient.CONDUCTOR_UNAVAILABLE;
import static baton.client.ConductorClient.HEALTH_OK;
import static baton.client.ConductorClient.INTERNAL_ERROR;
import static baton.client.ConductorClient.INVALID_PARAMS;
import static baton.client.ConductorClient.OK;
import static baton.client.ConductorClient.RPC_FAIL;
import static baton.client.ConductorClient.SERVICE_NOT_FOUND;
import static baton.it.Api.fields;
import static baton.it.Api.tree;
import static org.assertj.core.api.Assertions.assertThat;

import baton.client.ConductorClient;
import baton.client.GlobalViewResult;
import baton.client.HashProfile;
import baton.client.PublisherConfig;
import baton.client.QueryArguments;
import baton.client.QueryResult;
import baton.client.QueryResult.InstanceHit;
import baton.client.QueryResult.RankHit;
import baton.client.ServicesResult;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The RPC port of the packaged application: by the Java client, and by a peer in Python that shares
 * no code with it; and that peer's server by the Java client. The latter need python3, without any
 * packages.
 */
@QuarkusIntegrationTest
class RpcIT extends ClientSuite {
  private static final String PYTHON = "baton.it.RpcPeer#isThere";

  /** Reserved by the build, and told to the application by it. */
  static final String ADDRESS = "127.0.0.1:" + Integer.getInteger("test.rpc-port", 13334);

  @Override
  ConductorClient connected() {
    ConductorClient client = new ConductorClient();
    assertThat(client.setup(ADDRESS)).isEqualTo(OK);
    return client;
  }

  private static JsonNode call(boolean typed, String method, Object argument) {
    return RpcPeer.call(ADDRESS, typed, method, argument);
  }

  private static Map<String, Object> peerQuery(String model, List<Integer> tokens) {
    return fields(
        "context",
        fields("tenant_id", "", "model_name", model, "lora_name", "", "block_size", 4),
        "token_ids",
        tokens);
  }

  private static Map<String, Object> httpQuery(String model, List<Integer> tokens) {
    return fields("model", model, "block_size", 4, "token_ids", tokens);
  }

  // A Python peer calls Baton

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @EnabledIf(value = PYTHON, disabledReason = "needs python3")
  void pythonPeer_everyFunction_answersAsHttpDoes(boolean typed) {
    try (EnginePublisher publisher = EnginePublisher.serve()) {
      Map<String, Object> service =
          fields(
              "endpoint",
              publisher.endpoint(),
              "publisher_kind",
              0,
              "model_name",
              "peer-model",
              "instance_id",
              "peer-engine",
              "block_size",
              4,
              "dp_rank",
              11,
              "hash_profile",
              Api.vllmProfile("0"));
      assertThat(call(typed, "Register", service))
          .isEqualTo(tree("{\"ok\":{\"instance_id\":\"peer-engine\",\"is_new\":true}}"));
      assertThat(call(typed, "Register", service))
          .isEqualTo(tree("{\"ok\":{\"instance_id\":\"peer-engine\",\"is_new\":false}}"));

      JsonNode services = call(typed, "ListServices", null);
      assertThat(services).hasSize(1);
      assertThat(RpcPeer.asHttpServices(services)).isEqualTo(Api.get("/services").body());

      Prompt prompt = Prompt.ofBlocks(Prompt.VLLM, 70);
      List<Integer> tokens = IntStream.of(prompt.tokens()).boxed().toList();
      publisher.awaitSubscriber();
      publisher.send(
          Dialect.VLLM.batch(
              Dialect.VLLM.stored(prompt.keys().subList(0, 66), "GPU"),
              Dialect.VLLM.stored(prompt.keys().subList(66, 68), "CPU"),
              Dialect.VLLM.stored(prompt.keys().subList(68, 70), "disk")));
      Router.eventually(
          () ->
              assertThat(
                      Api.post("/query", httpQuery("peer-model", tokens))
                          .body()
                          .at("/instances/peer-engine/disk")
                          .longValue())
                  .isEqualTo(280));
      assertThat(call(typed, "Query", peerQuery("peer-model", tokens)).get("ok"))
          .isEqualTo(Api.post("/query", httpQuery("peer-model", tokens)).body());
      assertThat(call(typed, "Query", peerQuery("peer-model", List.of())).get("ok"))
          .isEqualTo(Api.post("/query", httpQuery("peer-model", List.of())).body());
      assertThat(call(typed, "Query", peerQuery("none", tokens)).get("ok"))
          .isEqualTo(Api.post("/query", httpQuery("none", tokens)).body());
      assertThat(call(typed, "Query", peerQuery("", tokens))).isEqualTo(tree("{\"error\":-600}"));

      JsonNode view = call(typed, "GetGlobalView", null);
      assertThat(view.at("/contexts/0/prefix_count").longValue()).isEqualTo(70);
      JsonNode httpView = Api.get("/global_view").body();
      // The channel has no field for it.
      ((ObjectNode) httpView.at("/contexts/0")).remove("digest");
      assertThat(RpcPeer.asHttpView(view)).isEqualTo(httpView);

      Map<String, Object> key = fields("instance_id", "peer-engine", "dp_rank", 11);
      assertThat(call(typed, "Unregister", key))
          .isEqualTo(tree("{\"ok\":{\"removed_key\":\"peer-engine|default|11\"}}"));
      assertThat(call(typed, "Unregister", key)).isEqualTo(tree("{\"error\":-2001}"));
      assertThat(Api.get("/services").body().get("count").intValue()).isZero();
    }
  }

  /** Every size class of a body, absent and present empty texts, every kind of publisher. */
  @Test
  @EnabledIf(value = PYTHON, disabledReason = "needs python3")
  void pythonPeer_wholeList_isAnsweredAlikeInBothForms() {
    Map<String, JsonNode> plain = RpcPeer.callAll(ADDRESS, false);
    Api.unregisterAll();
    Map<String, JsonNode> typed = RpcPeer.callAll(ADDRESS, true);
    assertThat(typed).isEqualTo(plain);

    JsonNode nobody = tree("{\"ok\":{\"instances\":{}}}");
    JsonNode refused = tree("{\"error\":-600}");
    plain.forEach(
        (name, result) -> {
          if (name.startsWith("query_")) {
            assertThat(result).as(name).isEqualTo(name.equals("query_invalid") ? refused : nobody);
          }
        });
    assertThat(plain)
        .containsEntry(
            "register_vllm", tree("{\"ok\":{\"instance_id\":\"engine-a\",\"is_new\":true}}"))
        // the endpoint is engine-a's
        .containsEntry("register_sglang", refused)
        .containsEntry("register_mooncake", refused)
        .containsEntry("register_full", refused)
        .containsEntry("register_invalid", refused)
        .containsEntry("unregister_ok", tree("{\"ok\":{\"removed_key\":\"engine-a|default|0\"}}"))
        .containsEntry("unregister_empty_tenant", tree("{\"error\":-2001}"))
        .containsEntry("unregister_not_found", tree("{\"error\":-2001}"))
        .containsEntry("list_services", tree("[]"))
        .containsEntry("global_view", tree("{\"context_count\":0,\"contexts\":[]}"));
  }

  // The Java client calls a Python peer

  private static InstanceHit hit(long base, int... ranks) {
    Map<String, Long> dp = new LinkedHashMap<>();
    Map<String, RankHit> matches = new LinkedHashMap<>();
    long most = 0;
    for (int rank : ranks) {
      long device = base + rank * 16L;
      dp.put(Integer.toString(rank), device);
      matches.put(Integer.toString(rank), new RankHit(device, device + 1, device + 2, device + 3));
      most = Math.max(most, device);
    }
    return new InstanceHit(most + 3, dp, matches, most, most + 1, most + 2, most + 3);
  }

  private static QueryArguments query(String model, int[] tokens, String salt, String filter) {
    return new QueryArguments(model, "", 16, "default", tokens, salt, filter);
  }

  @ParameterizedTest
  @ValueSource(strings = {"plain", "typed"})
  @EnabledIf(value = PYTHON, disabledReason = "needs python3")
  void javaClient_pythonServer_readsEveryAnswer(String form) {
    try (RpcPeer peer = RpcPeer.serve(form);
        ConductorClient client = new ConductorClient()) {
      assertThat(client.setup(peer.address())).isEqualTo(OK);
      assertThat(client.healthCheck()).isEqualTo(HEALTH_OK);

      int[] tokens = IntStream.rangeClosed(1, 20).toArray();
      assertThat(client.query("two", 16, tokens))
          .isEqualTo(
              new QueryResult(
                  OK, Map.of("engine-a", hit(16, 0, 1), "engine-b", hit(1L << 32, 0, 3))));
      assertThat(client.query(query("two", tokens, "", "engine-b")).hits())
          .containsOnlyKeys("engine-b");
      assertThat(client.query(query("two", tokens, "sält", "engine-a")).hits().get("engine-a"))
          .extracting(InstanceHit::longestMatched)
          .as("the peer counts the salt's bytes")
          .isEqualTo(5L);
      assertThat(client.query("zero", 16, tokens))
          .isEqualTo(
              new QueryResult(
                  OK,
                  Map.of(
                      "engine-z",
                      new InstanceHit(
                          0, Map.of("0", 0L), Map.of("0", new RankHit(0, 0, 0, 0)), 0, 0, 0, 0))));
      assertThat(client.query("long", 16, tokens).hits())
          .isEqualTo(Map.of("L".repeat(260), hit(32, 0)));
      assertThat(client.query("none", 16, tokens)).isEqualTo(new QueryResult(OK, Map.of()));
      for (int count : new int[] {0, 1, 255, 256, 65_535, 65_536}) {
        int[] prompt = IntStream.rangeClosed(1, count).toArray();
        InstanceHit counted = client.query("count", 16, prompt).hits().get("count");
        assertThat(counted.longestMatched()).isEqualTo(count);
        assertThat(counted.disk()).isEqualTo(count * (count + 1L) / 2);
      }
      assertThat(client.query("", 16, tokens)).isEqualTo(new QueryResult(INVALID_PARAMS, Map.of()));
      assertThat(client.query("unavailable", 16, tokens).ret()).isEqualTo(CONDUCTOR_UNAVAILABLE);

      HashProfile recipe = new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be");
      assertThat(client.register(new PublisherConfig("a", "tcp://h:1", "m", 16, recipe)))
          .isEqualTo(OK);
      assertThat(client.register(new PublisherConfig("a", "", "m", 16, recipe)))
          .isEqualTo(INVALID_PARAMS);
      assertThat(client.register(new PublisherConfig("a", "tcp://h:1", "zmqfail", 16, recipe)))
          .isEqualTo(INTERNAL_ERROR);
      assertThat(client.unregister("engine-a")).isEqualTo(OK);
      assertThat(client.unregister("ghost")).isEqualTo(SERVICE_NOT_FOUND);

      assertViewAndServices(client);

      assertThat(client.query("boom", 16, tokens).ret()).isEqualTo(RPC_FAIL);
      assertThat(client.listServices().ret()).as("the connection is over").isEqualTo(RPC_FAIL);
      assertThat(client.setup(peer.address())).isEqualTo(OK);
      assertThat(client.healthCheck()).isEqualTo(HEALTH_OK);
    }
  }

  private static void assertViewAndServices(ConductorClient client) {
    HashProfile rooted =
        new HashProfile("vllm_v1", "sha256_cbor", "0", "0123456789abcdef", "low64_be");
    HashProfile sglang = new HashProfile("sglang", "sha256_raw", "0", "first64_be");
    assertThat(client.getGlobalView())
        .isEqualTo(
            new GlobalViewResult(
                OK,
                2,
                List.of(
                    new GlobalViewResult.Context(
                        "model-a",
                        "",
                        16,
                        "default",
                        3,
                        rooted,
                        Map.of("engine-a", Set.of(0L, 1L), "engine-b", Set.of(7L))),
                    new GlobalViewResult.Context(
                        "model-b",
                        "lora",
                        64,
                        "tenant-2",
                        1099511627781L,
                        sglang,
                        Map.of("engine-s", Set.of())))));
    List<PublisherConfig> services = new ArrayList<>();
    services.add(new PublisherConfig("engine-a", "tcp://127.0.0.1:5557", "model-a", 16, rooted));
    services.add(
        new PublisherConfig(
            "engine-s",
            "tcp://127.0.0.1:5558",
            "model-b",
            64,
            sglang,
            "tcp://127.0.0.1:5559",
            "SGLang",
            "lora",
            "tenant-2",
            3,
            0L));
    services.add(
        new PublisherConfig(
            "",
            "tcp://127.0.0.1:5560",
            "model-a",
            16,
            rooted,
            "",
            "Mooncake",
            "",
            "default",
            Integer.MAX_VALUE,
            0L));
    assertThat(client.listServices()).isEqualTo(new ServicesResult(OK, 3, services));
  }

  @ParameterizedTest
  @ValueSource(strings = {"plain", "typed"})
  void javaClient_emptyPythonServer_readsEmptyLists(String form) {
    try (RpcPeer peer = RpcPeer.serve("empty", form);
        ConductorClient client = new ConductorClient()) {
      assertThat(client.setup(peer.address())).isEqualTo(OK);
      assertThat(client.getGlobalView()).isEqualTo(new GlobalViewResult(OK, 0, List.of()));
      assertThat(client.listServices()).isEqualTo(new ServicesResult(OK, 0, List.of()));
    }
  }
}
