package baton.rpc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * struct_pack driven by a description of the type, after {@code rpc_peer.py}: slow, general and
 * sharing nothing with the codec. Values are JSON in the shape of {@code rpc.json}.
 */
record StructPackModel(Kind kind, List<String> names, List<StructPackModel> parts) {
  enum Kind {
    INT32("01", 4),
    INT64("03", 8),
    UINT64("04", 8),
    UINT16("08", 2),
    BOOL("0b", 1),
    STRING("800c", 0),
    MAP("82", 0),
    SET("83", 0),
    VECTOR("84", 0),
    OPTIONAL("85", 0),
    EXPECTED("87", 0),
    STRUCT("fd", 0);

    final String node;
    final int size;

    Kind(String node, int size) {
      this.node = node;
      this.size = size;
    }
  }

  /**
   * How to write, beyond the plain form.
   *
   * @param width 1, 2, 4, 8, or 0 for the smallest that will do
   */
  record Form(int width, boolean typed) {
    static final Form PLAIN = new Form(0, false);
  }

  static final StructPackModel STRING = scalar(Kind.STRING);
  static final StructPackModel INT32 = scalar(Kind.INT32);
  static final StructPackModel INT64 = scalar(Kind.INT64);

  private static final StructPackModel CONTEXT =
      struct("tenant_id", STRING, "model_name", STRING, "lora_name", STRING, "block_size", INT64);
  private static final StructPackModel PROFILE =
      struct(
          "strategy", STRING,
          "algorithm", STRING,
          "python_hash_seed", STRING,
          "root_digest", STRING,
          "index_projection", STRING);
  private static final StructPackModel RANK_HIT =
      struct("device", INT64, "cpu_local", INT64, "cpu_share", INT64, "disk", INT64);
  private static final StructPackModel CACHE_HIT =
      struct(
          "longest_matched", INT64,
          "dp", of(Kind.MAP, INT64, INT64),
          "rank_matches", of(Kind.MAP, INT64, RANK_HIT),
          "device", INT64,
          "cpu_local", INT64,
          "cpu_share", INT64,
          "disk", INT64);

  static final StructPackModel QUERY_REQUEST =
      struct(
          "context", CONTEXT,
          "token_ids", of(Kind.VECTOR, INT32),
          "cache_salt", of(Kind.OPTIONAL, STRING),
          "instance_filter", of(Kind.OPTIONAL, STRING));
  static final StructPackModel SERVICE_CONFIG =
      struct(
          "endpoint", STRING,
          "replay_endpoint", STRING,
          "publisher_kind", INT32,
          "model_name", STRING,
          "lora_name", STRING,
          "tenant_id", STRING,
          "instance_id", STRING,
          "block_size", INT64,
          "dp_rank", INT32,
          "cache_group", of(Kind.OPTIONAL, INT64),
          "hash_profile", PROFILE);
  static final StructPackModel UNREGISTER_ARGS =
      struct("instance_id", STRING, "tenant_id", STRING, "dp_rank", INT32);
  static final StructPackModel QUERY_RESULT =
      of(Kind.EXPECTED, struct("instances", of(Kind.MAP, STRING, CACHE_HIT)));
  static final StructPackModel REGISTER_RESULT =
      of(Kind.EXPECTED, struct("instance_id", STRING, "is_new", scalar(Kind.BOOL)));
  static final StructPackModel UNREGISTER_RESULT = of(Kind.EXPECTED, struct("removed_key", STRING));
  static final StructPackModel GLOBAL_VIEW =
      struct(
          "context_count",
          INT32,
          "contexts",
          of(
              Kind.VECTOR,
              struct(
                  "context",
                  CONTEXT,
                  "profile",
                  PROFILE,
                  "instance_ranks",
                  of(Kind.MAP, STRING, of(Kind.SET, INT64)),
                  "prefix_count",
                  scalar(Kind.UINT64))));
  static final StructPackModel SERVICES = of(Kind.VECTOR, SERVICE_CONFIG);
  static final StructPackModel ERROR_PAIR = struct("code", scalar(Kind.UINT16), "text", STRING);

  private static StructPackModel scalar(Kind kind) {
    return new StructPackModel(kind, List.of(), List.of());
  }

  private static StructPackModel of(Kind kind, StructPackModel... parts) {
    return new StructPackModel(kind, List.of(), List.of(parts));
  }

  private static StructPackModel struct(Object... namesAndParts) {
    List<String> names = new ArrayList<>();
    List<StructPackModel> parts = new ArrayList<>();
    for (int i = 0; i < namesAndParts.length; i += 2) {
      names.add((String) namesAndParts[i]);
      parts.add((StructPackModel) namesAndParts[i + 1]);
    }
    return new StructPackModel(Kind.STRUCT, names, parts);
  }

  /** In hex. */
  String literal() {
    StringBuilder literal = new StringBuilder(kind.node);
    parts.forEach(part -> literal.append(part.literal()));
    if (kind == Kind.EXPECTED) {
      literal.append("01");
    }
    if (kind == Kind.STRUCT) {
      int alignment = alignment();
      if (alignment > 0) {
        literal.append(String.format("%02x", alignment + 129).repeat(2));
      }
      literal.append("ff");
    }
    return literal.toString();
  }

  /** Of a type whose members have all a fixed size; else 0. */
  private int alignment() {
    if (kind != Kind.STRUCT) {
      return kind.size;
    }
    boolean fixed = parts.stream().allMatch(part -> part.alignment() > 0);
    return fixed ? parts.stream().mapToInt(StructPackModel::alignment).max().orElse(0) : 0;
  }

  int hash() {
    return md5Start(HexFormat.of().parseHex(literal())) & ~1;
  }

  static int md5Start(byte[] bytes) {
    try {
      return new BigInteger(Arrays.copyOf(MessageDigest.getInstance("MD5").digest(bytes), 4))
          .intValue();
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  byte[] encode(JsonNode value, Form form) {
    int most = largest(value);
    int code = most < 256 ? 0 : most < 65536 ? 1 : 2;
    if (form.width > 0) {
      code = Math.max(code, Integer.numberOfTrailingZeros(form.width));
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    boolean meta = code > 0 || form.typed;
    number(out, hash() | (meta ? 1 : 0), 4);
    if (meta) {
      out.write(code << 3 | (form.typed ? 4 : 0));
    }
    if (form.typed) {
      out.writeBytes(HexFormat.of().parseHex(literal()));
      out.write(0);
    }
    payload(value, 1 << code, out);
    return out.toByteArray();
  }

  private int largest(JsonNode value) {
    int most = kind == Kind.STRING ? utf8(value.asText()).length : 0;
    switch (kind) {
      case STRUCT -> {
        for (int i = 0; i < parts.size(); i++) {
          most = Math.max(most, parts.get(i).largest(value.get(names.get(i))));
        }
      }
      case OPTIONAL -> most = value.isNull() ? 0 : parts.get(0).largest(value);
      case EXPECTED -> most = value.has("ok") ? parts.get(0).largest(value.get("ok")) : 0;
      case VECTOR, SET -> {
        most = value.size();
        for (JsonNode element : value) {
          most = Math.max(most, parts.get(0).largest(element));
        }
      }
      case MAP -> {
        most = value.size();
        for (Map.Entry<String, JsonNode> entry : value.properties()) {
          if (parts.get(0).kind == Kind.STRING) {
            most = Math.max(most, utf8(entry.getKey()).length);
          }
          most = Math.max(most, parts.get(1).largest(entry.getValue()));
        }
      }
      default -> {}
    }
    return most;
  }

  private void payload(JsonNode value, int width, ByteArrayOutputStream out) {
    switch (kind) {
      case BOOL -> out.write(value.booleanValue() ? 1 : 0);
      case STRING -> text(value.asText(), width, out);
      case STRUCT -> {
        for (int i = 0; i < parts.size(); i++) {
          parts.get(i).payload(value.get(names.get(i)), width, out);
        }
      }
      case OPTIONAL -> {
        out.write(value.isNull() ? 0 : 1);
        if (!value.isNull()) {
          parts.get(0).payload(value, width, out);
        }
      }
      case EXPECTED -> {
        out.write(value.has("ok") ? 1 : 0);
        if (value.has("ok")) {
          parts.get(0).payload(value.get("ok"), width, out);
        } else {
          number(out, value.get("error").intValue(), 4);
        }
      }
      case VECTOR -> {
        number(out, value.size(), width);
        value.forEach(element -> parts.get(0).payload(element, width, out));
      }
      case SET -> {
        number(out, value.size(), width);
        List<Long> sorted = new ArrayList<>();
        value.forEach(element -> sorted.add(element.longValue()));
        sorted.sort(Comparator.naturalOrder());
        sorted.forEach(element -> number(out, element, 8));
      }
      case MAP -> map(value, width, out);
      default -> number(out, value.longValue(), kind.size);
    }
  }

  private void map(JsonNode value, int width, ByteArrayOutputStream out) {
    number(out, value.size(), width);
    boolean byText = parts.get(0).kind == Kind.STRING;
    Comparator<String> order =
        byText
            ? (a, b) -> Arrays.compareUnsigned(utf8(a), utf8(b))
            : Comparator.comparingLong(Long::parseLong);
    TreeMap<String, JsonNode> sorted = new TreeMap<>(order);
    value.properties().forEach(entry -> sorted.put(entry.getKey(), entry.getValue()));
    sorted.forEach(
        (key, element) -> {
          if (byText) {
            text(key, width, out);
          } else {
            number(out, Long.parseLong(key), 8);
          }
          parts.get(1).payload(element, width, out);
        });
  }

  private static void text(String text, int width, ByteArrayOutputStream out) {
    number(out, utf8(text).length, width);
    out.writeBytes(utf8(text));
  }

  private static void number(ByteArrayOutputStream out, long value, int size) {
    for (int i = 0; i < size; i++) {
      out.write((int) (value >> 8 * i));
    }
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Any value of this type. */
  JsonNode random(Random random) {
    JsonNodeFactory json = JsonNodeFactory.instance;
    return switch (kind) {
      case BOOL -> json.booleanNode(random.nextBoolean());
      case UINT16 -> json.numberNode(255 + random.nextInt(65536 - 255));
      case INT32 -> json.numberNode(random.nextInt() >> random.nextInt(32));
      case INT64, UINT64 -> json.numberNode(randomLong(random));
      case STRING -> json.textNode(randomText(random));
      case OPTIONAL -> random.nextBoolean() ? json.nullNode() : parts.get(0).random(random);
      case EXPECTED -> {
        ObjectNode expected = json.objectNode();
        yield random.nextInt(4) == 0
            ? expected.put("error", random.nextInt())
            : expected.set("ok", parts.get(0).random(random));
      }
      case STRUCT -> {
        ObjectNode struct = json.objectNode();
        for (int i = 0; i < parts.size(); i++) {
          struct.set(names.get(i), parts.get(i).random(random));
        }
        yield struct;
      }
      case MAP -> {
        ObjectNode map = json.objectNode();
        for (int i = randomCount(random); i > 0; i--) {
          map.set(parts.get(0).random(random).asText(), parts.get(1).random(random));
        }
        yield map;
      }
      case VECTOR -> {
        ArrayNode array = json.arrayNode();
        for (int i = randomCount(random); i > 0; i--) {
          array.add(parts.get(0).random(random));
        }
        yield array;
      }
      case SET -> {
        ArrayNode array = json.arrayNode();
        random
            .longs(randomCount(random))
            .map(value -> value >> random.nextInt(64))
            .distinct()
            .sorted()
            .forEach(array::add);
        yield array;
      }
    };
  }

  private static long randomLong(Random random) {
    return random.nextLong() >> random.nextInt(64);
  }

  private static int randomCount(Random random) {
    return random.nextInt(60) == 0 ? 254 + random.nextInt(4) : random.nextInt(4);
  }

  private static String randomText(Random random) {
    int length = random.nextInt(200) == 0 ? 250 + random.nextInt(8) : random.nextInt(6);
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < length; i++) {
      text.appendCodePoint(
          switch (random.nextInt(8)) {
            case 0 -> 0x80 + random.nextInt(0x700);
            case 1 -> 0xe000 + random.nextInt(0x2000);
            case 2 -> 0x10000 + random.nextInt(0x100000);
            default -> random.nextInt(0x80);
          });
    }
    return text.toString();
  }
}
