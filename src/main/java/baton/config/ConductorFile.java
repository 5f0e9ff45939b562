package baton.config;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What {@code conductor_config.json} says: {@code {"http_server_port", "rpc_server_port",
 * "kvevent_instance": {name: fields of a registration}}}.
 *
 * @param ports by key
 * @param publishers by name, their fields as in {@link Key#PUBLISHER_FIELDS}
 * @param faults in its form; what values mean is looked at elsewhere
 */
record ConductorFile(
    Map<String, Given> ports, Map<String, Map<String, Given>> publishers, List<Fault> faults) {
  /** Above a {@code config/application.properties}, below the environment. */
  static final int ORDINAL = 275;

  static final int MAX_BYTES = 64 * 1024 * 1024;
  static final ConductorFile NONE = new ConductorFile(Map.of(), Map.of(), List.of());

  private static final Map<String, String> PORTS =
      Map.of("http_server_port", "quarkus.http.port", "rpc_server_port", "baton.rpc.port");
  private static final String BYTE_ORDER_MARK = "\uFEFF";
  private static final String PUBLISHERS = "kvevent_instance";
  private static final String NO_FIELD = "is no field of a publisher";
  private static final Set<String> INTEGERS = Set.of("block_size", "dp_rank", "cache_group");
  private static final ObjectReader JSON =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build()
          .reader();

  static ConductorFile parse(byte[] bytes, Path path) {
    var reading =
        new Reading(path, new LinkedHashMap<>(), new LinkedHashMap<>(), new ArrayList<>());
    reading.file(bytes);
    return new ConductorFile(reading.ports, reading.publishers, reading.faults);
  }

  private record Reading(
      Path path,
      Map<String, Given> ports,
      Map<String, Map<String, Given>> publishers,
      List<Fault> faults) {

    void file(byte[] bytes) {
      ByteBuffer in = ByteBuffer.wrap(bytes);
      CharBuffer text = CharBuffer.allocate(bytes.length);
      if (StandardCharsets.UTF_8.newDecoder().decode(in, text, true).isError()) {
        faults.add(new Fault(path.toString(), "is not UTF-8 at byte " + in.position()));
      } else {
        json(text.flip().toString());
      }
    }

    private void json(String text) {
      try {
        JsonNode root = JSON.readTree(text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text);
        if (root == null || root.isMissingNode()) {
          faults.add(new Fault(path.toString(), "is empty; an object is needed"));
        } else if (root.isObject()) {
          root.properties().forEach(field -> topLevel(field.getKey(), field.getValue()));
        } else {
          faults.add(new Fault(path.toString(), "must be an object" + shown(root)));
        }
      } catch (MismatchedInputException e) {
        // The library takes it for a matter of its own classes.
        faults.add(new Fault(path + place(e), "is not valid JSON: more follows after its end"));
      } catch (JsonProcessingException e) {
        faults.add(
            new Fault(path + place(e), "is not valid JSON: " + plain(e.getOriginalMessage())));
      }
    }

    private static String place(JsonProcessingException e) {
      JsonLocation at = e.getLocation();
      return at == null ? "" : " line " + at.getLineNr() + " column " + at.getColumnNr();
    }

    /** The library's words, but for those that tell of its own settings. */
    private static String plain(String text) {
      return text.replaceAll("\\s+", " ")
          .replaceAll(", from `[^`]*`", "")
          .replaceAll("( \\((start|for) [^(]*\\[Source|: enable `).*", "");
    }

    private void topLevel(String name, JsonNode value) {
      if (PORTS.containsKey(name)) {
        if (value.isIntegralNumber()) {
          ports.put(PORTS.get(name), given(name, value.asText()));
        } else {
          faults.add(fault(name, "must be an integer" + shown(value)));
        }
      } else if (name.equals(PUBLISHERS)) {
        if (requireObject(name, value)) {
          value.properties().forEach(entry -> publisher(entry.getKey(), entry.getValue()));
        }
      } else {
        faults.add(
            fault(name, "is unknown; " + PUBLISHERS + " and the two ports are all there is"));
      }
    }

    private void publisher(String name, JsonNode entry) {
      String where = PUBLISHERS + "." + name;
      if (requireObject(where, entry)) {
        Map<String, Given> fields = new LinkedHashMap<>();
        publishers.put(name, fields);
        fields(where + ".", "", entry, fields);
      }
    }

    private void fields(String where, String prefix, JsonNode object, Map<String, Given> fields) {
      for (Map.Entry<String, JsonNode> field : object.properties()) {
        String name = field.getKey();
        String known = prefix + name.replace('_', '-');
        JsonNode value = field.getValue();
        if (!name.matches("[a-z_]+")) {
          faults.add(fault(where + name, NO_FIELD));
        } else if (known.equals("hash-profile")) {
          profile(where + name, value, fields);
        } else if (!Key.PUBLISHER_FIELDS.contains(known)) {
          faults.add(fault(where + name, NO_FIELD));
        } else if (!(name.equals("cache_group") && value.isNull())) {
          boolean integer = INTEGERS.contains(name);
          boolean fits = integer ? value.isIntegralNumber() : value.isTextual();
          if (!fits) {
            String wanted = integer ? "must be an integer" : "must be a string";
            faults.add(fault(where + name, wanted + shown(value)));
          }
          fields.put(known, given(where + name, fits ? value.asText() : Given.REFUSED));
        }
      }
    }

    private void profile(String where, JsonNode value, Map<String, Given> fields) {
      if (requireObject(where, value)) {
        fields(where + ".", "hash-profile.", value, fields);
      } else {
        Key.PUBLISHER_FIELDS.stream()
            .filter(field -> field.startsWith("hash-profile."))
            .forEach(field -> fields.put(field, given(where, Given.REFUSED)));
      }
    }

    private boolean requireObject(String where, JsonNode value) {
      if (!value.isObject()) {
        faults.add(fault(where, "must be an object" + shown(value)));
      }
      return value.isObject();
    }

    private static String shown(JsonNode value) {
      return ", not " + Key.shortened(value.toString());
    }

    private Given given(String where, String value) {
      return new Given(value, where + " in " + path, path.toString(), ORDINAL);
    }

    private Fault fault(String where, String problem) {
      return new Fault(where + " in " + path, problem);
    }
  }
}
