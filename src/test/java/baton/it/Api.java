package baton.it;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.eclipse.microprofile.config.ConfigProvider;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePacker;
import org.msgpack.jackson.dataformat.MessagePackFactory;

/** The running application as any HTTP client sees it. */
final class Api {
  static final String JSON = "application/json";
  static final String MSGPACK = "application/msgpack";

  /** A deadline for the slowest of machines, not an expectation. */
  static final Duration PATIENCE = Duration.ofMinutes(2);

  private static final ObjectMapper JSON_MAPPER = new ObjectMapper();
  private static final ObjectMapper MSGPACK_MAPPER = new ObjectMapper(new MessagePackFactory());
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private Api() {}

  /**
   * What the application answered.
   *
   * @param body the tree of a JSON or MessagePack body, or null
   */
  record Reply(
      int status, String type, Map<String, List<String>> headers, String text, JsonNode body) {
    Optional<String> header(String name) {
      return headers.entrySet().stream()
          .filter(e -> e.getKey().equalsIgnoreCase(name))
          .map(e -> String.join(", ", e.getValue()))
          .findFirst();
    }
  }

  /** Where the application listens; its port is another one in every run. */
  static URI uri() {
    return URI.create(ConfigProvider.getConfig().getValue("test.url", String.class));
  }

  static Reply get(String path, String... headers) {
    return send("GET", path, null, headers);
  }

  /** Posts fields as JSON. */
  static Reply post(String path, Map<String, ?> fields) {
    return send("POST", path, json(fields), "Content-Type", JSON);
  }

  /** Posts fields as MessagePack. */
  static Reply postMsgpack(String path, Map<String, ?> fields) {
    return send("POST", path, msgpack(fields), "Content-Type", MSGPACK);
  }

  static Reply send(String method, String path, byte[] body, String... headers) {
    return sendBody(
        method,
        path,
        body == null ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body),
        headers);
  }

  static Reply sendBody(String method, String path, BodyPublisher body, String... headers) {
    return send(method, uri().resolve(path), body, headers);
  }

  /** Gets something of a Baton that is not the application under test. */
  static Reply get(URI uri, String... headers) {
    return send("GET", uri, BodyPublishers.noBody(), headers);
  }

  private static Reply send(String method, URI uri, BodyPublisher body, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri).timeout(PATIENCE).method(method, body);
    if (headers.length > 0) {
      request.headers(headers);
    }
    try {
      HttpResponse<byte[]> response = CLIENT.send(request.build(), BodyHandlers.ofByteArray());
      return reply(response.statusCode(), response.headers().map(), response.body());
    } catch (IOException e) {
      throw new UncheckedIOException(method + " " + uri, e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  static Reply reply(int status, Map<String, List<String>> headers, byte[] bytes) {
    Reply bare = new Reply(status, null, headers, new String(bytes, StandardCharsets.UTF_8), null);
    String type = bare.header("Content-Type").orElse("").split(";")[0];
    return new Reply(status, type, headers, bare.text(), tree(type, bytes));
  }

  private static JsonNode tree(String type, byte[] bytes) {
    try {
      return switch (type) {
        case JSON -> JSON_MAPPER.readTree(bytes);
        // By way of JSON, so that equal numbers become equal nodes.
        case MSGPACK -> tree(MSGPACK_MAPPER.readTree(bytes).toString());
        default -> null;
      };
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static JsonNode tree(String json) {
    try {
      return JSON_MAPPER.readTree(json);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  static byte[] json(Object value) {
    try {
      return JSON_MAPPER.writeValueAsBytes(value);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  static byte[] msgpack(Object value) {
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      pack(packer, value);
      return packer.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void pack(MessagePacker packer, Object value) throws IOException {
    if (value == null) {
      packer.packNil();
    } else if (value instanceof String text) {
      packer.packString(text);
    } else if (value instanceof Boolean flag) {
      packer.packBoolean(flag);
    } else if (value instanceof Double number) {
      packer.packDouble(number);
    } else if (value instanceof BigInteger number) {
      packer.packBigInteger(number);
    } else if (value instanceof Number number) {
      packer.packLong(number.longValue());
    } else if (value instanceof byte[] bytes) {
      packer.packBinaryHeader(bytes.length);
      packer.writePayload(bytes);
    } else if (value instanceof List<?> list) {
      packer.packArrayHeader(list.size());
      for (Object element : list) {
        pack(packer, element);
      }
    } else if (value instanceof Map<?, ?> map) {
      packer.packMapHeader(map.size());
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        pack(packer, entry.getKey());
        pack(packer, entry.getValue());
      }
    } else {
      throw new IllegalArgumentException("no MessagePack for " + value.getClass());
    }
  }

  /** Fields in the order given: names and values in turn. */
  static Map<String, Object> fields(Object... namesAndValues) {
    Map<String, Object> fields = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      fields.put((String) namesAndValues[i], namesAndValues[i + 1]);
    }
    return fields;
  }

  /** The same fields with one set, perhaps to null; a dot leads into an inner object. */
  static Map<String, Object> with(Map<String, Object> fields, String path, Object value) {
    Map<String, Object> changed = new LinkedHashMap<>(fields);
    String[] names = path.split("\\.", 2);
    changed.put(
        names[0], names.length == 1 ? value : with(inner(fields, names[0]), names[1], value));
    return changed;
  }

  /** The same fields with two set. */
  static Map<String, Object> with(
      Map<String, Object> fields, String path, Object value, String path2, Object value2) {
    return with(with(fields, path, value), path2, value2);
  }

  /** The same fields but for one. */
  static Map<String, Object> without(Map<String, Object> fields, String path) {
    Map<String, Object> changed = new LinkedHashMap<>(fields);
    String[] names = path.split("\\.", 2);
    if (names.length == 1) {
      changed.remove(path);
    } else {
      changed.put(names[0], without(inner(fields, names[0]), names[1]));
    }
    return changed;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> inner(Map<String, Object> fields, String name) {
    return (Map<String, Object>) fields.get(name);
  }

  static void unregisterAll() {
    for (JsonNode service : get("/services").body().get("services")) {
      Map<String, Object> key =
          fields(
              "instance_id", service.get("InstanceID").textValue(),
              "tenant_id", service.get("TenantID").textValue(),
              "dp_rank", service.get("DPRank").intValue());
      Reply reply = post("/unregister", key);
      if (reply.status() != 200) {
        throw new IllegalStateException(reply.text());
      }
    }
  }

  static Map<String, Object> vllmProfile(String seed) {
    return fields(
        "strategy", "vllm_v1",
        "algorithm", "sha256_cbor",
        "python_hash_seed", seed,
        "index_projection", "low64_be");
  }

  /** A vLLM rank that nobody plays, at a port of its own. */
  static Map<String, Object> vllm(String instance, int rank, int port) {
    return fields(
        "endpoint",
        "tcp://127.0.0.1:" + port,
        "type",
        "vLLM",
        "modelname",
        "m",
        "instance_id",
        instance,
        "block_size",
        4,
        "dp_rank",
        rank,
        "hash_profile",
        vllmProfile("0"));
  }
}
