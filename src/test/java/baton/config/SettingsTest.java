package baton.config;

import static org.assertj.core.api.Assertions.assertThat;

import io.smallrye.config.ConfigSourceContext;
import io.smallrye.config.ConfigSourceFactory;
import io.smallrye.config.EnvConfigSource;
import io.smallrye.config.PropertiesConfigSource;
import io.smallrye.config.SmallRyeConfigBuilder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.eclipse.microprofile.config.spi.ConfigSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is made of all that was given, by whom ever. */
class SettingsTest {
  private static final String PROPERTIES = "config/application.properties";

  private final Map<String, String> defaults = new HashMap<>();
  private final Map<String, String> properties = new HashMap<>();
  private final Map<String, String> system = new HashMap<>();
  private final Map<String, String> environment = new HashMap<>();
  private String file = "";

  SettingsTest() {
    defaults.put("quarkus.http.port", "13333");
  }

  private Settings settings() {
    var content =
        file.isEmpty()
            ? ConductorFile.NONE
            : ConductorFile.parse(file.getBytes(StandardCharsets.UTF_8), Path.of("fleet.json"));
    return Settings.of(given(), content);
  }

  /** As the framework's own sources give it. */
  private GivenValues given() {
    List<GivenValues> read = new ArrayList<>();
    new SmallRyeConfigBuilder()
        .addDefaultInterceptors()
        .withSources(
            new EnvConfigSource(environment, 300),
            new PropertiesConfigSource(defaults, "application.properties", 250),
            new PropertiesConfigSource(properties, "file:" + PROPERTIES, 260),
            new PropertiesConfigSource(system, "SysPropConfigSource", 400))
        .withSources(
            new ConfigSourceFactory() {
              @Override
              public Iterable<ConfigSource> getConfigSources(ConfigSourceContext context) {
                read.add(GivenValues.read(context, Settings.OTHER_KEYS));
                return List.of();
              }
            })
        .build();
    assertThat(read).hasSize(1);
    return read.get(0);
  }

  @Test
  void propertyFile_thatIsNamed_isRead(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("more.properties");
    Files.writeString(file, "baton.zmq.threads=x\nbaton.publishers.e.type=vllm\nbaton.zmq.t=1\n");
    system.put("smallrye.config.locations", file.toString());

    assertThat(faults())
        .contains(
            "baton.zmq.t in " + file + ": is no key of Baton's",
            "baton.zmq.threads in " + file + ": must be a whole number from 0 to 256, not \"x\"",
            "baton.publishers.e.type in "
                + file
                + ": must be vLLM, SGLang or Mooncake, not \"vllm\"");
  }

  private List<String> faults() {
    return settings().faults().stream().map(Fault::toString).toList();
  }

  private String fault() {
    assertThat(faults()).hasSize(1);
    return faults().get(0);
  }

  private static final Map<String, String> FIELDS =
      Map.ofEntries(
          Map.entry("endpoint", "tcp://h:5557"),
          Map.entry("replay-endpoint", "tcp://h:5558"),
          Map.entry("type", "vLLM"),
          Map.entry("modelname", "org/model-7B"),
          Map.entry("lora-name", "l"),
          Map.entry("tenant-id", "t"),
          Map.entry("instance-id", "i"),
          Map.entry("block-size", "16"),
          Map.entry("dp-rank", "1"),
          Map.entry("cache-group", "0"),
          Map.entry("hash-profile.strategy", "vllm_v1"),
          Map.entry("hash-profile.algorithm", "sha256"),
          Map.entry("hash-profile.python-hash-seed", "0"),
          Map.entry("hash-profile.index-projection", "low64_be"));

  private static void give(Map<String, String> properties, String name) {
    FIELDS.forEach((f, value) -> properties.put("baton.publishers." + name + "." + f, value));
  }

  private void giveByEnvironment(String spelling) {
    FIELDS.forEach(
        (field, value) ->
            environment.put(
                "BATON_PUBLISHERS_" + spelling + "_" + field.toUpperCase().replaceAll("[.-]", "_"),
                value));
  }

  private static String file(String name) {
    return """
    {"kvevent_instance": {"%s": {
      "endpoint": "tcp://h:5557", "replay_endpoint": "tcp://h:5558", "type": "vLLM",
      "modelname": "org/model-7B", "lora_name": "l", "tenant_id": "t", "instance_id": "i",
      "block_size": 16, "dp_rank": 1, "cache_group": 0, "hash_profile": {
        "strategy": "vllm_v1", "algorithm": "sha256", "python_hash_seed": "0",
        "index_projection": "low64_be"}}}}
    """
        .formatted(name);
  }

  // Publishers.

  @Test
  void nothingGiven_isFine() {
    assertThat(faults()).isEmpty();
    assertThat(settings().publishers()).isEmpty();
  }

  @Test
  void publisher_givenByAnybody_isTheSame() {
    List<Settings> all = new ArrayList<>();
    for (Map<String, String> by : List.of(properties, system)) {
      give(by, "vllm-0");
      all.add(settings());
      by.clear();
    }
    giveByEnvironment("VLLM_0");
    all.add(settings());
    environment.clear();
    file = file("vllm-0");
    all.add(settings());

    assertThat(FIELDS).containsOnlyKeys(Key.PUBLISHER_FIELDS);
    assertThat(all).allSatisfy(settings -> assertThat(settings.faults()).isEmpty());
    assertThat(all)
        .allSatisfy(
            settings -> assertThat(settings.publishers()).isEqualTo(all.get(0).publishers()));
    assertThat(all.get(0).publishers()).containsOnlyKeys("vllm-0");
  }

  @Test
  void publisher_givenInPieces_isPutTogether() {
    give(properties, "a");
    Map<String, String> pieces = new HashMap<>(properties);
    properties.clear();
    pieces.forEach(
        (key, value) -> {
          switch (Math.floorMod(key.hashCode(), 3)) {
            case 0 -> properties.put(key, value);
            case 1 -> system.put(key, value);
            default -> environment.put(key.toUpperCase().replaceAll("[.-]", "_"), value);
          }
        });
    assertThat(List.of(properties, system, environment)).noneMatch(Map::isEmpty);

    assertThat(faults()).isEmpty();
    assertThat(settings().publishers()).containsOnlyKeys("a");
  }

  @Test
  void field_givenSeveralTimes_isTheStrongestOnes() {
    give(properties, "a");
    properties.put("baton.publishers.a.modelname", "of the properties");
    properties.put("baton.publishers.a.lora-name", "of the properties");
    properties.put("baton.publishers.a.tenant-id", "of the properties");
    properties.put("baton.publishers.a.instance-id", "of the properties");
    file =
        """
        {"kvevent_instance": {"a": {"lora_name": "of the file", "tenant_id": "of the file",
          "instance_id": "of the file"}}}
        """;
    environment.put("BATON_PUBLISHERS_A_TENANT_ID", "of the environment");
    environment.put("BATON_PUBLISHERS_A_INSTANCE_ID", "of the environment");
    system.put("baton.publishers.a.instance-id", "of the system properties");

    Settings settings = settings();

    assertThat(settings.faults()).isEmpty();
    var publisher = settings.publishers().get("a");
    assertThat(publisher.modelName()).isEqualTo("of the properties");
    assertThat(publisher.loraName()).isEqualTo("of the file");
    assertThat(publisher.tenantId()).isEqualTo("of the environment");
    assertThat(publisher.instanceId()).isEqualTo("of the system properties");
  }

  @Test
  void value_thatAStrongerOneReplaces_needNotBeRight() {
    // But the file's own form is looked at for itself.
    give(system, "a");
    properties.put("baton.publishers.a.block-size", "none");
    assertThat(faults()).isEmpty();

    file = "{\"kvevent_instance\": {\"a\": {\"block_size\": \"16\"}}}";
    assertThat(fault()).startsWith("kvevent_instance.a.block_size in fleet.json");
  }

  @ParameterizedTest
  @CsvSource({
    "vllm-0, VLLM_0",
    "vllm_0, VLLM_0",
    "vllm.0, VLLM_0",
    "Vllm-0, VLLM_0",
    "a--b, A__B",
    "a b, A_B",
    "naïve, NA_VE",
    "x, X"
  })
  void environment_ofAKnownName_meansIt(String name, String spelling) {
    file = file(name);
    environment.put("BATON_PUBLISHERS_" + spelling + "_MODELNAME", "m");

    Settings settings = settings();

    assertThat(settings.faults()).isEmpty();
    assertThat(settings.publishers()).containsOnlyKeys(name);
    assertThat(settings.publishers().get(name).modelName()).isEqualTo("m");
  }

  @ParameterizedTest
  @CsvSource({"VLLM_0, vllm-0", "X, x", "A__B, a--b", "REPLAY, replay", "ENDPOINT, endpoint"})
  void environment_ofAnUnknownName_makesOneWithDashes(String spelling, String name) {
    giveByEnvironment(spelling);

    assertThat(faults()).isEmpty();
    assertThat(settings().publishers()).containsOnlyKeys(name);
  }

  @Test
  void variable_thatEndsLikeTwoFields_isTheLongerOne() {
    giveByEnvironment("A");
    environment.put("BATON_PUBLISHERS_A_REPLAY_ENDPOINT", "tcp://h:9");

    assertThat(faults()).isEmpty();
    assertThat(settings().publishers()).containsOnlyKeys("a");
    assertThat(settings().publishers().get("a").replayEndpoint()).isEqualTo("tcp://h:9");
  }

  @Test
  void variable_ofTheWrongValue_isNamedAsItIsWritten() {
    giveByEnvironment("A");
    environment.put("BATON_PUBLISHERS_A_BLOCK_SIZE", "big");

    assertThat(fault())
        .startsWith("BATON_PUBLISHERS_A_BLOCK_SIZE in the environment: ")
        .contains("\"big\"");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "BATON_PUBLISHERS_A_ENDPIONT",
        "BATON_PUBLISHERS_ENDPOINT",
        "BATON_PUBLISHERS__ENDPOINT",
        "BATON_PUBLISHERS_A",
        "BATON_PUBLISHERS_",
        "BATON_PUBLISHERS_A_PORT"
      })
  void variable_ofNoField_isRefused(String variable) {
    environment.put(variable, "5557");
    assertThat(fault()).isEqualTo(variable + " in the environment: is no field of a publisher");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "baton.publishers.a.endpiont",
        "baton.publishers.a.replay_endpoint",
        "baton.publishers.a.hash-profile",
        "baton.publishers.a.hash-profile.root-digest",
        "baton.publishers.a.endpoint.host",
        "baton.publishers.a.b.endpoint",
        "baton.publishers.a",
        "baton.publishers.a.",
        "baton.publishers.",
        "baton.publishers..",
        "baton.publishers.\"a.endpoint"
      })
  void property_ofNoField_isRefused(String property) {
    properties.put(property, "x");
    assertThat(fault()).startsWith(property + " in " + PROPERTIES + ": ").contains(" is no ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"\"", "\" \"", ""})
  void property_ofANamelessPublisher_isRefused(String segment) {
    give(properties, segment);
    assertThat(faults()).isNotEmpty();
    assertThat(settings().publishers()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {"\"a.b\", a.b", "\"a b\", a b", "a_b, a_b", "\"ä\", ä", "\"a\\\"b\", a\"b"})
  void property_ofAQuotedName_meansIt(String segment, String name) {
    give(properties, segment);

    assertThat(faults()).isEmpty();
    assertThat(settings().publishers()).containsOnlyKeys(name);
    assertThat(Key.publisherKey(name, "endpoint"))
        .isEqualTo("baton.publishers." + (name.equals("a_b") ? name : segment) + ".endpoint");
  }

  @Test
  void fault_tellsWhoGaveTheValue() {
    give(properties, "a");
    properties.put("baton.publishers.a.dp-rank", "-1");
    give(system, "b");
    system.put("baton.publishers.b.instance-id", "b");
    system.put("baton.publishers.b.endpoint", "tcp://other:1");
    system.put("baton.publishers.b.type", "TensorRT");

    assertThat(faults())
        .satisfiesExactlyInAnyOrder(
            f -> assertThat(f).startsWith("baton.publishers.a.dp-rank in " + PROPERTIES + ":"),
            f -> assertThat(f).startsWith("baton.publishers.b.type in system properties:"));
  }

  // What is no key.

  @ParameterizedTest
  @ValueSource(
      strings = {
        "baton.rpc.prot",
        "baton.publisher.a.endpoint",
        "baton.publishers",
        "baton.rpc",
        "baton.http.maxBodyBytes",
        "baton."
      })
  void property_thatIsNoKey_isRefused(String property) {
    properties.put(property, "1");
    assertThat(fault()).isEqualTo(property + " in " + PROPERTIES + ": is no key of Baton's");
    system.put(property, "1");
    properties.clear();
    assertThat(fault()).isEqualTo(property + " in system properties: is no key of Baton's");
  }

  @ParameterizedTest
  @ValueSource(strings = {"BATON_RPC_PROT", "BATON_HTTP_PORT", "BATON_PUBLISHER_A", "BATON_"})
  void variable_thatIsNoKey_isRefused(String variable) {
    environment.put(variable, "1");
    assertThat(fault()).isEqualTo(variable + " in the environment: is no key of Baton's");
  }

  @Test
  void names_ofOthers_areNotLookedAt() {
    properties.put("quarkus.something", "x");
    properties.put("batonx", "x");
    environment.put("BATONX_Y", "x");
    environment.put("BATON", "x");
    environment.put("PATH", "x");
    assertThat(faults()).isEmpty();
  }

  @Test
  void variables_thatKubernetesMakes_areNotLookedAt() {
    for (String service : List.of("BATON", "BATON_RPC", "BATON_PUBLISHERS", "BATON_A_B")) {
      environment.put(service + "_SERVICE_HOST", "10.0.0.1");
      environment.put(service + "_SERVICE_PORT", "13333");
      environment.put(service + "_SERVICE_PORT_HTTP", "13333");
      for (int port : new int[] {13333, 13334}) {
        String link = service + "_PORT_" + port + "_TCP";
        environment.put(link, "tcp://10.0.0.1:" + port);
        environment.put(link + "_ADDR", "10.0.0.1");
        environment.put(link + "_PORT", "" + port);
        environment.put(link + "_PROTO", "tcp");
      }
      if (!service.equals("BATON_RPC")) {
        environment.put(service + "_PORT", "tcp://10.0.0.1:13333");
      }
    }
    assertThat(faults()).isEmpty();
    assertThat(settings().publishers()).isEmpty();
  }

  // Values.

  static Stream<Arguments> wrongValues() {
    List<Arguments> all = new ArrayList<>();
    for (String value : List.of("", "x", "1.5", "-1", "65536", "99999999999999999999", "0x1")) {
      all.add(Arguments.of("baton.rpc.port", value));
      all.add(Arguments.of("quarkus.http.port", value));
    }
    for (Key key : Key.ALL) {
      if (key.type() == int.class || key.type() == long.class) {
        all.add(Arguments.of(key.name(), "many"));
        all.add(Arguments.of(key.name(), "-1"));
        all.add(Arguments.of(key.name(), ""));
        if (key.min() > 0) {
          all.add(Arguments.of(key.name(), "0"));
        }
        if (key.max() < Long.MAX_VALUE) {
          all.add(Arguments.of(key.name(), Long.toString(key.max() + 1)));
        }
        all.add(Arguments.of(key.name(), "9223372036854775808"));
      }
    }
    for (String value : List.of("yes", "1", "", "tru")) {
      all.add(Arguments.of("baton.admin.guard-registration", value));
    }
    for (String value : List.of("", "drop", "retract,keep")) {
      all.add(Arguments.of("baton.recovery.on-loss", value));
    }
    all.add(Arguments.of("baton.registration.allowed-endpoints", ""));
    for (String value : List.of("soon", "-1S", "10 parsecs", "PT", "-PT1S")) {
      all.add(Arguments.of("quarkus.shutdown.delay", value));
      all.add(Arguments.of("quarkus.shutdown.timeout", value));
    }
    for (String value : List.of("TRACE", "debug", "", "INFO ", "1")) {
      all.add(Arguments.of("CONDUCTOR_LOG_LEVEL", value));
    }
    for (String value :
        List.of("host", ":1", "host:", "host:0", "host:65536", "::1:1", "http://h:1", "h:1/x")) {
      all.add(Arguments.of("baton.conductor.address", value));
    }
    for (String value : List.of("nan", "-1", "x", "1000000")) {
      all.add(Arguments.of("SG_PROMPT_EMBEDS_CACHE_GIB", value));
    }
    return all.stream();
  }

  @ParameterizedTest
  @MethodSource("wrongValues")
  void value_thatIsWrong_isOneFaultWithKeyAndValue(String key, String value) {
    properties.put(key, value);
    assertThat(fault()).contains(key.startsWith("SG_") ? PROPERTIES : key + " in " + PROPERTIES);
    assertThat(fault()).contains(value);
    properties.clear();

    system.put(key, value);
    assertThat(fault()).contains("system properties", value);
    system.clear();

    String variable = key.toUpperCase().replaceAll("[.-]", "_");
    environment.put(variable, value);
    assertThat(fault()).contains(variable, "the environment", value);
  }

  @ParameterizedTest
  @CsvSource({
    "baton.rpc.port, 0",
    "baton.rpc.port, ' 14000 '",
    "quarkus.http.port, 0",
    "baton.admin.guard-registration, TRUE",
    "baton.admin.guard-registration, false",
    "baton.recovery.on-loss, KEEP",
    "baton.registration.allowed-endpoints, '*'",
    "baton.conductor.address, host:1",
    "baton.conductor.address, '[::1]:65535'",
    "baton.conductor.address, ''",
    "baton.admin.token, ''",
    "baton.admin.token, secret",
    "quarkus.shutdown.delay, 10",
    "quarkus.shutdown.delay, 10S",
    "quarkus.shutdown.delay, 0",
    "quarkus.shutdown.delay, ''",
    "quarkus.shutdown.timeout, PT1M",
    "CONDUCTOR_LOG_LEVEL, DEBUG",
    "CONDUCTOR_LOG_LEVEL, ERROR",
    "CONDUCTOR_CONFIG_PATH, ''",
    "SG_PROMPT_EMBEDS_CACHE_GIB, 0.001"
  })
  void value_thatIsRight_isNoFault(String key, String value) {
    properties.put(key, value);
    assertThat(faults()).isEmpty();
    properties.clear();
    environment.put(key.toUpperCase().replaceAll("[.-]", "_"), value);
    assertThat(faults()).isEmpty();
  }

  @Test
  void bounds_ofEveryNumber_areTaken() {
    for (Key key : Key.ALL) {
      if (key.type() == int.class || key.type() == long.class) {
        for (long value : new long[] {key.min(), key.max(), Long.parseLong(key.standard())}) {
          properties.clear();
          properties.put(key.name(), Long.toString(value));
          assertThat(faults()).as("%s=%d", key.name(), value).isEmpty();
        }
      }
    }
  }

  @Test
  void defaults_areRight() {
    for (Key key : Key.ALL) {
      if (key.standard() != null) {
        assertThat(key.problem(key.standard())).as(key.name()).isNull();
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"13334, 13334", "13334, 013334", "' 13334', 13334", "1, 1"})
  void ports_thatAreEqual_areRefused(String http, String rpc) {
    properties.put("quarkus.http.port", http);
    properties.put("baton.rpc.port", rpc);
    assertThat(fault())
        .startsWith("quarkus.http.port in " + PROPERTIES)
        .contains("is the RPC port too (baton.rpc.port)");
  }

  @Test
  void ports_thatAreEqualByDefault_areRefused() {
    properties.put("quarkus.http.port", "13334");
    assertThat(fault()).contains("13334 is the RPC port too");
    properties.clear();
    environment.put("BATON_RPC_PORT", "13333");
    assertThat(fault()).contains("13333 is the RPC port too");
  }

  @Test
  void ports_thatAreBothChosenBySomebodyElse_areFine() {
    properties.put("quarkus.http.port", "0");
    properties.put("baton.rpc.port", "0");
    assertThat(faults()).isEmpty();
  }

  @Test
  void ports_inTheFile_countUnlessTheEnvironmentSaysOtherwise() {
    file = "{\"http_server_port\": 8080, \"rpc_server_port\": 8081}";
    properties.put("baton.rpc.port", "1");
    environment.put("QUARKUS_HTTP_PORT", "9090");

    Settings settings = settings();

    assertThat(settings.faults()).isEmpty();
    assertThat(settings.values().get("quarkus.http.port").value()).isEqualTo("9090");
    assertThat(settings.values().get("baton.rpc.port").value()).isEqualTo("8081");
  }

  @Test
  void ports_inTheFile_areCheckedToo() {
    file = "{\"http_server_port\": 65536, \"rpc_server_port\": -1}";
    assertThat(faults())
        .satisfiesExactlyInAnyOrder(
            f -> assertThat(f).startsWith("http_server_port in fleet.json:").contains("65536"),
            f -> assertThat(f).startsWith("rpc_server_port in fleet.json:").contains("-1"));
    file = "{\"http_server_port\": 8080, \"rpc_server_port\": 8080}";
    assertThat(fault()).startsWith("http_server_port in fleet.json: 8080 is the RPC port too");
  }

  @Test
  void publishers_besideTheAddressOfAnotherConductor_areRefused() {
    environment.put("BATON_CONDUCTOR_ADDRESS", "other:13334");
    file = file("a");
    assertThat(fault())
        .startsWith("BATON_CONDUCTOR_ADDRESS in the environment: ")
        .contains("no publishers can be configured here");

    environment.put("BATON_CONDUCTOR_ADDRESS", "");
    assertThat(faults()).isEmpty();
  }

  @Test
  void limits_thatAreConfigured_countForPublishers() {
    give(properties, "a");
    properties.put("baton.registration.allowed-endpoints", "ipc://*,tcp://h:5557");
    assertThat(fault())
        .startsWith("baton.publishers.a.replay-endpoint in ")
        .contains("not among the endpoints", "tcp://h:5558");

    properties.put("baton.registration.allowed-endpoints", "tcp://h:*");
    properties.put("baton.registration.max-publishers", "1");
    assertThat(faults()).isEmpty();

    FIELDS.forEach((f, value) -> properties.put("baton.publishers.b." + f, value));
    properties.put("baton.publishers.b.instance-id", "b");
    properties.put("baton.publishers.b.endpoint", "tcp://h:1");
    assertThat(fault()).contains("the limit of 1 publishers is reached");
  }

  @Test
  void value_thatIsWrong_isNoneOfAPublishersFaults() {
    give(properties, "a");
    properties.put("baton.registration.max-publishers", "none");
    properties.put("baton.registration.allowed-endpoints", "");
    assertThat(faults()).hasSize(2).noneMatch(f -> f.contains("publishers.a"));
  }

  @Test
  void faults_ofAllKinds_areToldTogether() {
    give(properties, "a");
    properties.put("baton.publishers.a.type", "x");
    properties.put("baton.nonsense", "x");
    environment.put("BATON_RUBBISH", "x");
    environment.put("BATON_RPC_PORT", "x");
    environment.put("SG_PROMPT_EMBEDS_CACHE_GIB", "x");
    system.put("quarkus.http.port", "x");
    file = "{\"verbose\": 1, \"kvevent_instance\": {\"b\": 1, \"c\": {\"dp_rank\": \"0\"}}}";

    assertThat(faults())
        .hasSize(9 + 7)
        .filteredOn(f -> f.contains("publisher c in fleet.json: ") && f.endsWith(" is missing"))
        .hasSize(7);
  }

  @Test
  void expression_thatLeadsNowhere_isOneFault() {
    properties.put("baton.rpc.host", "${nowhere}");
    assertThat(fault())
        .isEqualTo(
            "baton.rpc.host in "
                + PROPERTIES
                + ": refers to what nobody has given: \"${nowhere}\"");
    properties.put("baton.rpc.host", "${nowhere:127.0.0.1}");
    assertThat(settings().values().get("baton.rpc.host").value()).isEqualTo("127.0.0.1");
    properties.clear();

    give(properties, "a");
    properties.put("baton.publishers.a.endpoint", "tcp://${POD_IP}:5557");
    assertThat(fault()).startsWith("baton.publishers.a.endpoint in ").contains("${POD_IP}");
    properties.put("POD_IP", "10.0.0.1");
    assertThat(settings().publishers().get("a").endpoint()).isEqualTo("tcp://10.0.0.1:5557");
    environment.put("BATON_PUBLISHERS_A_ENDPOINT", "tcp://${POD_IP}:5558");
    assertThat(settings().publishers().get("a").endpoint()).isEqualTo("tcp://10.0.0.1:5558");
  }

  @Test
  void expression_inASecret_isNotShown() {
    environment.put("BATON_ADMIN_TOKEN", "s3cr${x}word");
    assertThat(fault())
        .isEqualTo("BATON_ADMIN_TOKEN in the environment: refers to what nobody has given");
  }

  @Test
  void variable_withDots_isTheKey() {
    environment.put("baton.zmq.threads", "2");
    environment.put("baton.nonsense", "1");
    environment.put("baton.publishers.a.type", "x");
    assertThat(settings().values().get("baton.zmq.threads").value()).isEqualTo("2");
    assertThat(faults())
        .contains("baton.nonsense in the environment: is no key of Baton's")
        .anyMatch(f -> f.startsWith("baton.publishers.a.type in the environment: must be vLLM"));
  }

  @Test
  void variable_thatMayMeanTwoPublishers_isRefused() {
    give(properties, "a-b");
    give(properties, "a_b");
    properties.put("baton.publishers.a_b.endpoint", "tcp://h:5559");
    environment.put("BATON_PUBLISHERS_A_B_LORA_NAME", "l");
    assertThat(faults())
        .anySatisfy(
            fault ->
                assertThat(fault)
                    .startsWith("BATON_PUBLISHERS_A_B_LORA_NAME in the environment: may mean any")
                    .contains("a-b", "a_b"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"10.0.0.300", "10.0.0", "10.0.0.1.", "1", "1.2.3.4.5", "00010.0.0.1"})
  void host_ofDigitsThatIsNoAddress_isRefused(String host) {
    give(properties, "a");
    properties.put("baton.publishers.a.endpoint", "tcp://" + host + ":5557");
    assertThat(fault()).contains("names no address: " + host);
  }

  @ParameterizedTest
  @ValueSource(strings = {"10.0.0.1", "255.255.255.255", "0.0.0.0", "1.2.3.4a", "vllm-0.engines"})
  void host_thatIsAnAddressOrAName_isAccepted(String host) {
    give(properties, "a");
    properties.put("baton.publishers.a.endpoint", "tcp://" + host + ":5557");
    assertThat(faults()).isEmpty();
  }
}
