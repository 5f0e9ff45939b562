package baton.it;

import static baton.it.Api.JSON;
import static baton.it.Api.MSGPACK;
import static baton.it.Api.fields;
import static baton.it.Api.msgpack;
import static baton.it.Api.vllm;
import static baton.it.Api.with;
import static baton.it.Api.without;
import static org.assertj.core.api.Assertions.assertThat;

import baton.it.Api.Reply;
import com.fasterxml.jackson.databind.JsonNode;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What the Conductor refuses, in both formats: status, reason, field and index of each refusal, and
 * that none of them changed anything.
 */
@QuarkusIntegrationTest
class BadInputIT {
  private static final String REGISTER = "/register";
  private static final String UNREGISTER = "/unregister";
  private static final String QUERY = "/query";
  private static final String BY_HASH = "/query_by_hash";

  private static final int MAX_BODY_BYTES = 67108864;
  private static final BigInteger TWO_TO_63 = BigInteger.TWO.pow(63);
  private static final BigInteger TWO_TO_64 = BigInteger.TWO.pow(64);

  /** Registered all the time. */
  private static final Map<String, Object> HELD = vllm("held", 0, 2200);

  private static final Map<String, Object> PUBLISHER = vllm("a", 0, 2201);
  private static final Map<String, Object> KEY = fields("instance_id", "held", "dp_rank", 0);
  private static final Map<String, Object> TOKENS =
      fields("model", "m", "block_size", 4, "token_ids", List.of(1, 2, 3, 4));
  private static final Map<String, Object> HASHES =
      fields("model", "m", "block_size", 4, "seq_hashes", List.of(1, 2));

  /**
   * A request that must be refused.
   *
   * @param media the refusal's media type
   * @param field at fault, or null
   * @param index of the field's element at fault, or null
   */
  record Row(
      String name,
      String method,
      String path,
      String[] headers,
      byte[] body,
      String media,
      int status,
      String reason,
      String field,
      Integer index) {
    @Override
    public String toString() {
      return method + " " + path + ": " + name + " -> " + status + " " + reason;
    }
  }

  private static Row row(
      String name,
      String path,
      String media,
      byte[] body,
      String reason,
      String field,
      Integer index) {
    String[] headers = {"Content-Type", media};
    return new Row(name, "POST", path, headers, body, media, 400, reason, field, index);
  }

  private static Row json(String name, String path, String body, String reason) {
    return json(name, path, body, reason, null, null);
  }

  private static Row json(
      String name, String path, String body, String reason, String field, Integer index) {
    return row(name, path, JSON, utf8(body), reason, field, index);
  }

  private static Row packed(String name, String path, byte[] body, String reason) {
    return row("packed " + name, path, MSGPACK, body, reason, null, null);
  }

  /** The same request in both formats. */
  private static Stream<Row> both(
      String name, String path, Map<String, Object> body, String reason, String field) {
    return both(name, path, body, reason, field, null);
  }

  private static Stream<Row> both(
      String name,
      String path,
      Map<String, Object> body,
      String reason,
      String field,
      Integer index) {
    return Stream.of(
        row(name, path, JSON, Api.json(body), reason, field, index),
        row("packed " + name, path, MSGPACK, msgpack(body), reason, field, index));
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] hex(String hex) {
    return HexFormat.of().parseHex(hex.replace(" ", ""));
  }

  private static byte[] concat(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }

  @BeforeEach
  void registerHeld() {
    assertThat(Api.post(REGISTER, HELD).status()).isEqualTo(200);
  }

  @AfterEach
  void unregisterAll() {
    Api.unregisterAll();
  }

  static Stream<Row> rows() {
    return Stream.of(
            broken(),
            brokenJson(),
            brokenMsgpack(),
            missing(),
            wrongTypes(),
            unknownFields(),
            values(),
            endpoints(),
            hashProfiles(),
            tokens(),
            tokensInJson(),
            tokensInMsgpack(),
            hashes(),
            conflicts(),
            headers(),
            paths())
        .flatMap(s -> s);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("rows")
  void request_bad_isRefusedAndChangesNothing(Row row) {
    JsonNode services = Api.get("/services").body();
    JsonNode view = Api.get("/global_view").body();

    Reply reply = Api.send(row.method, row.path, row.body, row.headers);

    assertThat(reply.status()).as(row + ": " + reply.text()).isEqualTo(row.status);
    assertRefusal(reply, row.media, row.reason, row.field, row.index);
    assertThat(Api.get("/services").body()).isEqualTo(services);
    assertThat(Api.get("/global_view").body()).isEqualTo(view);
  }

  private static void assertRefusal(
      Reply reply, String media, String reason, String field, Integer index) {
    assertNoInternals(reply);
    assertThat(reply.type()).isEqualTo(media);
    JsonNode body = reply.body();
    assertThat(body.path("reason").textValue()).as(reply.text()).isEqualTo(reason);
    assertThat(body.path("field").textValue()).as(reply.text()).isEqualTo(field);
    if (index == null) {
      assertThat(body.has("index")).as(reply.text()).isFalse();
    } else {
      assertThat(body.path("index").isInt()).as(reply.text()).isTrue();
      assertThat(body.get("index").intValue()).isEqualTo(index);
    }
    assertThat(body.path("error").asText()).isNotBlank();
    TreeSet<String> keys = new TreeSet<>();
    body.fieldNames().forEachRemaining(keys::add);
    assertThat(keys).isSubsetOf("error", "reason", "field", "index");
  }

  private static void assertNoInternals(Reply reply) {
    assertThat(reply.text())
        .doesNotContain("java.", "io.quarkus", "io.vertx", "baton.", "Exception", "\tat ")
        .hasSizeLessThan(1000);
  }

  // Bodies that are no document

  static Stream<Row> broken() {
    return Stream.of(REGISTER, UNREGISTER, QUERY, BY_HASH)
        .flatMap(
            path ->
                Stream.of(
                    json("empty body", path, "", "invalid_json"),
                    json("only white space", path, " \n\t", "invalid_json"),
                    json("root array", path, "[]", "invalid_json"),
                    json("root null", path, "null", "invalid_json"),
                    json("trailing brace", path, json(path) + "}", "invalid_json"),
                    json("second document", path, json(path) + " {}", "invalid_json"),
                    json("cut off", path, json(path).replaceAll(".$", ""), "invalid_json"),
                    packed("empty body", path, new byte[0], "invalid_msgpack"),
                    packed("root array", path, hex("90"), "invalid_msgpack"),
                    packed("root nil", path, hex("c0"), "invalid_msgpack"),
                    packed(
                        "trailing byte",
                        path,
                        concat(msgpack(valid(path)), hex("c0")),
                        "invalid_msgpack"),
                    packed(
                        "cut off",
                        path,
                        Arrays.copyOf(msgpack(valid(path)), msgpack(valid(path)).length - 1),
                        "invalid_msgpack")));
  }

  private static Map<String, Object> valid(String path) {
    return switch (path) {
      case REGISTER -> PUBLISHER;
      case UNREGISTER -> KEY;
      case QUERY -> TOKENS;
      default -> HASHES;
    };
  }

  private static String json(String path) {
    return new String(Api.json(valid(path)), StandardCharsets.UTF_8);
  }

  static Stream<Row> brokenJson() {
    String tail = "\"block_size\":4,\"token_ids\":[1]}";
    return Stream.of(
        json("root string", QUERY, "\"model\"", "invalid_json"),
        json("root number", QUERY, "1", "invalid_json"),
        json("byte order mark", QUERY, "\uFEFF" + json(QUERY), "invalid_json"),
        row(
            "UTF-16",
            QUERY,
            JSON,
            json(QUERY).getBytes(StandardCharsets.UTF_16),
            "invalid_json",
            null,
            null),
        row(
            "Latin-1 text",
            QUERY,
            JSON,
            ("{\"model\":\"\u00e4\"," + tail).getBytes(StandardCharsets.ISO_8859_1),
            "invalid_json",
            null,
            null),
        row(
            "overlong UTF-8",
            QUERY,
            JSON,
            concat(utf8("{\"model\":\""), hex("c0af"), utf8("\"," + tail)),
            "invalid_json",
            null,
            null),
        row(
            "surrogate in UTF-8",
            QUERY,
            JSON,
            concat(utf8("{\"model\":\""), hex("eda080"), utf8("\"," + tail)),
            "invalid_json",
            null,
            null),
        row(
            "field name not UTF-8",
            QUERY,
            JSON,
            concat(utf8("{\""), hex("ff"), utf8("\":1}")),
            "invalid_json",
            null,
            null),
        json("half a surrogate pair", QUERY, "{\"model\":\"\\ud800\"," + tail, "invalid_json"),
        json("unknown escape", QUERY, "{\"model\":\"\\x\"," + tail, "invalid_json"),
        json("short escape", QUERY, "{\"model\":\"\\u12\"," + tail, "invalid_json"),
        json("control character", QUERY, "{\"model\":\"a\nb\"," + tail, "invalid_json"),
        json("open string", QUERY, "{\"model\":\"a", "invalid_json"),
        json("single quotes", QUERY, "{'model':'m'," + tail, "invalid_json"),
        json("number as key", QUERY, "{1:2," + tail, "invalid_json"),
        json("no quotes", QUERY, "{model:\"m\"," + tail, "invalid_json"),
        json("comment", QUERY, "/**/{\"model\":\"m\"," + tail, "invalid_json"),
        json("comma before the end", QUERY, "{\"model\":\"m\",}", "invalid_json"),
        json("two commas", QUERY, "{\"model\":\"m\",," + tail, "invalid_json"),
        json("no colon", QUERY, "{\"model\" \"m\"," + tail, "invalid_json"),
        json(
            "twice the same field",
            QUERY,
            "{\"model\":\"m\",\"model\":\"m\"," + tail,
            "invalid_json"),
        json(
            "twice, once escaped",
            QUERY,
            "{\"model\":\"m\",\"mod\\u0065l\":\"m\"," + tail,
            "invalid_json"),
        json(
            "twice the tokens",
            QUERY,
            "{\"token_ids\":[1],\"model\":\"m\"," + tail,
            "invalid_json"),
        json(
            "twice in the hash profile",
            REGISTER,
            "{\"hash_profile\":{\"strategy\":\"vllm_v1\",\"strategy\":\"vllm_v1\"}}",
            "invalid_json"),
        json("deep root", QUERY, "[".repeat(100_000), "invalid_json"),
        json("block_size with leading zero", QUERY, jsonWith("block_size", "04"), "invalid_json"),
        json("block_size NaN", QUERY, jsonWith("block_size", "NaN"), "invalid_json"),
        json("block_size +4", QUERY, jsonWith("block_size", "+4"), "invalid_json"),
        json("block_size -", QUERY, jsonWith("block_size", "-"), "invalid_json"),
        json("block_size 4.", QUERY, jsonWith("block_size", "4."), "invalid_json"),
        json("block_size 4e", QUERY, jsonWith("block_size", "4e"), "invalid_json"),
        json("block_size hex", QUERY, jsonWith("block_size", "0x4"), "invalid_json"));
  }

  /** A query whose one field has that very text as its value. */
  private static String jsonWith(String field, String value) {
    String text = json(QUERY);
    return text.replaceAll("\"" + field + "\":(\\[.*]|[^,}]*)", "\"" + field + "\":" + value);
  }

  static Stream<Row> brokenMsgpack() {
    byte[] model = concat(hex("a5"), utf8("model"));
    byte[] tokenIds = concat(hex("83 a5"), utf8("model"), hex("a16d aa"), utf8("block_size"));
    byte[] tokensNext = concat(tokenIds, hex("04 a9"), utf8("token_ids"));
    return Stream.of(
        packed("root string", QUERY, hex("a0"), "invalid_msgpack"),
        packed("JSON", QUERY, utf8(json(QUERY)), "invalid_msgpack"),
        packed("0xc1", QUERY, hex("c1"), "invalid_msgpack"),
        packed("0xc1 as a key", QUERY, hex("81c1"), "invalid_msgpack"),
        packed("0xc1 as a value", QUERY, concat(hex("81"), model, hex("c1")), "invalid_msgpack"),
        packed("0xc1 as tokens", QUERY, concat(tokensNext, hex("c1")), "invalid_msgpack"),
        packed("0xc1 as a token", QUERY, concat(tokensNext, hex("91c1")), "invalid_msgpack"),
        packed("root ext", QUERY, hex("d40100"), "invalid_msgpack"),
        packed("integer as key", QUERY, hex("810102"), "invalid_msgpack"),
        packed("nil as key", QUERY, hex("81c001"), "invalid_msgpack"),
        packed(
            "bin as key",
            QUERY,
            concat(hex("81c405"), utf8("model"), hex("a16d")),
            "invalid_msgpack"),
        packed("map as key", QUERY, hex("818001"), "invalid_msgpack"),
        packed("key not UTF-8", QUERY, hex("81a1ff01"), "invalid_msgpack"),
        packed("text not UTF-8", QUERY, concat(hex("81"), model, hex("a1ff")), "invalid_msgpack"),
        packed(
            "twice the same field",
            QUERY,
            concat(hex("82"), model, hex("a16d"), model, hex("a16d")),
            "invalid_msgpack"),
        packed("map of 2^32-1", QUERY, hex("dfffffffff"), "invalid_msgpack"),
        packed("map of 2^16-1", QUERY, hex("deffff"), "invalid_msgpack"),
        packed("map header cut off", QUERY, hex("dfff"), "invalid_msgpack"),
        packed("string key of 2^32-1", QUERY, hex("81dbffffffff"), "invalid_msgpack"),
        packed(
            "string of 2^32-1",
            QUERY,
            concat(hex("81"), model, hex("dbffffffff")),
            "invalid_msgpack"),
        packed("array of 2^32-1", QUERY, concat(tokensNext, hex("ddffffffff")), "invalid_msgpack"),
        packed("array of 2^31", QUERY, concat(tokensNext, hex("dd80000000")), "invalid_msgpack"),
        packed("array of 2^16-1", QUERY, concat(tokensNext, hex("dcffff01")), "invalid_msgpack"),
        packed("bin of 2^32-1", QUERY, concat(tokensNext, hex("c6ffffffff")), "invalid_msgpack"),
        packed("bin of 2^31-4", QUERY, concat(tokensNext, hex("c67ffffffc00")), "invalid_msgpack"),
        packed("bin cut off", QUERY, concat(tokensNext, hex("c40801000000")), "invalid_msgpack"),
        packed("token cut off", QUERY, concat(tokensNext, hex("91d20000")), "invalid_msgpack"),
        packed("deep root", QUERY, hex("81".repeat(100_000)), "invalid_msgpack"),
        row(
            "packed deep tokens",
            QUERY,
            MSGPACK,
            concat(tokensNext, hex("91".repeat(100_000))),
            "invalid_type",
            "token_ids",
            0),
        packed(
            "hash profile of 2^32-1",
            REGISTER,
            concat(hex("81ac"), utf8("hash_profile"), hex("dfffffffff")),
            "invalid_msgpack"),
        packed(
            "integer as key of the hash profile",
            REGISTER,
            concat(hex("81ac"), utf8("hash_profile"), hex("810101")),
            "invalid_msgpack"));
  }

  // Fields

  static Stream<Row> missing() {
    Stream<Row> registering =
        Stream.of(
                "endpoint",
                "type",
                "modelname",
                "instance_id",
                "block_size",
                "dp_rank",
                "hash_profile",
                "hash_profile.strategy",
                "hash_profile.algorithm",
                "hash_profile.python_hash_seed",
                "hash_profile.index_projection")
            .flatMap(f -> both("no " + f, REGISTER, without(PUBLISHER, f), "missing", f));
    Stream<Row> unregistering =
        Stream.of("instance_id", "dp_rank")
            .flatMap(f -> both("no " + f, UNREGISTER, without(KEY, f), "missing", f));
    Stream<Row> querying =
        Stream.of("model", "block_size", "token_ids")
            .flatMap(f -> both("no " + f, QUERY, without(TOKENS, f), "missing", f));
    Stream<Row> hashing =
        Stream.of("model", "block_size", "seq_hashes")
            .flatMap(f -> both("no " + f, BY_HASH, without(HASHES, f), "missing", f));
    return Stream.of(registering, unregistering, querying, hashing).flatMap(s -> s);
  }

  static Stream<Row> wrongTypes() {
    List<Row> rows = new ArrayList<>();
    for (String field : List.of("endpoint", "type", "modelname", "instance_id")) {
      wrong(rows, REGISTER, field, 7, true, 1.5, null, List.of(), Map.of());
    }
    for (String field : List.of("replay_endpoint", "lora_name", "tenant_id")) {
      wrong(rows, REGISTER, field, 7, false, null, List.of("x"));
    }
    for (String field : List.of("block_size", "dp_rank")) {
      wrong(rows, REGISTER, field, true, 1.0, 1.5, "4", null, List.of(4), Map.of());
    }
    wrong(rows, REGISTER, "cache_group", false, 0.0, "0", List.of(0));
    wrong(rows, REGISTER, "hash_profile", "vllm_v1", 1, true, null, List.of());
    for (String key : List.of("strategy", "algorithm", "python_hash_seed", "index_projection")) {
      wrong(rows, REGISTER, "hash_profile." + key, 0, true, null, List.of("x"), Map.of());
    }
    wrong(rows, UNREGISTER, "instance_id", 7, true, null, List.of());
    wrong(rows, UNREGISTER, "tenant_id", 7, true, null);
    wrong(rows, UNREGISTER, "dp_rank", true, 0.0, "0", null, List.of(0));
    for (String path : List.of(QUERY, BY_HASH)) {
      for (String field : List.of("model", "lora_name", "tenant_id", "instance_id")) {
        wrong(rows, path, field, 7, true, 1.5, null, List.of());
      }
      wrong(rows, path, "cache_salt", 7, false, List.of("x"));
      wrong(rows, path, "block_size", true, 4.0, "4", null, List.of(4));
    }
    wrong(rows, QUERY, "token_ids", "1,2", 5, true, null, Map.of(), 1.5);
    wrong(rows, BY_HASH, "seq_hashes", "1,2", 5, true, null, Map.of(), 1.5);
    wrong(rows, BY_HASH, "block_hash", "1,2", 5, true, null, Map.of(), 1.5);
    return rows.stream();
  }

  private static void wrong(List<Row> rows, String path, String field, Object... values) {
    Map<String, Object> base =
        field.equals("block_hash") ? without(HASHES, "seq_hashes") : valid(path);
    for (Object value : values) {
      both(field + " " + value, path, with(base, field, value), "invalid_type", field)
          .forEach(rows::add);
    }
  }

  static Stream<Row> unknownFields() {
    return Stream.of(
            both("unknown", QUERY, with(TOKENS, "tokens", 1), "unknown_field", "tokens"),
            both("modelname", QUERY, with(TOKENS, "modelname", "m"), "unknown_field", "modelname"),
            both(
                "hashes",
                QUERY,
                with(TOKENS, "seq_hashes", List.of()),
                "unknown_field",
                "seq_hashes"),
            both("upper case", QUERY, with(TOKENS, "Model", "m"), "unknown_field", "Model"),
            both("empty name", QUERY, with(TOKENS, "", null), "unknown_field", ""),
            both(
                "tokens",
                BY_HASH,
                with(HASHES, "token_ids", List.of()),
                "unknown_field",
                "token_ids"),
            both("unknown", UNREGISTER, with(KEY, "endpoint", "x"), "unknown_field", "endpoint"),
            both(
                "model_name",
                REGISTER,
                with(PUBLISHER, "model_name", "m"),
                "unknown_field",
                "model_name"),
            both("model", REGISTER, with(PUBLISHER, "model", "m"), "unknown_field", "model"),
            both(
                "root_digest",
                REGISTER,
                with(PUBLISHER, "hash_profile.root_digest", "0".repeat(64)),
                "unknown_field",
                "hash_profile.root_digest"),
            both(
                "unknown in the hash profile",
                REGISTER,
                with(PUBLISHER, "hash_profile.seed", "0"),
                "unknown_field",
                "hash_profile.seed"),
            both(
                "deep unknown",
                QUERY,
                with(TOKENS, "x", List.of(List.of(List.of(Map.of("a", List.of()))))),
                "unknown_field",
                "x"),
            both(
                "long unknown",
                QUERY,
                with(TOKENS, "x".repeat(100_000), 1),
                "unknown_field",
                "x".repeat(64) + "…"))
        .flatMap(s -> s);
  }

  // Values

  static Stream<Row> values() {
    return Stream.of(
            both(
                "empty modelname",
                REGISTER,
                with(PUBLISHER, "modelname", ""),
                "invalid_value",
                "modelname"),
            both(
                "empty instance_id",
                REGISTER,
                with(PUBLISHER, "instance_id", ""),
                "invalid_value",
                "instance_id"),
            both("type vllm", REGISTER, with(PUBLISHER, "type", "vllm"), "invalid_value", "type"),
            both(
                "type SGLANG",
                REGISTER,
                with(PUBLISHER, "type", "SGLANG"),
                "invalid_value",
                "type"),
            both("empty type", REGISTER, with(PUBLISHER, "type", ""), "invalid_value", "type"),
            both(
                "block_size 0",
                REGISTER,
                with(PUBLISHER, "block_size", 0),
                "out_of_range",
                "block_size"),
            both(
                "block_size -1",
                REGISTER,
                with(PUBLISHER, "block_size", -1),
                "out_of_range",
                "block_size"),
            both(
                "block_size 2^63",
                REGISTER,
                with(PUBLISHER, "block_size", TWO_TO_63),
                "out_of_range",
                "block_size"),
            both("dp_rank -1", REGISTER, with(PUBLISHER, "dp_rank", -1), "out_of_range", "dp_rank"),
            both(
                "dp_rank 2^31",
                REGISTER,
                with(PUBLISHER, "dp_rank", 1L << 31),
                "out_of_range",
                "dp_rank"),
            both(
                "dp_rank 2^63",
                REGISTER,
                with(PUBLISHER, "dp_rank", TWO_TO_63),
                "out_of_range",
                "dp_rank"),
            both(
                "cache_group 1",
                REGISTER,
                with(PUBLISHER, "cache_group", 1),
                "unsupported",
                "cache_group"),
            both(
                "cache_group -1",
                REGISTER,
                with(PUBLISHER, "cache_group", -1),
                "unsupported",
                "cache_group"),
            both("dp_rank -1", UNREGISTER, with(KEY, "dp_rank", -1), "out_of_range", "dp_rank"),
            both(
                "dp_rank 2^31",
                UNREGISTER,
                with(KEY, "dp_rank", 1L << 31),
                "out_of_range",
                "dp_rank"),
            both(
                "dp_rank 2^32",
                UNREGISTER,
                with(KEY, "dp_rank", 1L << 32),
                "out_of_range",
                "dp_rank"),
            both("empty model", QUERY, with(TOKENS, "model", ""), "invalid_value", "model"),
            both(
                "block_size 0", QUERY, with(TOKENS, "block_size", 0), "out_of_range", "block_size"),
            both(
                "block_size -1",
                QUERY,
                with(TOKENS, "block_size", -1),
                "out_of_range",
                "block_size"),
            both(
                "block_size 2^63",
                QUERY,
                with(TOKENS, "block_size", TWO_TO_63),
                "out_of_range",
                "block_size"),
            both("empty model", BY_HASH, with(HASHES, "model", ""), "invalid_value", "model"),
            both(
                "block_size 0",
                BY_HASH,
                with(HASHES, "block_size", 0),
                "out_of_range",
                "block_size"),
            both(
                "both names",
                BY_HASH,
                with(HASHES, "block_hash", List.of(1, 2)),
                "invalid_value",
                "block_hash"),
            Stream.of(
                json(
                    "block_size of 100,000 digits",
                    QUERY,
                    jsonWith("block_size", "9".repeat(100_000)),
                    "out_of_range",
                    "block_size",
                    null),
                json(
                    "block_size 4e0",
                    QUERY,
                    jsonWith("block_size", "4e0"),
                    "invalid_type",
                    "block_size",
                    null)))
        .flatMap(s -> s);
  }

  static Stream<Row> endpoints() {
    return Stream.of(
            "",
            " ",
            "http://x",
            "host:5557",
            "tcp://",
            "tcp://host",
            "tcp://host:",
            "tcp://:5557",
            "tcp://host:0",
            "tcp://host:99999",
            "tcp://host:65536",
            "tcp://host:-1",
            "tcp://host:5557/x",
            "tcp://ho st:5557",
            " tcp://host:5557",
            "tcp://0.0.0.0:0;127.0.0.1:5557",
            "ipc://",
            "inproc://x",
            "udp://host:5557",
            "file:///etc/passwd",
            // link-local addresses, by all their spellings
            "tcp://169.254.169.254:80",
            "tcp://169.254.1.1:80",
            "tcp://2851995905:80",
            "tcp://169.16646401:80",
            "tcp://[::ffff:169.254.1.1]:80",
            "tcp://[fe80::1]:80",
            "tcp://[FE90:0:0:0:0:0:0:1]:80")
        .flatMap(
            endpoint ->
                Stream.of("endpoint", "replay_endpoint")
                    .filter(field -> field.equals("endpoint") || !endpoint.isEmpty())
                    .flatMap(
                        field ->
                            both(
                                field + " \"" + endpoint + "\"",
                                REGISTER,
                                with(PUBLISHER, field, endpoint),
                                "invalid_value",
                                field)));
  }

  static Stream<Row> hashProfiles() {
    Stream<Row> combinations =
        Stream.of(
                profile("unsupported", "strategy", "vllm", "sha256", "0", "low64_be"),
                profile("unsupported", "strategy", "", "sha256", "0", "low64_be"),
                profile("unsupported", "strategy", "VLLM_V1", "sha256", "0", "low64_be"),
                profile("unsupported", "algorithm", "vllm_v1", "sha256_raw", "0", "low64_be"),
                profile("unsupported", "algorithm", "vllm_v1", "xxhash", "0", "low64_be"),
                profile("unsupported", "algorithm", "vllm_v1", "", "0", "low64_be"),
                profile("unsupported", "index_projection", "vllm_v1", "sha256", "0", "first64_be"),
                profile("unsupported", "index_projection", "vllm_v1", "sha256_cbor", "0", ""),
                profile("unsupported", "algorithm", "sglang", "sha256", "0", "first64_be"),
                profile("unsupported", "index_projection", "sglang", "sha256_raw", "0", "low64_be"),
                profile(
                    "unsupported", "algorithm", "sglang_bigram", "sha256_cbor", "0", "first64_be"),
                profile(
                    "unsupported",
                    "index_projection",
                    "sglang_bigram",
                    "sha256_raw",
                    "0",
                    "low64_be"))
            .flatMap(s -> s);
    Stream<Row> seeds =
        Stream.of(
                "",
                "4294967296",
                "-1",
                "+1",
                " 0",
                "0 ",
                "1.0",
                "0x10",
                "Random",
                "\u0663",
                "9".repeat(1000))
            .flatMap(
                seed ->
                    profile(
                        "invalid_value",
                        "python_hash_seed",
                        "vllm_v1",
                        "sha256",
                        seed,
                        "low64_be"));
    return Stream.concat(combinations, seeds);
  }

  private static Stream<Row> profile(
      String reason,
      String field,
      String strategy,
      String algorithm,
      String seed,
      String projection) {
    Map<String, Object> profile =
        fields(
            "strategy", strategy,
            "algorithm", algorithm,
            "python_hash_seed", seed,
            "index_projection", projection);
    String name =
        String.join(" ", strategy, algorithm, seed.length() > 20 ? "long" : seed, projection);
    Map<String, Object> publisher = with(PUBLISHER, "hash_profile", profile);
    return both(name, REGISTER, publisher, reason, "hash_profile." + field);
  }

  // Elements

  static Stream<Row> tokens() {
    return Stream.of(
            element(QUERY, "2^31", 1L << 31, "out_of_range"),
            element(QUERY, "-2^31-1", -(1L << 31) - 1, "out_of_range"),
            element(QUERY, "2^32+1", (1L << 32) + 1, "out_of_range"),
            element(QUERY, "2^63", TWO_TO_63, "out_of_range"),
            element(QUERY, "1.5", 1.5, "invalid_type"),
            element(QUERY, "1.0", 1.0, "invalid_type"),
            element(QUERY, "\"7\"", "7", "invalid_type"),
            element(QUERY, "null", null, "invalid_type"),
            element(QUERY, "true", true, "invalid_type"),
            element(QUERY, "[7]", List.of(7), "invalid_type"),
            element(QUERY, "{}", Map.of(), "invalid_type"))
        .flatMap(s -> s);
  }

  static Stream<Row> hashes() {
    return Stream.of(
            element(BY_HASH, "-1", -1, "out_of_range"),
            element(BY_HASH, "-2^63", Long.MIN_VALUE, "out_of_range"),
            element(BY_HASH, "1.5", 1.5, "invalid_type"),
            element(BY_HASH, "\"7\"", "7", "invalid_type"),
            element(BY_HASH, "null", null, "invalid_type"),
            element(BY_HASH, "true", true, "invalid_type"),
            element(BY_HASH, "[7]", List.of(7), "invalid_type"),
            Stream.of(
                jsonElement(BY_HASH, "2^64", TWO_TO_64.toString(), "out_of_range"),
                jsonElement(BY_HASH, "digits", "9".repeat(100_000), "out_of_range"),
                jsonElement(BY_HASH, "1e3", "1e3", "invalid_type"),
                json("leading zero", BY_HASH, elements(BY_HASH, "01"), "invalid_json"),
                json("NaN", BY_HASH, elements(BY_HASH, "NaN"), "invalid_json"),
                json(
                    "block_hash 2^64",
                    BY_HASH,
                    elements(BY_HASH, TWO_TO_64.toString()).replace("seq_hashes", "block_hash"),
                    "out_of_range",
                    "block_hash",
                    2),
                row(
                    "packed bin",
                    BY_HASH,
                    MSGPACK,
                    msgpack(with(HASHES, "seq_hashes", new byte[8])),
                    "invalid_type",
                    "seq_hashes",
                    null)))
        .flatMap(s -> s);
  }

  /** That element after two good ones. */
  private static Stream<Row> element(String path, String name, Object element, String reason) {
    String field = path.equals(QUERY) ? "token_ids" : "seq_hashes";
    List<Object> elements = Arrays.asList(1, 2, element, 3);
    return both("element " + name, path, with(valid(path), field, elements), reason, field, 2);
  }

  private static Row jsonElement(String path, String name, String element, String reason) {
    String field = path.equals(QUERY) ? "token_ids" : "seq_hashes";
    return json("element " + name, path, elements(path, element), reason, field, 2);
  }

  private static String elements(String path, String element) {
    return json(path).replaceAll("\\[.*]", "[1, 2, " + element + ", 3]");
  }

  static Stream<Row> tokensInJson() {
    return Stream.of(
        jsonElement(QUERY, "1e3", "1e3", "invalid_type"),
        jsonElement(QUERY, "1E+3", "1E+3", "invalid_type"),
        jsonElement(QUERY, "-0.0", "-0.0", "invalid_type"),
        jsonElement(QUERY, "100,000 digits", "9".repeat(100_000), "out_of_range"),
        jsonElement(QUERY, "-100,000 digits", "-" + "9".repeat(100_000), "out_of_range"),
        jsonElement(QUERY, "2^64+1", TWO_TO_64.add(BigInteger.ONE).toString(), "out_of_range"),
        jsonElement(QUERY, "deep", "[".repeat(100_000), "invalid_type"),
        json("token 01", QUERY, elements(QUERY, "01"), "invalid_json"),
        json("token 00", QUERY, elements(QUERY, "00"), "invalid_json"),
        json("token -01", QUERY, elements(QUERY, "-01"), "invalid_json"),
        json("token -", QUERY, elements(QUERY, "-"), "invalid_json"),
        json("token +1", QUERY, elements(QUERY, "+1"), "invalid_json"),
        json("token .5", QUERY, elements(QUERY, ".5"), "invalid_json"),
        json("token 1.", QUERY, elements(QUERY, "1."), "invalid_json"),
        json("token 1e", QUERY, elements(QUERY, "1e"), "invalid_json"),
        json("token NaN", QUERY, elements(QUERY, "NaN"), "invalid_json"),
        json("token Infinity", QUERY, elements(QUERY, "Infinity"), "invalid_json"),
        json("token -Infinity", QUERY, elements(QUERY, "-Infinity"), "invalid_json"),
        json("token 0x1", QUERY, elements(QUERY, "0x1"), "invalid_json"),
        json("token 1_000", QUERY, elements(QUERY, "1_000"), "invalid_json"),
        json("no token", QUERY, elements(QUERY, ""), "invalid_json"),
        json("no comma", QUERY, elements(QUERY, "3 4"), "invalid_json"),
        json("comma at the end", QUERY, json(QUERY).replace("]", ",]"), "invalid_json"),
        json("comma at the start", QUERY, json(QUERY).replace("[", "[,"), "invalid_json"),
        json("open array", QUERY, "{\"token_ids\":[1,2", "invalid_json"));
  }

  static Stream<Row> tokensInMsgpack() {
    byte[] ext = concat(hex("81a9"), utf8("token_ids"), hex("d400 01"));
    byte[] extToken = concat(hex("81a9"), utf8("token_ids"), hex("92 01 d6ff00000000"));
    byte[] floatToken = concat(hex("81a9"), utf8("token_ids"), hex("92 01 ca3f800000"));
    return Stream.of(
        row("packed ext", QUERY, MSGPACK, ext, "invalid_type", "token_ids", null),
        row("packed element timestamp", QUERY, MSGPACK, extToken, "invalid_type", "token_ids", 1),
        row("packed element float32", QUERY, MSGPACK, floatToken, "invalid_type", "token_ids", 1),
        binOf(1),
        binOf(3),
        binOf(5),
        binOf(4095));
  }

  private static Row binOf(int length) {
    byte[] body = msgpack(with(TOKENS, "token_ids", new byte[length]));
    return row("packed bin of " + length, QUERY, MSGPACK, body, "invalid_value", "token_ids", null);
  }

  // What contradicts the state, the headers, the paths

  static Stream<Row> conflicts() {
    Stream<Row> conflicts =
        Stream.of(
                both(
                    "key of another endpoint",
                    REGISTER,
                    with(HELD, "endpoint", "tcp://127.0.0.1:2209"),
                    "invalid_registration",
                    null),
                both(
                    "key of another model",
                    REGISTER,
                    with(HELD, "modelname", "other"),
                    "invalid_registration",
                    null),
                both(
                    "endpoint of another key",
                    REGISTER,
                    with(HELD, "instance_id", "b"),
                    "invalid_registration",
                    "endpoint"),
                both(
                    "another seed in the context",
                    REGISTER,
                    with(PUBLISHER, "hash_profile.python_hash_seed", "1"),
                    "invalid_registration",
                    "hash_profile"))
            .flatMap(s -> s)
            .map(row -> status(409, row));
    Stream<Row> unknown =
        Stream.of(
                both(
                    "unknown instance",
                    UNREGISTER,
                    with(KEY, "instance_id", "x"),
                    "not_found",
                    null),
                both("empty instance", UNREGISTER, with(KEY, "instance_id", ""), "not_found", null),
                both("unknown rank", UNREGISTER, with(KEY, "dp_rank", 1), "not_found", null),
                both("unknown tenant", UNREGISTER, with(KEY, "tenant_id", "x"), "not_found", null))
            .flatMap(s -> s)
            .map(row -> status(404, row));
    return Stream.concat(conflicts, unknown);
  }

  private static Row status(int status, Row row) {
    return new Row(
        row.name,
        row.method,
        row.path,
        row.headers,
        row.body,
        row.media,
        status,
        row.reason,
        row.field,
        row.index);
  }

  static Stream<Row> headers() {
    byte[] body = utf8(json(QUERY));
    byte[] packed = msgpack(TOKENS);
    return Stream.of(
        unsupported(QUERY, JSON, body, "Content-Type", "text/plain"),
        unsupported(QUERY, JSON, body, "Content-Type", "text/json"),
        unsupported(QUERY, JSON, body, "Content-Type", "application/x-www-form-urlencoded"),
        unsupported(QUERY, JSON, body, "Content-Type", "multipart/form-data; boundary=x"),
        unsupported(QUERY, JSON, body, "Content-Type", "application/jsonx"),
        unsupported(QUERY, JSON, body, "Content-Type", "json"),
        unsupported(QUERY, JSON, body, "Content-Type", ";"),
        unsupported(QUERY, JSON, body, "Content-Type", "application/json; charset=iso-8859-1"),
        unsupported(QUERY, JSON, body, "Content-Type", "application/json; charset=\"utf-16\""),
        unsupported(QUERY, MSGPACK, body, "Content-Type", "text/plain", "Accept", MSGPACK),
        unsupported(REGISTER, JSON, Api.json(PUBLISHER), "Content-Type", "text/plain"),
        unsupported(UNREGISTER, JSON, Api.json(KEY), "Content-Type", "text/plain"),
        unsupported(BY_HASH, JSON, Api.json(HASHES), "Content-Type", "text/plain"),
        unsupported(QUERY, JSON, gzip(body), "Content-Type", JSON, "Content-Encoding", "gzip"),
        unsupported(QUERY, JSON, body, "Content-Type", JSON, "Content-Encoding", "br"),
        unsupported(QUERY, MSGPACK, packed, "Content-Type", MSGPACK, "Content-Encoding", "gzip"),
        notAcceptable("POST", QUERY, JSON, body, "Content-Type", JSON, "Accept", "text/html"),
        notAcceptable("POST", QUERY, JSON, body, "Content-Type", JSON, "Accept", "*/*;q=0"),
        notAcceptable("POST", QUERY, JSON, body, "Content-Type", JSON, "Accept", ";"),
        notAcceptable("POST", QUERY, JSON, body, "Accept", "image/*, text/*;q=0.5"),
        notAcceptable(
            "POST", QUERY, MSGPACK, packed, "Content-Type", MSGPACK, "Accept", "text/html"),
        notAcceptable("POST", REGISTER, JSON, Api.json(PUBLISHER), "Accept", "text/html"),
        notAcceptable("POST", UNREGISTER, JSON, Api.json(KEY), "Accept", "text/html"),
        notAcceptable("POST", BY_HASH, JSON, Api.json(HASHES), "Accept", "text/html"),
        notAcceptable("GET", "/services", JSON, null, "Accept", "text/html"),
        notAcceptable(
            "GET", "/global_view", JSON, null, "Accept", "text/html, application/json;q=0"),
        // an error comes in the type that is asked for, whatever the body's
        new Row(
            "JSON for MessagePack",
            "POST",
            QUERY,
            new String[] {"Content-Type", JSON, "Accept", MSGPACK},
            utf8("{"),
            MSGPACK,
            400,
            "invalid_json",
            null,
            null),
        new Row(
            "MessagePack for JSON",
            "POST",
            QUERY,
            new String[] {"Content-Type", MSGPACK, "Accept", JSON},
            hex("c1"),
            JSON,
            400,
            "invalid_msgpack",
            null,
            null),
        new Row(
            "no Content-Type",
            "POST",
            QUERY,
            new String[0],
            utf8("{"),
            JSON,
            400,
            "invalid_json",
            null,
            null),
        new Row(
            "no body", "POST", QUERY, new String[0], null, JSON, 400, "invalid_json", null, null));
  }

  private static Row unsupported(String path, String media, byte[] body, String... headers) {
    String name = String.join(" ", headers);
    return new Row(
        name, "POST", path, headers, body, media, 415, "unsupported_content_type", null, null);
  }

  private static Row notAcceptable(
      String method, String path, String media, byte[] body, String... headers) {
    String name = String.join(" ", headers);
    return new Row(name, method, path, headers, body, media, 406, "not_acceptable", null, null);
  }

  private static byte[] gzip(byte[] bytes) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(out)) {
      gzip.write(bytes);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return out.toByteArray();
  }

  static Stream<Row> paths() {
    return Stream.of(
        unknownPath("GET", "/", JSON),
        unknownPath("GET", "/nothing", JSON),
        unknownPath("GET", "/nothing", MSGPACK),
        unknownPath("POST", "/Query", JSON),
        unknownPath("POST", "/query/more", MSGPACK),
        unknownPath("DELETE", "/services/a", JSON),
        unknownPath("GET", "/q/nothing", JSON),
        unknownPath("GET", "/%00%0d%0a%22%5c", JSON),
        wrongMethod("GET", QUERY, JSON),
        wrongMethod("GET", QUERY, MSGPACK),
        wrongMethod("PUT", QUERY, JSON),
        wrongMethod("DELETE", REGISTER, JSON),
        wrongMethod("PATCH", UNREGISTER, MSGPACK),
        wrongMethod("GET", BY_HASH, JSON),
        wrongMethod("POST", "/services", JSON),
        wrongMethod("POST", "/global_view", MSGPACK),
        wrongMethod("DELETE", "/services", JSON));
  }

  private static Row unknownPath(String method, String path, String media) {
    String[] headers = {"Accept", media};
    return new Row(
        "for " + media, method, path, headers, null, media, 404, "not_found", null, null);
  }

  private static Row wrongMethod(String method, String path, String media) {
    String[] headers = {"Accept", media};
    return new Row(
        "for " + media, method, path, headers, null, media, 405, "method_not_allowed", null, null);
  }

  @Test
  void method_notAllowed_tellsWhichIs() {
    for (String path : List.of(REGISTER, UNREGISTER, QUERY, BY_HASH)) {
      assertThat(Api.send("PUT", path, null).header("Allow").orElseThrow())
          .contains("POST")
          .doesNotContain("GET", "PUT");
    }
    for (String path : List.of("/services", "/global_view", "/services/")) {
      assertThat(Api.send("POST", path, null).header("Allow").orElseThrow())
          .contains("GET")
          .doesNotContain("POST");
    }
  }

  // Bodies that are too long, and requests that are no HTTP

  private static void assertTooLarge(Reply reply, String media) {
    assertThat(reply.status()).isEqualTo(413);
    assertRefusal(reply, media, "too_large", null, null);
    assertThat(reply.body().get("error").textValue()).contains("" + MAX_BODY_BYTES);
  }

  private static void assertUsable(Wire wire) throws IOException {
    wire.text("GET /services HTTP/1.1\nHost: baton\n\n");
    Reply reply = wire.reply();
    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.body().get("count").intValue()).isEqualTo(1);
  }

  @Test
  void body_announcedTooLong_isRefusedAtOnceAndTheConnectionGoesOn() throws IOException {
    try (Wire wire = new Wire()) {
      for (String media : List.of(JSON, MSGPACK)) {
        wire.text(
            "POST /query HTTP/1.1\nHost: baton\nContent-Type: %s\nContent-Length: %d\n\n"
                .formatted(media, MAX_BODY_BYTES + 1));
        assertTooLarge(wire.reply(), media);
        wire.filler(MAX_BODY_BYTES + 1L);
        assertUsable(wire);
      }
    }
  }

  @Test
  void body_chunkedTooLong_isRefusedAtOnceAndTheConnectionGoesOn() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text("POST /query HTTP/1.1\nHost: baton\nTransfer-Encoding: chunked\n\n");
      wire.chunkedFiller(MAX_BODY_BYTES + 1L);
      assertTooLarge(wire.reply(), JSON);
      wire.chunkedFiller(1 << 20);
      wire.text("0\n\n");
      assertUsable(wire);
    }
  }

  @Test
  void body_announcedTooLongToEveryEndpoint_isRefused() throws IOException {
    for (String path : List.of(REGISTER, UNREGISTER, QUERY, BY_HASH)) {
      try (Wire wire = new Wire()) {
        wire.text("POST %s HTTP/1.1\nHost: baton\nContent-Length: 99999999999\n\n".formatted(path));
        assertTooLarge(wire.reply(), JSON);
      }
    }
  }

  @Test
  void body_announcedTooLongAndExpecting_isNotAskedFor() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(
          "POST /query HTTP/1.1\nHost: baton\nExpect: 100-continue\nContent-Length: %d\n\n"
              .formatted(MAX_BODY_BYTES + 1));
      assertTooLarge(wire.reply(), JSON);
    }
  }

  @Test
  void body_ofExactlyTheLimit_isRead() throws IOException {
    String query = json(QUERY);
    try (Wire wire = new Wire()) {
      wire.text(
          "POST /query HTTP/1.1\nHost: baton\nContent-Length: %d\n\n".formatted(MAX_BODY_BYTES));
      wire.filler(MAX_BODY_BYTES - query.length());
      wire.text(query);
      assertThat(wire.reply().status()).isEqualTo(200);
      assertUsable(wire);
    }
  }

  static Stream<String> noHttp() {
    String body = "\n\n{}";
    return Stream.of(
        "POST /query HTTP/1.1\nHost: baton\nContent-Length: -1" + body,
        "POST /query HTTP/1.1\nHost: baton\nContent-Length: many" + body,
        "POST /query HTTP/1.1\nHost: baton\nContent-Length: 99999999999999999999" + body,
        "POST /query HTTP/1.1\nHost: baton\nContent-Length: 2\nContent-Length: 3" + body,
        "POST /query HTTP/1.1\nHost: baton\nTransfer-Encoding: chunked\n\nzz\n{}\n0\n\n",
        "POST /query HTTP/9.9\nHost: baton\nContent-Length: 2" + body,
        "GET /%zz HTTP/1.1\nHost: baton\n\n",
        "GET / services HTTP/1.1\nHost: baton\n\n",
        "GET /services HTTP/1.1\nHost: baton\nX: " + "x".repeat(100_000) + "\n\n",
        "GET /" + "x".repeat(100_000) + " HTTP/1.1\nHost: baton\n\n");
  }

  @ParameterizedTest
  @MethodSource("noHttp")
  void request_noHttp_endsWithoutATrace(String request) throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(request);
      try {
        Reply reply = wire.reply();
        assertThat(reply.status()).isBetween(400, 505);
        assertNoInternals(reply);
      } catch (IOException ended) {
        // is all that such a request can expect
      }
    }
    try (Wire wire = new Wire()) {
      assertUsable(wire);
    }
  }
}
