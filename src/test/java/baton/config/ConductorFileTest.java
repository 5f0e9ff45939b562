package baton.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@code conductor_config.json} may look like, and what is said if it does not. */
class ConductorFileTest {
  private static final Path PATH = Path.of("fleet.json");

  private static ConductorFile parse(byte[] bytes) {
    return ConductorFile.parse(bytes, PATH);
  }

  private static ConductorFile parse(String json) {
    return parse(json.getBytes(StandardCharsets.UTF_8));
  }

  private static List<String> faults(String json) {
    return parse(json).faults().stream().map(Fault::toString).toList();
  }

  /** Its only fault. */
  private static String fault(ConductorFile file) {
    assertThat(file.faults()).hasSize(1);
    return file.faults().get(0).toString();
  }

  private static String fault(String json) {
    return fault(parse(json));
  }

  /** A file with one publisher of these fields. */
  private static String publisher(String fields) {
    return "{\"kvevent_instance\": {\"a\": {" + fields + "}}}";
  }

  private static Map<String, String> values(ConductorFile file, String name) {
    Map<String, String> values = new java.util.TreeMap<>();
    file.publishers().get(name).forEach((field, given) -> values.put(field, given.value()));
    return values;
  }

  @Test
  void file_ofEverything_isReadUnderTheKeysOfAll() {
    ConductorFile file =
        parse(
            """
            {
              "http_server_port": 8080,
              "rpc_server_port": 0,
              "kvevent_instance": {
                "a": {
                  "endpoint": "tcp://h:1", "replay_endpoint": "tcp://h:2", "type": "vLLM",
                  "modelname": "m", "lora_name": "l", "tenant_id": "t", "instance_id": "i",
                  "block_size": 16, "dp_rank": 3, "cache_group": 0,
                  "hash_profile": {"strategy": "vllm_v1", "algorithm": "sha256",
                    "python_hash_seed": "7", "index_projection": "low64_be"}
                },
                "b": {"cache_group": null}
              }
            }
            """);

    assertThat(file.faults()).isEmpty();
    assertThat(file.ports().get("quarkus.http.port").value()).isEqualTo("8080");
    assertThat(file.ports().get("baton.rpc.port").value()).isEqualTo("0");
    assertThat(values(file, "a"))
        .containsOnlyKeys(Key.PUBLISHER_FIELDS)
        .containsEntry("replay-endpoint", "tcp://h:2")
        .containsEntry("block-size", "16")
        .containsEntry("hash-profile.python-hash-seed", "7");
    assertThat(values(file, "b")).isEmpty();
  }

  @Test
  void value_tellsWhereItIs() {
    Given given = parse(publisher("\"dp_rank\": 1")).publishers().get("a").get("dp-rank");

    assertThat(given.where()).isEqualTo("kvevent_instance.a.dp_rank in fleet.json");
    assertThat(given.origin()).isEqualTo("fleet.json");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", " {} \n", "\uFEFF{}", "{\"kvevent_instance\": {}}"})
  void file_ofNothing_hasNoFault(String json) {
    assertThat(parse(json)).isEqualTo(ConductorFile.NONE);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "\n\n", "\uFEFF"})
  void file_thatIsEmpty_isRefused(String json) {
    assertThat(fault(json)).isEqualTo("fleet.json: is empty; an object is needed");
  }

  @ParameterizedTest
  @ValueSource(strings = {"[]", "1", "null", "true", "\"text\"", "[{}]"})
  void root_thatIsNoObject_isRefusedAndShown(String json) {
    assertThat(fault(json)).isEqualTo("fleet.json: must be an object, not " + json);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"a\": 1,}| line 1 column",
        "{^\"a\" 1}| line 2 column",
        "{'a': 1}| line 1 column",
        "{a: 1}| line 1 column",
        "{| line 1 column",
        "{\"a\": [1, 2}| line 1 column",
        "{\"a\": 01}| line 1 column",
        "{\"a\": NaN}| line 1 column",
        "{\"a\": .5}| line 1 column",
        "{\"a\": \"unended}| line 1 column",
        "{\"a\": \"tab\tinside\"}| line 1 column",
        "{} // a comment| line 1 column",
        "nonsense| line 1 column"
      })
  void json_thatIsMalformed_isRefusedWithItsPlace(String json, String place) {
    assertPlain(fault(json.replace('^', '\n')), place);
  }

  private static void assertPlain(String fault, String place) {
    assertThat(fault)
        .startsWith("fleet.json" + (place.isEmpty() ? ":" : " " + place.strip()))
        .contains(": is not valid JSON: ")
        .doesNotContain("StreamReadFeature", "`", "Source", "com.fasterxml", "\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{} {}", "{}{}", "{}]", "{} 1", "{}\u0000", "{}x", "{} \"a\""})
  void text_afterTheObject_isRefused(String json) {
    assertPlain(fault(json), "line 1 column");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"http_server_port\": 1, \"http_server_port\": 1}",
        "{\"kvevent_instance\": {}, \"kvevent_instance\": {}}",
        "{\"kvevent_instance\": {\"a\": {}, \"a\": {}}}",
        "{\"kvevent_instance\": {\"a\": {\"type\": \"vLLM\", \"type\": \"vLLM\"}}}",
        "{\"kvevent_instance\": {\"a\": {\"hash_profile\": {\"algorithm\": \"\","
            + " \"algorithm\": \"\"}}}}",
        "{\"kvevent_instance\": {\"a\": {}, \"\\u0061\": {}}}"
      })
  void key_thatIsThereTwice_isRefused(String json) {
    assertThat(fault(json)).startsWith("fleet.json line 1 column").contains("uplicate");
  }

  @ParameterizedTest
  @ValueSource(strings = {"http_server_port", "rpc_server_port"})
  void port_thatIsNoInteger_isRefusedAndShown(String port) {
    for (String value : List.of("\"1\"", "1.5", "1.0", "1e3", "true", "null", "[1]", "{}")) {
      String shown = value.equals("1e3") ? "1000.0" : value;
      assertThat(fault("{\"" + port + "\": " + value + "}"))
          .isEqualTo(port + " in fleet.json: must be an integer, not " + shown);
    }
  }

  static Stream<String> texts() {
    return Stream.of(
        "endpoint",
        "replay_endpoint",
        "type",
        "modelname",
        "lora_name",
        "tenant_id",
        "instance_id",
        "hash_profile.strategy",
        "hash_profile.algorithm",
        "hash_profile.python_hash_seed",
        "hash_profile.index_projection");
  }

  private static String field(String field, String value) {
    String[] names = field.split("\\.");
    return names.length == 1
        ? publisher("\"" + field + "\": " + value)
        : publisher("\"" + names[0] + "\": {\"" + names[1] + "\": " + value + "}");
  }

  @ParameterizedTest
  @MethodSource("texts")
  void field_thatIsNoString_isRefusedAndShown(String field) {
    for (String value : List.of("1", "0", "1.5", "true", "null", "[\"x\"]", "{}")) {
      ConductorFile file = parse(field(field, value));
      assertThat(fault(file))
          .isEqualTo(
              "kvevent_instance.a." + field + " in fleet.json: must be a string, not " + value);
      // It was given, so that nobody complains that it is missing.
      assertThat(file.publishers().get("a").get(field.replace('_', '-')).value())
          .isEqualTo(Given.REFUSED);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"block_size", "dp_rank", "cache_group"})
  void field_thatIsNoInteger_isRefusedAndShown(String field) {
    for (String value : List.of("\"16\"", "16.5", "16.0", "true", "[16]", "{}", "null")) {
      if (field.equals("cache_group") && value.equals("null")) {
        continue;
      }
      assertThat(fault(field(field, value)))
          .isEqualTo(
              "kvevent_instance.a." + field + " in fleet.json: must be an integer, not " + value);
    }
  }

  @Test
  void integer_ofAnyLength_isKeptAsItIs() {
    String digits = "9".repeat(60);
    assertThat(values(parse(publisher("\"block_size\": " + digits)), "a"))
        .containsEntry("block-size", digits);
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"vllm_v1\"", "1", "null", "[]", "true"})
  void hashProfile_thatIsNoObject_isOneFault(String value) {
    ConductorFile file = parse(field("hash_profile", value));

    assertThat(fault(file))
        .isEqualTo(
            "kvevent_instance.a.hash_profile in fleet.json: must be an object, not " + value);
    assertThat(file.publishers().get("a"))
        .hasSize(4)
        .allSatisfy((field, given) -> assertThat(given.value()).isEqualTo(Given.REFUSED));
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"tcp://h:1\"", "1", "null", "[]", "true"})
  void publishersOrPublisher_thatIsNoObject_isRefusedAndShown(String value) {
    assertThat(fault("{\"kvevent_instance\": " + value + "}"))
        .isEqualTo("kvevent_instance in fleet.json: must be an object, not " + value);
    assertThat(fault("{\"kvevent_instance\": {\"a\": " + value + "}}"))
        .isEqualTo("kvevent_instance.a in fleet.json: must be an object, not " + value);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "endpiont",
        "model_name",
        "block-size",
        "hash-profile",
        "hash_profile.strategy",
        "strategy",
        "Endpoint",
        "",
        "replay_endpoint "
      })
  void fieldOfAPublisher_thatIsNone_isRefused(String field) {
    for (String value : List.of("\"x\"", "1", "{\"strategy\": \"sglang\"}")) {
      ConductorFile file = parse(publisher("\"" + field + "\": " + value));
      assertThat(fault(file))
          .isEqualTo("kvevent_instance.a." + field + " in fleet.json: is no field of a publisher");
      assertThat(file.publishers().get("a")).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"root_digest", "seed", "python-hash-seed", "endpoint", "hash_profile"})
  void fieldOfAHashProfile_thatIsNone_isRefused(String field) {
    assertThat(fault(publisher("\"hash_profile\": {\"" + field + "\": \"x\"}")))
        .isEqualTo(
            "kvevent_instance.a.hash_profile."
                + field
                + " in fleet.json: is no field of a publisher");
  }

  @ParameterizedTest
  @ValueSource(strings = {"kvevent_instances", "http_port", "", "quarkus.http.port"})
  void topLevelField_thatIsUnknown_isRefused(String field) {
    assertThat(fault("{\"" + field + "\": 1}"))
        .startsWith(field + " in fleet.json: is unknown; kvevent_instance and the two ports");
  }

  @Test
  void severalFaults_areAllTold() {
    assertThat(
            faults(
                """
                {"http_server_port": "1", "verbose": true, "kvevent_instance": {
                  "a": {"type": 1, "block_size": "16", "nonsense": 0},
                  "b": [],
                  "c": {"hash_profile": {"strategy": 1, "algorithm": 2}}}}
                """))
        .hasSize(8);
  }

  @Test
  void longValue_isShownShortened() {
    assertThat(fault(publisher("\"block_size\": \"" + "x".repeat(100_000) + "\"")))
        .hasSizeLessThan(200)
        .endsWith("x…");
  }

  @Test
  void text_thatIsNotUtf8_isRefused() {
    byte[] bytes = publisher("\"modelname\": \"m?\"").getBytes(StandardCharsets.UTF_8);
    int at = new String(bytes, StandardCharsets.UTF_8).indexOf('?');
    for (int wrong : new int[] {0x80, 0xc0, 0xff, 0xe9}) {
      bytes[at] = (byte) wrong;
      assertThat(fault(parse(bytes))).isEqualTo("fleet.json: is not UTF-8 at byte " + at);
    }
  }

  @Test
  void text_inLongerUtf8ThanNeeded_isRefused() {
    // An overlong slash, and half of a surrogate pair.
    for (String hex : List.of("c0af", "eda080")) {
      byte[] sneaky = java.util.HexFormat.of().parseHex("7b2261223a22" + hex + "227d");
      assertThat(fault(parse(sneaky))).isEqualTo("fleet.json: is not UTF-8 at byte 6");
    }
  }

  @Test
  void text_inUtf16_isRefused() {
    assertThat(fault(parse("{}".getBytes(StandardCharsets.UTF_16))))
        .isEqualTo("fleet.json: is not UTF-8 at byte 0");
    assertPlain(fault(parse("{}".getBytes(StandardCharsets.UTF_16LE))), "line 1 column");
    assertPlain(fault(parse("{}".getBytes(StandardCharsets.UTF_16BE))), "line 1 column");
  }

  @Test
  void text_withAByteOrderMark_isRead() {
    ConductorFile file = parse("\uFEFF" + publisher("\"modelname\": \"größer 模型 🦙\""));

    assertThat(file.faults()).isEmpty();
    assertThat(values(file, "a")).containsEntry("modelname", "größer 模型 🦙");
  }

  @Test
  void nesting_thatIsVeryDeep_isRefusedAndEndsNothing() {
    for (int depth : new int[] {2_000, 1_000_000}) {
      assertPlain(fault("[".repeat(depth)), "");
      assertPlain(fault("{\"a\":".repeat(depth) + "1" + "}".repeat(depth)), "");
    }
  }

  @Test
  void number_ofThousandsOfDigits_isRefusedAtOnce() {
    assertPlain(fault(publisher("\"block_size\": " + "9".repeat(1_000_000))), "");
  }

  @ParameterizedTest
  @ValueSource(strings = {"a.b", "a b", "", " ", "模型", "a\\\"b", "a\\\\b", "a\\nb", "*", "ä.\\\""})
  void name_ofAnySpelling_isKept(String spelling) {
    ConductorFile file =
        parse("{\"kvevent_instance\": {\"" + spelling + "\": {\"type\": \"vLLM\"}}}");

    assertThat(file.faults()).isEmpty();
    String name = spelling.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\");
    assertThat(values(file, name)).containsExactly(Map.entry("type", "vLLM"));
  }

  @Test
  void fault_ofANameWithALineBreak_isOneLine() {
    assertThat(fault("{\"kvevent_instance\": {\"a\\nERROR b\": 1}}")).doesNotContain("\n");
  }

  // Where it lies.

  @Test
  void file_thatIsNotThere_isNone(@TempDir Path folder) {
    assertThat(PublisherFile.at(folder.resolve("none.json").toString()).read()).isEmpty();
    assertThat(PublisherFile.at("").read()).isEmpty();
  }

  @Test
  void file_thatIsADirectory_isRefused(@TempDir Path folder) {
    assertThat(fault(PublisherFile.at(folder.toString()).read().orElseThrow()))
        .startsWith(folder + ": cannot be read");
  }

  @Test
  void file_thatIsTooLong_isRefused(@TempDir Path folder) throws Exception {
    Path path = folder.resolve("long.json");
    try (var file = new java.io.RandomAccessFile(path.toFile(), "rw")) {
      file.setLength(ConductorFile.MAX_BYTES + 1L);
    }
    assertThat(fault(PublisherFile.at(path.toString()).read().orElseThrow()))
        .isEqualTo(path + ": is longer than " + ConductorFile.MAX_BYTES + " bytes");
  }

  @Test
  void file_inTheHomeDirectory_isFoundByItsTilde() {
    Path home = Path.of(System.getProperty("user.home"));
    assertThat(PublisherFile.at("~/x.json").path()).isEqualTo(home.resolve("x.json"));
    assertThat(PublisherFile.at(null).path())
        .isEqualTo(home.resolve(".mooncake").resolve("conductor_config.json"));
  }

  @Test
  void file_asItIsWritten_isRead(@TempDir Path folder) throws Exception {
    Path path = Files.writeString(folder.resolve("a.json"), publisher("\"type\": \"vLLM\""));
    assertThat(values(PublisherFile.at(path.toString()).read().orElseThrow(), "a"))
        .containsEntry("type", "vLLM");
  }
}
