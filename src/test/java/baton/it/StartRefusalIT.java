package baton.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A configuration that is wrong: the process ends at once and says all that is. */
class StartRefusalIT {
  private static final String VARIABLE = "SG_PROMPT_EMBEDS_CACHE_GIB";
  private static final int AT_THE_SAME_TIME = 4;

  /** What a process left. */
  private record Ended(int code, String output, String errors) {}

  /** One process that is to be started, and what must be read of it. */
  private static final class Start {
    final String name;
    final List<String> options = new ArrayList<>();
    final Map<String, String> environment = new LinkedHashMap<>();
    final Map<String, String> files = new LinkedHashMap<>();
    final List<String> expected = new ArrayList<>();
    boolean unreadable;
    Future<Ended> ended;

    Start(String name) {
      this.name = name;
      option("quarkus.http.port", "0");
      option("baton.rpc.port", "0");
    }

    Start option(String key, Object value) {
      options.removeIf(o -> o.startsWith("-D" + key + "="));
      options.add("-D" + key + "=" + value);
      return this;
    }

    Start variable(String variable, String value) {
      environment.put(variable, value);
      return this;
    }

    /** A file in the directory where it is started. */
    Start file(String path, String content) {
      files.put(path, content);
      return this;
    }

    Start publishers(String json) {
      return file("fleet.json", json).variable("CONDUCTOR_CONFIG_PATH", "fleet.json");
    }

    Start unreadable() {
      unreadable = true;
      return this;
    }

    Start says(String... fragments) {
      expected.addAll(List.of(fragments));
      return this;
    }

    @Override
    public String toString() {
      return name;
    }
  }

  @TempDir static Path directories;

  private static final ServerSocket HTTP = taken();
  private static final ServerSocket RPC = taken();
  private static final ServerSocket BOUND = taken();
  private static final Map<String, Start> STARTS = starts();
  private static final ExecutorService TURNS = Executors.newFixedThreadPool(AT_THE_SAME_TIME);

  private static ServerSocket taken() {
    try {
      ServerSocket socket = new ServerSocket();
      socket.bind(new InetSocketAddress(InetAddress.getByName("0.0.0.0"), 0));
      return socket;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A sound entry of the file, with one field set. */
  private static String entry(String name, String endpoint, String field, String value) {
    Map<String, String> fields = new LinkedHashMap<>();
    fields.put("endpoint", '"' + endpoint + '"');
    fields.put("type", "\"vLLM\"");
    fields.put("modelname", "\"m\"");
    fields.put("block_size", "16");
    fields.put("dp_rank", "0");
    fields.put(
        "hash_profile",
        """
        {"strategy": "vllm_v1", "algorithm": "sha256_cbor", "python_hash_seed": "0",
        "index_projection": "low64_be"}""");
    if (field != null) {
      fields.put(field, value);
    }
    StringBuilder entry = new StringBuilder();
    fields.forEach(
        (f, v) -> entry.append(entry.isEmpty() ? "" : ", ").append("\"" + f + "\": " + v));
    return "\"" + name + "\": {" + entry + "}";
  }

  private static String entry(String name, String endpoint) {
    return entry(name, endpoint, null, null);
  }

  private static String file(String... entries) {
    return "{\"kvevent_instance\": {" + String.join(",\n", entries) + "}}";
  }

  private static Map<String, Start> starts() {
    List<Start> starts = new ArrayList<>();
    for (String size : List.of("nan", "inf", "-1", "1d", "", "1e-20", "1000000")) {
      starts.add(
          new Start("cache size \"" + size + "\"")
              .variable(VARIABLE, size)
              .says(VARIABLE + "=\"" + size + "\""));
    }
    starts.addAll(
        List.of(
            new Start("file: no JSON")
                .publishers("{\"kvevent_instance\": {\n  \"a\": {,}}}")
                .says("fleet.json line 2 column", "is not valid JSON"),
            new Start("file: empty").publishers("").says("fleet.json: is empty"),
            new Start("file: an array")
                .publishers("[]")
                .says("fleet.json: must be an object, not []"),
            new Start("file: something after its end")
                .publishers("{} {}")
                .says("fleet.json line 1 column", "more follows after its end"),
            new Start("file: an entry twice")
                .publishers(file(entry("a", "tcp://h:1"), entry("a", "tcp://h:2")))
                .says("fleet.json line", "uplicate", "'a'"),
            new Start("file: wrong types")
                .publishers(
                    file(
                        entry("a", "tcp://h:1", "block_size", "\"16\""),
                        entry("b", "tcp://h:2", "modelname", "7"),
                        entry("c", "tcp://h:3", "hash_profile", "\"vllm_v1\"")))
                .says(
                    "kvevent_instance.a.block_size in fleet.json: must be an integer, not \"16\"",
                    "kvevent_instance.b.modelname in fleet.json: must be a string, not 7",
                    "kvevent_instance.c.hash_profile in fleet.json: must be an object"),
            new Start("file: wrong values")
                .publishers(
                    file(
                        entry("a", "tcp://h", "type", "\"vllm\""),
                        entry("b", "tcp://h:2", "dp_rank", "-1"),
                        entry("c", "tcp://h:3", "cache_group", "1")))
                .says(
                    "kvevent_instance.a.endpoint in fleet.json",
                    "\"tcp://h\"",
                    "kvevent_instance.a.type in fleet.json",
                    "\"vllm\"",
                    "kvevent_instance.b.dp_rank in fleet.json",
                    "not \"-1\"",
                    "kvevent_instance.c.cache_group in fleet.json"),
            new Start("file: unknown fields")
                .publishers(
                    "{\"verbose\": true, "
                        + file(entry("a", "tcp://h:1", "port", "1")).substring(1))
                .says(
                    "verbose in fleet.json: is unknown",
                    "kvevent_instance.a.port in fleet.json: is no field of a publisher"),
            new Start("file: an endpoint twice")
                .publishers(file(entry("a", "tcp://h:5557"), entry("b", "tcp://H:05557")))
                .says("kvevent_instance.b.endpoint in fleet.json", "is registered as a|default|0"),
            new Start("file: an instance twice")
                .publishers(
                    file(entry("a", "tcp://h:1"), entry("b", "tcp://h:2", "instance_id", "\"a\"")))
                .says("kvevent_instance.b.instance_id in fleet.json", "a|default|0"),
            new Start("file: two hash profiles of one context")
                .publishers(
                    file(
                        entry("a", "tcp://h:1"),
                        entry(
                            "b",
                            "tcp://h:2",
                            "hash_profile",
                            """
                            {"strategy": "vllm_v1", "algorithm": "sha256", "python_hash_seed": "0",
                            "index_projection": "low64_be"}""")))
                .says("kvevent_instance.b.hash_profile", "bound to another hash profile"),
            new Start("file: an endpoint that is not allowed")
                .option("baton.registration.allowed-endpoints", "tcp://10.*")
                .publishers(file(entry("a", "tcp://h:1")))
                .says("kvevent_instance.a.endpoint in fleet.json", "not among", "tcp://h:1"),
            new Start("file: an entry without a name")
                .publishers(file(entry("", "tcp://h:1")))
                .says("has no name"),
            new Start("file: ports that are none")
                .publishers("{\"http_server_port\": \"1\", \"rpc_server_port\": 1.5}")
                .says("http_server_port in fleet.json", "rpc_server_port in fleet.json"),
            new Start("file: a directory")
                .variable("CONDUCTOR_CONFIG_PATH", ".")
                .says(".: cannot be read"),
            new Start("file: one that nobody may read")
                .publishers("{}")
                .unreadable()
                .says("fleet.json: cannot be read: permission denied"),
            new Start("unknown keys everywhere")
                .option("baton.rpc.prot", 1)
                .variable("BATON_HTTP_PORT", "8080")
                .file("config/application.properties", "baton.nonsense=1\n")
                .says(
                    "baton.rpc.prot in system properties: is no key of Baton's",
                    "BATON_HTTP_PORT in the environment: is no key of Baton's",
                    "baton.nonsense in ",
                    "config/application.properties: is no key of Baton's"),
            new Start("properties: wrong values")
                .file(
                    "config/application.properties",
                    """
                    baton.recovery.on-loss=drop
                    baton.zmq.threads=many
                    baton.publishers.a.endpoint=tcp://h:1
                    baton.publishers.a.nonsense=1
                    """)
                .says(
                    "baton.recovery.on-loss in ",
                    "must be retract or keep, not \"drop\"",
                    "baton.zmq.threads in ",
                    "not \"many\"",
                    "baton.publishers.a.nonsense in ",
                    "is no field of a publisher",
                    "publisher a in ",
                    "block_size is missing"),
            new Start("environment: wrong values")
                .variable("BATON_ADMIN_GUARD_REGISTRATION", "yes")
                .variable("BATON_INDEX_MAX_BLOCKS", "1e6")
                .variable("QUARKUS_SHUTDOWN_DELAY", "soon")
                .variable("CONDUCTOR_LOG_LEVEL", "LOUD")
                .variable("BATON_PUBLISHERS_VLLM_0_BLOCK_SIZE", "big")
                .says(
                    "BATON_ADMIN_GUARD_REGISTRATION in the environment",
                    "\"yes\"",
                    "BATON_INDEX_MAX_BLOCKS in the environment",
                    "\"1e6\"",
                    "QUARKUS_SHUTDOWN_DELAY in the environment",
                    "\"soon\"",
                    "CONDUCTOR_LOG_LEVEL in the environment",
                    "\"LOUD\"",
                    "BATON_PUBLISHERS_VLLM_0_BLOCK_SIZE in the environment",
                    "publisher vllm-0 in the environment: endpoint is missing"),
            new Start("expression that leads nowhere")
                .option("baton.rpc.host", "${nowhere}")
                .says("baton.rpc.host", "nowhere"),
            new Start("HTTP port in use")
                .option("quarkus.http.port", HTTP.getLocalPort())
                .says("quarkus.http.port", "cannot listen at 0.0.0.0:" + HTTP.getLocalPort()),
            new Start("RPC port in use")
                .option("baton.rpc.port", RPC.getLocalPort())
                .says("baton.rpc.port", "cannot listen at 0.0.0.0:" + RPC.getLocalPort()),
            new Start("both ports in use")
                .option("quarkus.http.port", HTTP.getLocalPort())
                .option("baton.rpc.port", RPC.getLocalPort())
                .says("0.0.0.0:" + HTTP.getLocalPort(), "0.0.0.0:" + RPC.getLocalPort()),
            new Start("both ports the same")
                .option("quarkus.http.port", "14000")
                .option("baton.rpc.port", "14000")
                .says("quarkus.http.port in system properties", "14000 is the RPC port too"),
            new Start("port that is none")
                .option("quarkus.http.port", "65536")
                .option("baton.rpc.port", "-1")
                .says(
                    "quarkus.http.port in system properties: must be from 0 to 65535",
                    "baton.rpc.port in system properties: must be from 0 to 65535"),
            new Start("port of a publisher in use")
                .publishers(file(entry("a", "tcp://*:" + BOUND.getLocalPort())))
                .says("publisher a in fleet.json", "tcp://*:" + BOUND.getLocalPort(), "in use"),
            new Start("address of another Conductor, and publishers")
                .option("baton.conductor.address", "127.0.0.1:1")
                .publishers(file(entry("a", "tcp://h:1")))
                .says("baton.conductor.address", "no publishers can be configured here"),
            new Start("address that is none")
                .option("baton.conductor.address", "somewhere")
                .says("baton.conductor.address", "must be host:port, not \"somewhere\""),
            new Start("everything at once")
                .publishers("{\"verbose\": 1, \"kvevent_instance\": {\"a\": {}, \"b\": 1}}")
                .option("baton.rpc.port", "x")
                .variable("BATON_NONSENSE", "1")
                .variable(VARIABLE, "nan")
                .file("config/application.properties", "baton.demo.engines=101\n")
                .says(
                    "verbose in fleet.json",
                    "publisher a: endpoint is missing",
                    "kvevent_instance.b in fleet.json",
                    "baton.rpc.port in system properties",
                    "BATON_NONSENSE in the environment",
                    VARIABLE + "=\"nan\"",
                    "baton.demo.engines in ",
                    "must be from 0 to 100, not \"101\"")));
    Map<String, Start> byName = new LinkedHashMap<>();
    starts.forEach(start -> byName.put(start.name, start));
    return byName;
  }

  static Iterable<String> names() {
    return STARTS.keySet();
  }

  @BeforeAll
  static void start() {
    STARTS.values().forEach(start -> start.ended = TURNS.submit(() -> run(start)));
  }

  @AfterAll
  static void stop() throws IOException {
    TURNS.shutdownNow();
    HTTP.close();
    RPC.close();
    BOUND.close();
  }

  private static Ended run(Start start) throws Exception {
    Path directory = Files.createTempDirectory(directories, "start");
    for (Map.Entry<String, String> file : start.files.entrySet()) {
      Path path = directory.resolve(file.getKey());
      Files.createDirectories(path.getParent());
      Files.writeString(path, file.getValue());
      if (start.unreadable) {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("---------"));
        if (Files.isReadable(path)) {
          return null; // root may read everything
        }
      }
    }
    Path output = directory.resolve("output");
    Path errors = directory.resolve("errors");
    ProcessBuilder builder = BatonProcess.builder(start.options);
    builder.environment().putAll(start.environment);
    builder.directory(directory.toFile());
    builder.redirectOutput(output.toFile()).redirectError(errors.toFile());
    Process process = builder.start();
    try {
      assertThat(process.waitFor(Api.PATIENCE.toSeconds(), TimeUnit.SECONDS)).as("ended").isTrue();
      return new Ended(process.exitValue(), Files.readString(output), Files.readString(errors));
    } finally {
      process.destroyForcibly();
    }
  }

  @ParameterizedTest
  @MethodSource("names")
  void start_withAWrongConfiguration_endsAndSaysAllThatIsWrong(String name) throws Exception {
    Start start = STARTS.get(name);
    Ended ended = start.ended.get();
    Assumptions.assumeTrue(ended != null, "nothing is unreadable here");
    assertThat(ended.code()).as("%s%n%s", ended.output(), ended.errors()).isEqualTo(1);
    assertThat(ended.errors())
        .contains(start.expected)
        .doesNotContain("\tat ", "java.lang", "Exception");
    assertThat(ended.output() + ended.errors()).doesNotContain("listens", "\tat ");
  }
}
