package baton.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;

/** What a router of prompts asks Baton, over HTTP. */
final class Router {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern SAMPLE = Pattern.compile("(\\w+)(?:\\{(.*)})? (\\S+)");
  private static final Pattern LABEL = Pattern.compile("(\\w+)=\"([^\"]*)\"");

  /** Leading tokens held at each tier, and on the device by rank. */
  record Hit(long device, long cpuLocal, long cpuShare, long disk, Map<Integer, Long> dp) {
    /** The tiers alone, in their order. */
    List<Long> tiers() {
      return List.of(device, cpuLocal, cpuShare, disk);
    }
  }

  record Reply(int status, JsonNode body) {}

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final String root;
  private final ConcurrentLinkedQueue<Registration> registered = new ConcurrentLinkedQueue<>();

  Router(URL root) {
    this.root = root.toString().replaceAll("/$", "");
  }

  /** Until the assertion holds; it is the assertion that fails at the end. */
  static void eventually(ThrowingRunnable assertion) {
    Awaitility.await()
        .pollInSameThread()
        .atMost(PATIENCE)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(20))
        .untilAsserted(assertion);
  }

  void register(Registration registration) {
    Reply reply = post("/register", registration.body());
    assertThat(reply.status()).as("%s", reply.body()).isEqualTo(200);
    registered.add(registration);
  }

  void unregister(Registration registration) {
    registered.remove(registration);
    Reply reply = post("/unregister", registration.key());
    assertThat(reply.status()).as("%s", reply.body()).isEqualTo(200);
  }

  /** Ends what this router has registered. */
  void unregisterAll() {
    registered.forEach(this::unregister);
  }

  /** What each instance with the model holds of a prompt. */
  Map<String, Hit> query(Registration of, Prompt prompt) {
    return hits("/query", of, "token_ids", prompt.tokens());
  }

  /** The same by the blocks' keys. */
  Map<String, Hit> queryByHash(Registration of, List<Long> keys) {
    List<BigInteger> unsigned =
        keys.stream().map(key -> new BigInteger(Long.toUnsignedString(key))).toList();
    return hits("/query_by_hash", of, "seq_hashes", unsigned);
  }

  private Map<String, Hit> hits(String path, Registration of, String field, Object value) {
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("model", of.model());
    body.put("block_size", Prompt.BLOCK_SIZE);
    body.put("tenant_id", of.tenant());
    body.put(field, value);
    Reply reply = post(path, body);
    assertThat(reply.status()).as("%s", reply.body()).isEqualTo(200);
    Map<String, Hit> hits = new TreeMap<>();
    reply.body().get("instances").properties().forEach(e -> hits.put(e.getKey(), hit(e)));
    return hits;
  }

  private static Hit hit(Map.Entry<String, JsonNode> entry) {
    JsonNode hit = entry.getValue();
    Map<Integer, Long> dp = new TreeMap<>();
    hit.get("dp")
        .properties()
        .forEach(e -> dp.put(Integer.valueOf(e.getKey()), e.getValue().asLong()));
    return new Hit(
        hit.get("device").asLong(),
        hit.get("cpu_local").asLong(),
        hit.get("cpu_share").asLong(),
        hit.get("disk").asLong(),
        dp);
  }

  /** What the registered instance itself holds of a prompt. */
  Hit hit(Registration registration, Prompt prompt) {
    Map<String, Hit> hits = query(registration, prompt);
    assertThat(hits).containsKey(registration.instance());
    return hits.get(registration.instance());
  }

  /** Waits until the instance holds so many leading tokens of the prompt, tier by tier. */
  void awaitTiers(
      Registration registration,
      Prompt prompt,
      long device,
      long cpuLocal,
      long cpuShare,
      long disk) {
    eventually(
        () ->
            assertThat(hit(registration, prompt).tiers())
                .containsExactly(device, cpuLocal, cpuShare, disk));
  }

  void awaitDevice(Registration registration, Prompt prompt, long tokens) {
    eventually(() -> assertThat(hit(registration, prompt).device()).isEqualTo(tokens));
  }

  JsonNode services() {
    return get("/services").get("services");
  }

  /** Different blocks that are held in the context. */
  long prefixCount(Registration registration) {
    for (JsonNode context : get("/global_view").get("contexts")) {
      if (context.get("model_name").asText().equals(registration.model())
          && context.get("tenant_id").asText().equals(registration.tenant())) {
        return context.get("prefix_count").asLong();
      }
    }
    throw new AssertionError("no context of " + registration);
  }

  /** All meters: name, then labels in alphabetical order as {@code name{a=1,b=2}}. */
  Map<String, Double> metrics() {
    Map<String, Double> samples = new TreeMap<>();
    text("/q/metrics")
        .lines()
        .forEach(
            line -> {
              Matcher sample = SAMPLE.matcher(line);
              if (!line.startsWith("#") && sample.matches()) {
                samples.put(
                    sample.group(1) + labels(sample.group(2)), Double.valueOf(sample.group(3)));
              }
            });
    return samples;
  }

  private static String labels(String text) {
    Map<String, String> labels = new TreeMap<>();
    Matcher label = LABEL.matcher(text == null ? "" : text);
    while (label.find()) {
      labels.put(label.group(1), label.group(2));
    }
    return labels.isEmpty() ? "" : labels.toString().replace(", ", ",");
  }

  /** One meter, by the name that {@link #metrics} gives it. */
  long metric(String name) {
    Double value = metrics().get(name);
    assertThat(value).as("the metric %s", name).isNotNull();
    return value.longValue();
  }

  long refused(String type, String reason) {
    return metric("baton_events_refused_total{reason=" + reason + ",type=" + type + "}");
  }

  long applied(String type, String kind) {
    return metric("baton_events_total{kind=" + kind + ",type=" + type + "}");
  }

  long publishers(String state) {
    return metric("baton_publishers{state=" + state + "}");
  }

  Reply post(String path, Object body) {
    try {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(root + path))
              .header("Content-Type", "application/json")
              .timeout(PATIENCE)
              .POST(BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)))
              .build();
      HttpResponse<String> response = send(request);
      return new Reply(response.statusCode(), JSON.readTree(response.body()));
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The status that a path is answered with. */
  int status(String path) {
    return send(HttpRequest.newBuilder(URI.create(root + path)).timeout(PATIENCE).build())
        .statusCode();
  }

  JsonNode get(String path) {
    try {
      return JSON.readTree(text(path));
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String text(String path) {
    HttpResponse<String> response =
        send(HttpRequest.newBuilder(URI.create(root + path)).timeout(PATIENCE).build());
    assertThat(response.statusCode()).as(path).isEqualTo(200);
    return response.body();
  }

  private HttpResponse<String> send(HttpRequest request) {
    try {
      return http.send(request, BodyHandlers.ofString());
    } catch (IOException e) {
      throw new UncheckedIOException(request.toString(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }
}
