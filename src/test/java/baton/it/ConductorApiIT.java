package baton.it;

import static baton.it.Api.JSON;
import static baton.it.Api.MSGPACK;
import static baton.it.Api.fields;
import static baton.it.Api.tree;
import static baton.it.Api.vllm;
import static baton.it.Api.vllmProfile;
import static baton.it.Api.with;
import static baton.it.Api.without;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import baton.it.Api.Reply;
import com.fasterxml.jackson.databind.JsonNode;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The Conductor's HTTP contract, on the packaged application. */
@QuarkusIntegrationTest
class ConductorApiIT {
  private static final String ROOT_OF_SEED_0 =
      "4e1195df020de59e0d65a33a4279f1183e7ae4e5d980e309f8b55adff2e61c3e";
  private static final String ROOT_OF_SEED_00 =
      "8d912e4e62b3cc377b1d1c7a14ef61dffbdaa0990237035c05401c29414c4172";
  private static final String NO_ROOT = "0".repeat(64);

  private static final Map<String, Object> QUERY =
      fields("model", "m", "block_size", 4, "token_ids", List.of(1, 2, 3, 4));
  private static final Map<String, Object> HASH_QUERY =
      with(without(QUERY, "token_ids"), "seq_hashes", List.of(2164874634404590027L));
  private static final JsonNode NOBODY = tree("{\"instances\":{}}");
  private static final String ZEROS =
      """
      {"longest_matched":0,"dp":{"0":0},
       "rank_matches":{"0":{"device":0,"cpu_local":0,"cpu_share":0,"disk":0}},
       "device":0,"cpu_local":0,"cpu_share":0,"disk":0}
      """;
  private static final JsonNode A_WITHOUT_HIT = tree("{\"instances\":{\"a\":" + ZEROS + "}}");

  @AfterEach
  void unregisterAll() {
    Api.unregisterAll();
    assertNothingRegistered();
  }

  private static void assertNothingRegistered() {
    assertOk(Api.get("/services"), "{\"count\":0,\"services\":[]}");
    assertOk(Api.get("/global_view"), "{\"context_count\":0,\"contexts\":[]}");
  }

  private static void assertOk(Reply reply, String json) {
    assertOk(reply, tree(json));
  }

  private static void assertOk(Reply reply, JsonNode body) {
    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    assertThat(reply.body()).isEqualTo(body);
  }

  private static void register(Map<String, Object> publisher) {
    Reply reply = Api.post("/register", publisher);
    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
  }

  private static void assertConflict(Map<String, Object> publisher, String field) {
    JsonNode services = Api.get("/services").body();
    JsonNode view = Api.get("/global_view").body();
    Reply reply = Api.post("/register", publisher);
    assertThat(reply.status()).as(reply.text()).isEqualTo(409);
    assertThat(reply.body().get("reason").textValue()).isEqualTo("invalid_registration");
    assertThat(reply.body().path("field").textValue()).isEqualTo(field);
    assertThat(reply.body().get("error").textValue()).isNotEmpty();
    assertThat(Api.get("/services").body()).isEqualTo(services);
    assertThat(Api.get("/global_view").body()).isEqualTo(view);
  }

  private static Map<String, Object> sglang(String instance, int rank, int port) {
    return with(
        with(vllm(instance, rank, port), "type", "SGLang"),
        "hash_profile",
        fields(
            "strategy", "sglang",
            "algorithm", "sha256_raw",
            "index_projection", "first64_be"));
  }

  private static Map<String, Object> mooncake(int port) {
    return without(with(vllm("", 0, port), "type", "Mooncake"), "instance_id");
  }

  // Registering

  @Test
  void register_vllm_isListedWithExactKeysAndBindsItsContext() {
    assertOk(
        Api.post("/register", vllm("a", 0, 2101)),
        "{\"status\":\"registered successfully\",\"instance_id\":\"a\"}");

    String profile =
        """
        {"strategy":"vllm_v1","algorithm":"sha256_cbor","python_hash_seed":"0",
         "root_digest":"%s","index_projection":"low64_be"}
        """
            .formatted(ROOT_OF_SEED_0);
    assertOk(
        Api.get("/services"),
        """
        {"count":1,"services":[{"Endpoint":"tcp://127.0.0.1:2101","ReplayEndpoint":"","Type":"vLLM",
         "ModelName":"m","LoraName":"","TenantID":"default","InstanceID":"a","BlockSize":4,
         "DPRank":0,"CacheGroup":null,"HashProfile":%s}]}
        """
            .formatted(profile));
    assertOk(
        Api.get("/global_view"),
        """
        {"context_count":1,"contexts":[{"model_name":"m","lora_name":"","block_size":4,
         "tenant_id":"default","prefix_count":0,"digest":"0000000000000000","hash_profile":%s,
         "instances":{"a":[0]}}]}
        """
            .formatted(profile));
  }

  @Test
  void register_everyOptionalField_isListedAsGiven() {
    Map<String, Object> publisher = vllm("a", 2147483647, 2101);
    publisher.put("replay_endpoint", "ipc:///tmp/baton-it-replay");
    publisher.put("lora_name", "adapter-Ä");
    publisher.put("tenant_id", "blue");
    publisher.put("cache_group", 0);
    publisher.put("block_size", 9223372036854775807L);
    register(publisher);

    JsonNode service = Api.get("/services").body().get("services").get(0);
    assertThat(service.get("ReplayEndpoint").textValue()).isEqualTo("ipc:///tmp/baton-it-replay");
    assertThat(service.get("LoraName").textValue()).isEqualTo("adapter-Ä");
    assertThat(service.get("TenantID").textValue()).isEqualTo("blue");
    assertThat(service.get("DPRank").intValue()).isEqualTo(2147483647);
    assertThat(service.get("CacheGroup").isInt()).isTrue();
    assertThat(service.get("BlockSize").longValue()).isEqualTo(9223372036854775807L);
    JsonNode context = Api.get("/global_view").body().get("contexts").get(0);
    assertThat(context.get("lora_name").textValue()).isEqualTo("adapter-Ä");
    assertThat(context.get("tenant_id").textValue()).isEqualTo("blue");
    assertThat(context.get("instances")).isEqualTo(tree("{\"a\":[2147483647]}"));
  }

  @Test
  void register_sglang_normalisesItsSeed() {
    assertOk(
        Api.post("/register", sglang("s", 0, 2102)),
        "{\"status\":\"registered successfully\",\"instance_id\":\"s\"}");

    JsonNode service = Api.get("/services").body().get("services").get(0);
    assertThat(service.get("Type").textValue()).isEqualTo("SGLang");
    assertThat(service.get("HashProfile"))
        .isEqualTo(
            tree(
                """
                {"strategy":"sglang","algorithm":"sha256_raw","python_hash_seed":"0",
                 "root_digest":"%s","index_projection":"first64_be"}
                """
                    .formatted(NO_ROOT)));
    // any seed text is the same profile, so this is the same registration
    register(with(sglang("s", 0, 2102), "hash_profile.python_hash_seed", "whatever"));
    assertThat(Api.get("/services").body().get("services").get(0)).isEqualTo(service);
  }

  @Test
  void register_sglangBigram_isAnotherProfile() {
    register(sglang("s", 0, 2102));
    assertConflict(
        with(sglang("s", 1, 2103), "hash_profile.strategy", "sglang_bigram"), "hash_profile");
  }

  @Test
  void register_mooncakeWithoutInstance_hasAKeyWithoutInstance() {
    assertOk(
        Api.post("/register", mooncake(2104)),
        "{\"status\":\"registered successfully\",\"instance_id\":\"\"}");

    JsonNode service = Api.get("/services").body().get("services").get(0);
    assertThat(service.get("Type").textValue()).isEqualTo("Mooncake");
    assertThat(service.get("InstanceID").textValue()).isEmpty();
    assertThat(Api.post("/query", QUERY).body()).isEqualTo(NOBODY);
    assertOk(
        Api.post("/unregister", fields("instance_id", "", "dp_rank", 0)),
        """
        {"status":"unregistered successfully","removed_instances":["|default|0"]}
        """);
  }

  @Test
  void register_mooncakeBesideAnEngine_leavesItsContextAlone() {
    register(vllm("a", 0, 2101));
    JsonNode view = Api.get("/global_view").body();

    register(mooncake(2104));

    assertThat(Api.get("/services").body().get("count").intValue()).isEqualTo(2);
    assertThat(Api.get("/global_view").body()).isEqualTo(view);
    assertThat(Api.post("/query", QUERY).body()).isEqualTo(A_WITHOUT_HIT);
  }

  @Test
  void register_again_changesNothing() {
    register(vllm("a", 0, 2101));
    JsonNode services = Api.get("/services").body();
    JsonNode view = Api.get("/global_view").body();

    String registered = "{\"status\":\"registered successfully\",\"instance_id\":\"a\"}";
    assertOk(Api.post("/register", vllm("a", 0, 2101)), registered);
    assertOk(Api.post("/register", with(vllm("a", 0, 2101), "tenant_id", "")), registered);
    assertOk(Api.post("/register", with(vllm("a", 0, 2101), "tenant_id", "default")), registered);
    assertOk(Api.postMsgpack("/register", vllm("a", 0, 2101)), registered);

    assertThat(Api.get("/services").body()).isEqualTo(services);
    assertThat(Api.get("/global_view").body()).isEqualTo(view);
  }

  @Test
  void register_sameKeyWithAnotherValue_isRefused() {
    register(vllm("a", 0, 2101));
    assertConflict(vllm("a", 0, 2109), null);
    assertConflict(with(vllm("a", 0, 2101), "modelname", "other"), null);
    assertConflict(with(vllm("a", 0, 2101), "block_size", 8), null);
    assertConflict(with(vllm("a", 0, 2101), "lora_name", "l"), null);
    assertConflict(with(vllm("a", 0, 2101), "replay_endpoint", "tcp://127.0.0.1:2109"), null);
    assertConflict(with(vllm("a", 0, 2101), "hash_profile.algorithm", "sha256"), null);
    assertConflict(sglang("a", 0, 2101), null);
  }

  @Test
  void register_endpointOfAnotherKey_isRefused() {
    register(vllm("a", 0, 2101));
    assertConflict(vllm("b", 0, 2101), "endpoint");
    assertConflict(vllm("a", 1, 2101), "endpoint");
    assertConflict(with(vllm("a", 0, 2101), "tenant_id", "blue"), "endpoint");
    assertConflict(mooncake(2101), "endpoint");
  }

  @Test
  void register_anotherProfileInTheContext_isRefusedUntilItIsEmpty() {
    register(vllm("a", 0, 2101));
    Map<String, Object> other = with(vllm("b", 0, 2102), "hash_profile.python_hash_seed", "1");
    assertConflict(other, "hash_profile");
    assertConflict(with(other, "hash_profile", vllmProfile("00")), "hash_profile");
    assertThat(Api.post("/query", QUERY).body()).isEqualTo(A_WITHOUT_HIT);

    register(with(other, "block_size", 8));
    Api.post("/unregister", fields("instance_id", "a", "dp_rank", 0));
    register(with(other, "instance_id", "c", "endpoint", "tcp://127.0.0.1:2103"));
  }

  @Test
  void register_seeds0And00_haveDifferentRoots() {
    register(vllm("a", 0, 2101));
    register(with(vllm("b", 0, 2102), "modelname", "m2", "hash_profile", vllmProfile("00")));

    JsonNode services = Api.get("/services").body().get("services");
    assertThat(services.get(0).get("HashProfile").get("root_digest").textValue())
        .isEqualTo(ROOT_OF_SEED_0);
    assertThat(services.get(1).get("HashProfile").get("root_digest").textValue())
        .isEqualTo(ROOT_OF_SEED_00);
    assertThat(services.get(1).get("HashProfile").get("python_hash_seed").textValue())
        .isEqualTo("00");
  }

  @ParameterizedTest
  @ValueSource(strings = {"random", "4294967295", "0000000000000000000000000000001"})
  void register_seedText_isKeptAsWritten(String seed) {
    register(with(vllm("a", 0, 2101), "hash_profile", vllmProfile(seed)));
    JsonNode profile = Api.get("/services").body().get("services").get(0).get("HashProfile");
    assertThat(profile.get("python_hash_seed").textValue()).isEqualTo(seed);
    assertThat(profile.get("root_digest").textValue()).matches("[0-9a-f]{64}");
  }

  @Test
  void register_fourRanks_areFourServicesAndFourRankKeys() {
    for (int rank = 3; rank >= 0; rank--) {
      register(vllm("a", rank, 2110 + rank));
    }

    JsonNode services = Api.get("/services").body();
    assertThat(services.get("count").intValue()).isEqualTo(4);
    assertThat(services.get("services").findValuesAsText("Endpoint"))
        .containsExactlyInAnyOrder(
            "tcp://127.0.0.1:2110",
            "tcp://127.0.0.1:2111",
            "tcp://127.0.0.1:2112",
            "tcp://127.0.0.1:2113");
    assertThat(Api.get("/global_view").body().get("contexts").get(0).get("instances"))
        .isEqualTo(tree("{\"a\":[0,1,2,3]}"));
    JsonNode hit = Api.post("/query", QUERY).body().get("instances").get("a");
    assertThat(hit.get("dp")).isEqualTo(tree("{\"0\":0,\"1\":0,\"2\":0,\"3\":0}"));
    assertThat(hit.get("rank_matches").fieldNames())
        .toIterable()
        .containsExactlyInAnyOrder("0", "1", "2", "3");
    Reply packed = Api.postMsgpack("/query", QUERY);
    assertThat(packed.body().get("instances").get("a")).isEqualTo(hit);
  }

  // Unregistering

  @Test
  void unregister_oneRankAfterTheOther_emptiesTheContext() {
    register(vllm("a", 0, 2101));
    register(vllm("a", 1, 2102));

    assertOk(
        Api.post("/unregister", fields("instance_id", "a", "tenant_id", "", "dp_rank", 0)),
        "{\"status\":\"unregistered successfully\",\"removed_instances\":[\"a|default|0\"]}");
    assertThat(Api.get("/global_view").body().get("contexts").get(0).get("instances"))
        .isEqualTo(tree("{\"a\":[1]}"));

    assertOk(
        Api.postMsgpack("/unregister", fields("instance_id", "a", "dp_rank", 1)),
        "{\"status\":\"unregistered successfully\",\"removed_instances\":[\"a|default|1\"]}");
    assertNothingRegistered();
    assertThat(Api.post("/query", QUERY).body()).isEqualTo(NOBODY);
  }

  @Test
  void unregister_unknownKey_isNotFound() {
    register(vllm("a", 0, 2101));
    JsonNode services = Api.get("/services").body();
    for (Map<String, Object> key :
        List.of(
            fields("instance_id", "a", "dp_rank", 1),
            fields("instance_id", "b", "dp_rank", 0),
            fields("instance_id", "a", "tenant_id", "blue", "dp_rank", 0))) {
      Reply reply = Api.post("/unregister", key);
      assertThat(reply.status()).isEqualTo(404);
      assertThat(reply.body().get("reason").textValue()).isEqualTo("not_found");
    }
    assertThat(Api.get("/services").body()).isEqualTo(services);
  }

  @Test
  void unregister_thenRegister_freesKeyAndEndpoint() {
    for (int i = 0; i < 20; i++) {
      register(vllm("a" + i, 0, 2101));
      Reply reply = Api.post("/unregister", fields("instance_id", "a" + i, "dp_rank", 0));
      assertThat(reply.status()).isEqualTo(200);
    }
    assertNothingRegistered();
  }

  // Queries

  @Test
  void query_registeredWithoutHit_isZeros() {
    register(vllm("a", 0, 2101));
    assertOk(Api.post("/query", QUERY), A_WITHOUT_HIT);
    assertOk(Api.post("/query_by_hash", HASH_QUERY), A_WITHOUT_HIT);
    assertOk(
        Api.post(
            "/query_by_hash", with(without(HASH_QUERY, "seq_hashes"), "block_hash", List.of(1, 2))),
        A_WITHOUT_HIT);
  }

  @Test
  void query_everyOptionalField_isAccepted() {
    register(vllm("a", 0, 2101));
    Map<String, Object> optional =
        fields("lora_name", "", "tenant_id", "", "cache_salt", null, "instance_id", "");
    for (Map<String, Object> query : List.of(QUERY, HASH_QUERY)) {
      String path = query == QUERY ? "/query" : "/query_by_hash";
      Map<String, Object> full = new java.util.LinkedHashMap<>(optional);
      full.putAll(query);
      assertOk(Api.post(path, full), A_WITHOUT_HIT);
      assertOk(Api.postMsgpack(path, full), A_WITHOUT_HIT);
      assertOk(Api.post(path, with(full, "cache_salt", "salt-a")), A_WITHOUT_HIT);
      assertOk(Api.post(path, with(full, "instance_id", "a")), A_WITHOUT_HIT);
    }
  }

  @Test
  void query_unknownContext_isEmptyAndNoError() {
    assertOk(Api.post("/query", QUERY), NOBODY);
    register(vllm("a", 0, 2101));
    for (Map<String, Object> query : List.of(QUERY, HASH_QUERY)) {
      String path = query == QUERY ? "/query" : "/query_by_hash";
      assertOk(Api.post(path, with(query, "model", "other")), NOBODY);
      assertOk(Api.post(path, with(query, "block_size", 8)), NOBODY);
      assertOk(Api.post(path, with(query, "lora_name", "l")), NOBODY);
      assertOk(Api.post(path, with(query, "tenant_id", "blue")), NOBODY);
      assertOk(Api.post(path, with(query, "instance_id", "nobody")), NOBODY);
    }
  }

  @Test
  void query_filter_selectsOneInstance() {
    register(vllm("a", 0, 2101));
    register(vllm("b", 0, 2102));
    assertThat(Api.post("/query", QUERY).body().get("instances").fieldNames())
        .toIterable()
        .containsExactlyInAnyOrder("a", "b");
    assertOk(Api.post("/query", with(QUERY, "instance_id", "a")), A_WITHOUT_HIT);
  }

  @Test
  void query_tenants_doNotSeeEachOther() {
    register(vllm("a", 0, 2101));
    register(with(vllm("b", 0, 2102), "tenant_id", "blue"));
    assertOk(Api.post("/query", with(QUERY, "tenant_id", "")), A_WITHOUT_HIT);
    assertOk(Api.post("/query", with(QUERY, "tenant_id", "default")), A_WITHOUT_HIT);
    assertThat(
            Api.post("/query", with(QUERY, "tenant_id", "blue"))
                .body()
                .get("instances")
                .fieldNames())
        .toIterable()
        .containsExactly("b");
    assertThat(Api.get("/global_view").body().get("contexts").findValuesAsText("tenant_id"))
        .containsExactlyInAnyOrder("blue", "default");
  }

  @Test
  void query_noTokens_isZeros() {
    register(vllm("a", 0, 2101));
    assertOk(Api.post("/query", with(QUERY, "token_ids", List.of())), A_WITHOUT_HIT);
    assertOk(Api.postMsgpack("/query", with(QUERY, "token_ids", List.of())), A_WITHOUT_HIT);
    assertOk(Api.postMsgpack("/query", with(QUERY, "token_ids", new byte[0])), A_WITHOUT_HIT);
    assertOk(Api.post("/query_by_hash", with(HASH_QUERY, "seq_hashes", List.of())), A_WITHOUT_HIT);
  }

  @Test
  void query_extremeTokens_areZeros() {
    List<Integer> tokens = List.of(-1, Integer.MIN_VALUE, Integer.MAX_VALUE, 0);
    register(vllm("a", 0, 2101));
    assertOk(Api.post("/query", with(QUERY, "token_ids", tokens)), A_WITHOUT_HIT);
    assertOk(Api.postMsgpack("/query", with(QUERY, "token_ids", tokens)), A_WITHOUT_HIT);
    assertOk(Api.postMsgpack("/query", with(QUERY, "token_ids", bin(tokens))), A_WITHOUT_HIT);

    register(with(sglang("a", 1, 2102), "modelname", "s"));
    Reply reply = Api.post("/query", with(QUERY, "token_ids", tokens, "model", "s"));
    assertThat(reply.body().get("instances").get("a").get("dp")).isEqualTo(tree("{\"1\":0}"));
  }

  @Test
  void queryByHash_extremeHashes_areZeros() {
    BigInteger max = BigInteger.TWO.pow(64).subtract(BigInteger.ONE);
    Map<String, Object> query = with(HASH_QUERY, "seq_hashes", List.of(0, Long.MAX_VALUE, max));
    register(vllm("a", 0, 2101));
    assertOk(Api.post("/query_by_hash", query), A_WITHOUT_HIT);
    assertOk(Api.postMsgpack("/query_by_hash", query), A_WITHOUT_HIT);
  }

  @Test
  void query_jsonAsPeopleWriteIt_isRead() {
    register(vllm("a", 0, 2101));
    String body =
        """
          \t{ "token_ids" : [ 1 ,\t2\r\n, 3, 4, -0 ], "m\\u006fdel":"\\u006d" ,
          "block_size"  :4 } \n
        """;
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    assertOk(Api.send("POST", "/query", bytes, "Content-Type", JSON), A_WITHOUT_HIT);
    assertOk(Api.send("POST", "/query", bytes), A_WITHOUT_HIT);
  }

  private static byte[] bin(List<Integer> tokens) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * tokens.size()).order(ByteOrder.LITTLE_ENDIAN);
    tokens.forEach(bytes::putInt);
    return bytes.array();
  }

  @Test
  void query_millionTokens_isAnswered() {
    List<Integer> tokens = IntStream.range(0, 1_000_000).map(i -> i + 100_000).boxed().toList();
    register(vllm("a", 0, 2101));
    assertOk(Api.post("/query", with(QUERY, "token_ids", tokens)), A_WITHOUT_HIT);
    assertOk(Api.postMsgpack("/query", with(QUERY, "token_ids", tokens)), A_WITHOUT_HIT);
    assertOk(Api.postMsgpack("/query", with(QUERY, "token_ids", bin(tokens))), A_WITHOUT_HIT);
  }

  // Media types

  static Stream<Arguments> media() {
    return Stream.of(
        // Accept, the body's Content-Type, the reply's
        Arguments.of(null, JSON, JSON),
        Arguments.of(null, null, JSON),
        Arguments.of(null, MSGPACK, MSGPACK),
        Arguments.of(null, "application/x-msgpack", MSGPACK),
        Arguments.of(null, "application/vnd.msgpack", MSGPACK),
        Arguments.of(null, "Application/MsgPack", MSGPACK),
        Arguments.of(null, "application/json; charset=utf-8", JSON),
        Arguments.of(null, "APPLICATION/JSON;charset=\"UTF-8\"", JSON),
        Arguments.of("*/*", JSON, JSON),
        Arguments.of("*/*", null, JSON),
        Arguments.of("*/*", MSGPACK, MSGPACK),
        Arguments.of("application/*", MSGPACK, MSGPACK),
        Arguments.of(JSON, MSGPACK, JSON),
        Arguments.of(MSGPACK, JSON, MSGPACK),
        Arguments.of(MSGPACK, null, MSGPACK),
        Arguments.of("application/x-msgpack", JSON, MSGPACK),
        Arguments.of("application/vnd.msgpack", JSON, MSGPACK),
        Arguments.of("APPLICATION/MSGPACK", JSON, MSGPACK),
        Arguments.of("application/json, application/msgpack", MSGPACK, MSGPACK),
        Arguments.of("application/json, application/msgpack", JSON, JSON),
        Arguments.of("application/json;q=0.1, application/msgpack;q=0.9", JSON, MSGPACK),
        Arguments.of("application/msgpack;q=0.1,application/json;q=0.9", MSGPACK, JSON),
        Arguments.of("application/msgpack ; q=0.5, application/json ; q=0.501", MSGPACK, JSON),
        Arguments.of("*/*;q=0.1, application/msgpack", JSON, MSGPACK),
        Arguments.of("application/json;q=0, */*", JSON, MSGPACK),
        Arguments.of("text/html, application/msgpack;q=0.2", JSON, MSGPACK),
        Arguments.of("text/html,application/xhtml+xml,*/*;q=0.8", JSON, JSON));
  }

  @ParameterizedTest
  @MethodSource("media")
  void query_accept_choosesTheReplysType(String accept, String contentType, String wanted) {
    register(vllm("a", 0, 2101));
    boolean packed = contentType != null && contentType.toLowerCase().contains("msgpack");
    byte[] body = packed ? Api.msgpack(QUERY) : Api.json(QUERY);
    Stream<String> accepts = accept == null ? Stream.of() : Stream.of("Accept", accept);
    Stream<String> types =
        contentType == null ? Stream.of() : Stream.of("Content-Type", contentType);

    Reply reply =
        Api.send("POST", "/query", body, Stream.concat(accepts, types).toArray(String[]::new));

    assertOk(reply, A_WITHOUT_HIT);
    assertThat(reply.type()).isEqualTo(wanted);
  }

  @Test
  void query_acceptOnTwoLines_isOneList() {
    Reply reply =
        Api.send("POST", "/query", Api.json(QUERY), "Accept", "text/html", "Accept", MSGPACK);
    assertOk(reply, NOBODY);
    assertThat(reply.type()).isEqualTo(MSGPACK);
  }

  @ParameterizedTest
  @CsvSource({
    "/services, '', application/json",
    "/services, */*, application/json",
    "/services, application/msgpack, application/msgpack",
    "/services, application/x-msgpack, application/msgpack",
    "/global_view, '', application/json",
    "/global_view, application/vnd.msgpack, application/msgpack",
    "/global_view, 'application/json;q=0.5, application/msgpack', application/msgpack"
  })
  void views_accept_choosesTheReplysType(String path, String accept, String wanted) {
    register(vllm("a", 0, 2101));
    JsonNode json = Api.get(path).body();
    Reply reply = accept.isEmpty() ? Api.get(path) : Api.get(path, "Accept", accept);
    assertOk(reply, json);
    assertThat(reply.type()).isEqualTo(wanted);
  }

  @Test
  void everyEndpoint_speaksMessagePack() {
    Reply registered = Api.postMsgpack("/register", vllm("a", 0, 2101));
    assertOk(registered, "{\"status\":\"registered successfully\",\"instance_id\":\"a\"}");
    assertThat(registered.type()).isEqualTo(MSGPACK);
    Reply hashes = Api.postMsgpack("/query_by_hash", HASH_QUERY);
    assertOk(hashes, A_WITHOUT_HIT);
    assertThat(hashes.type()).isEqualTo(MSGPACK);
    Reply gone = Api.postMsgpack("/unregister", fields("instance_id", "a", "dp_rank", 0));
    assertThat(gone.type()).isEqualTo(MSGPACK);
  }

  // Connections

  @Test
  void connection_afterARefusal_servesTheNextRequest() throws IOException {
    String query = new String(Api.json(QUERY), StandardCharsets.UTF_8);
    try (Wire wire = new Wire()) {
      for (String type : List.of("text/plain", JSON, "application/xml", JSON)) {
        wire.text(
            "POST /query HTTP/1.1\nHost: baton\nContent-Type: %s\nContent-Length: %d\n\n"
                .formatted(type, query.length()));
        wire.text(query);
        assertThat(wire.reply().status()).isEqualTo(type.equals(JSON) ? 200 : 415);
      }
    }
  }

  @Test
  void connection_chunkedBody_isRead() throws IOException {
    String query = new String(Api.json(QUERY), StandardCharsets.UTF_8);
    try (Wire wire = new Wire()) {
      wire.text("POST /query HTTP/1.1\nHost: baton\nTransfer-Encoding: chunked\n\n");
      for (char c : query.toCharArray()) {
        wire.text("1\n" + c + "\n");
      }
      wire.text("0\n\n");
      assertOk(wire.reply(), NOBODY);
    }
  }

  @Test
  void connection_expectContinue_isToldToContinue() throws IOException {
    String query = new String(Api.json(QUERY), StandardCharsets.UTF_8);
    try (Wire wire = new Wire()) {
      wire.text(
          "POST /query HTTP/1.1\nHost: baton\nExpect: 100-continue\nContent-Length: %d\n\n"
              .formatted(query.length()));
      assertThat(wire.reply().status()).isEqualTo(100);
      wire.text(query);
      assertOk(wire.reply(), NOBODY);
    }
  }

  @Test
  void connection_pipelinedRequests_areAnsweredInOrder() throws IOException {
    String query = new String(Api.json(QUERY), StandardCharsets.UTF_8);
    String post =
        "POST /query HTTP/1.1\nHost: baton\nContent-Length: %d\n\n%s"
            .formatted(query.length(), query);
    try (Wire wire = new Wire()) {
      wire.text(post + "GET /services HTTP/1.1\nHost: baton\n\n" + post);
      assertOk(wire.reply(), NOBODY);
      assertOk(wire.reply(), "{\"count\":0,\"services\":[]}");
      assertOk(wire.reply(), NOBODY);
    }
  }

  @Test
  void client_breakingOffInMidBody_registersNothing() throws IOException {
    byte[] body = Api.json(vllm("a", 0, 2101));
    for (int i = 0; i < 20; i++) {
      try (Wire wire = new Wire()) {
        wire.text(
            "POST /register HTTP/1.1\nHost: baton\nContent-Length: %d\n\n"
                .formatted(body.length + 1));
        wire.bytes(body);
      }
    }
    assertNothingRegistered();
  }

  @Test
  void client_breakingOffInLargeBodies_leavesTheirMemoryToOthers() throws IOException {
    // More than the 512 MiB that all bodies together may take, though the sockets hold some back.
    int length = 60 << 20;
    for (int i = 0; i < 10; i++) {
      try (Wire wire = new Wire()) {
        wire.text(
            "POST /query HTTP/1.1\nHost: baton\nContent-Length: %d\n\n".formatted(length + 1));
        wire.filler(length);
      }
    }
    await()
        .atMost(Api.PATIENCE)
        .untilAsserted(() -> assertThat(Api.post("/query", QUERY).status()).isEqualTo(200));
  }

  // What is there for operators

  @Test
  void health_isUpWithFacts() {
    register(vllm("a", 0, 2101));
    for (String path : List.of("/q/health", "/q/health/ready", "/q/health/live")) {
      Reply reply = Api.get(path);
      assertThat(reply.status()).isEqualTo(200);
      assertThat(reply.body().get("status").textValue()).isEqualTo("UP");
    }
    Map<String, JsonNode> facts = new TreeMap<>();
    for (JsonNode check : Api.get("/q/health/ready").body().get("checks")) {
      facts.put(check.get("name").textValue(), check.path("data"));
    }
    assertThat(facts.get("conductor").get("contexts").intValue()).isEqualTo(1);
    assertThat(facts.get("publishers").get("configured").intValue()).isZero();
    assertThat(facts.get("configuration").get("state").textValue()).isEqualTo("applied");
  }

  @Test
  void metrics_tellQueriesEventsPublishersAndBlocks() {
    register(vllm("a", 0, 2101));
    double before = sample("baton_query_seconds_count{outcome=\"miss\"}");
    double refused = sample("baton_query_seconds_count{outcome=\"refused\"}");
    Api.post("/query", QUERY);
    Api.post("/query", without(QUERY, "model"));

    assertThat(sample("baton_query_seconds_count{outcome=\"miss\"}")).isEqualTo(before + 1);
    assertThat(sample("baton_query_seconds_count{outcome=\"refused\"}")).isEqualTo(refused + 1);
    assertThat(sample("baton_blocks")).isEqualTo(0);
    assertThat(sample("baton_contexts")).isEqualTo(1);
    String metrics = Api.get("/q/metrics").text();
    assertThat(metrics).contains("baton_events_total{").contains("type=\"vLLM\"");
    double publishers =
        metrics
            .lines()
            .filter(line -> line.startsWith("baton_publishers{"))
            .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))))
            .sum();
    assertThat(publishers).isEqualTo(1);
  }

  private static double sample(String name) {
    return Api.get("/q/metrics")
        .text()
        .lines()
        .filter(line -> line.startsWith(name + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length())))
        .findFirst()
        .orElseThrow(() -> new AssertionError(name + " is no sample of /q/metrics"));
  }

  @Test
  void openapiAndItsPage_areServed() {
    assertThat(Api.get("/q/openapi").status()).isEqualTo(200);
    Reply page = Api.get("/q/swagger-ui/");
    assertThat(page.status()).isEqualTo(200);
    assertThat(page.type()).isEqualTo("text/html");
  }
}
