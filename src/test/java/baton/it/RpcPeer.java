package baton.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A peer on the RPC channel that shares no code with Baton: {@code rpc_peer.py}, written from the
 * channel's description in plain Python. As a server it is a Conductor with fixed answers.
 */
final class RpcPeer implements AutoCloseable {
  private static final String PYTHON = "python3";
  private static final List<String> KINDS = List.of("vLLM", "Mooncake", "SGLang");

  private final String[] words;
  private Process process;
  private int port;

  private RpcPeer(String... words) {
    this.words = words;
  }

  /** Whether there is a Python to run it; a test that needs it is skipped where there is none. */
  static boolean isThere() {
    try {
      return Boolean.getBoolean("require-libzmq")
          || new ProcessBuilder(PYTHON, "--version").start().waitFor() == 0;
    } catch (IOException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** Serves a free port; the words are the program's options. */
  static RpcPeer serve(String... words) {
    RpcPeer peer = new RpcPeer(words);
    peer.start();
    return peer;
  }

  /** Serves, after {@link #stop} at the same port as before. */
  void start() {
    List<String> command = new ArrayList<>(List.of("serve", Integer.toString(port)));
    command.addAll(Arrays.asList(words));
    try {
      process = run(command);
      BufferedReader output = process.inputReader();
      String line = output.readLine();
      assertThat(line).as("the first line of rpc_peer.py").startsWith("serving ");
      port = Integer.parseInt(line.substring("serving ".length()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Ends the server and all its connections. */
  void stop() {
    process.destroyForcibly();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    stop();
  }

  String address() {
    return "127.0.0.1:" + port;
  }

  private static Process run(List<String> words) throws IOException {
    List<String> command = new ArrayList<>(List.of(PYTHON, script()));
    command.addAll(words);
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  private static String script() {
    try {
      return Path.of(RpcPeer.class.getResource("/python/rpc_peer.py").toURI()).toString();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Calls one function of the Conductor at an address; what it returned, as the peer shows it. */
  static JsonNode call(String address, boolean typed, String method, Object argument) {
    String json = new String(Api.json(argument), StandardCharsets.UTF_8);
    List<String> words = new ArrayList<>(List.of("call", address, method, json));
    if (typed) {
      words.add("typed");
    }
    return outputs(words).get(method);
  }

  /** The peer's whole list of calls: name to what was returned. */
  static Map<String, JsonNode> callAll(String address, boolean typed) {
    List<String> words = new ArrayList<>(List.of("call", address));
    if (typed) {
      words.add("typed");
    }
    return outputs(words);
  }

  private static Map<String, JsonNode> outputs(List<String> words) {
    try {
      Process process = run(words);
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(process.waitFor()).as("%s: %s", words, output).isZero();
      Map<String, JsonNode> results = new LinkedHashMap<>();
      output
          .lines()
          .map(Api::tree)
          .forEach(line -> results.put(line.get("call").textValue(), line.get("result")));
      return results;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** The channel's list of services as {@code GET /services} shows it. */
  static JsonNode asHttpServices(JsonNode services) {
    ArrayNode list = JsonNodeFactory.instance.arrayNode();
    for (JsonNode service : services) {
      ObjectNode shown = list.addObject();
      shown.set("Endpoint", service.get("endpoint"));
      shown.set("ReplayEndpoint", service.get("replay_endpoint"));
      shown.put("Type", KINDS.get(service.get("publisher_kind").intValue()));
      shown.set("ModelName", service.get("model_name"));
      shown.set("LoraName", service.get("lora_name"));
      shown.set("TenantID", service.get("tenant_id"));
      shown.set("InstanceID", service.get("instance_id"));
      shown.set("BlockSize", service.get("block_size"));
      shown.set("DPRank", service.get("dp_rank"));
      shown.set("CacheGroup", service.get("cache_group"));
      shown.set("HashProfile", service.get("hash_profile"));
    }
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    body.put("count", list.size());
    body.set("services", list);
    return body;
  }

  /** The channel's global view as {@code GET /global_view} shows it. */
  static JsonNode asHttpView(JsonNode view) {
    ArrayNode list = JsonNodeFactory.instance.arrayNode();
    for (JsonNode context : view.get("contexts")) {
      ObjectNode shown = list.addObject();
      JsonNode key = context.get("context");
      shown.set("model_name", key.get("model_name"));
      shown.set("lora_name", key.get("lora_name"));
      shown.set("block_size", key.get("block_size"));
      shown.set("tenant_id", key.get("tenant_id"));
      shown.set("prefix_count", context.get("prefix_count"));
      shown.set("hash_profile", context.get("profile"));
      shown.set("instances", context.get("instance_ranks"));
    }
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    body.set("context_count", view.get("context_count"));
    body.set("contexts", list);
    return body;
  }
}
