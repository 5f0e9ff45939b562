package baton.client;

import java.math.BigInteger;
import java.util.Map;
import java.util.Set;

/**
 * One publisher subscription. Values are checked by the server, except for what has no place on the
 * wire.
 *
 * @param instanceId needed for vLLM and SGLang
 * @param endpoint ZMQ endpoint of the publisher
 * @param replayEndpoint empty for none
 * @param publisherType {@code vLLM}, {@code SGLang} or {@code Mooncake}
 * @param blockSize tokens in a block
 * @param loraName empty for the base model
 * @param tenantId empty means {@code default}
 * @param cacheGroup null or 0
 */
public record PublisherConfig(
    String instanceId,
    String endpoint,
    String modelName,
    long blockSize,
    HashProfile hashProfile,
    String replayEndpoint,
    String publisherType,
    String loraName,
    String tenantId,
    int dpRank,
    Long cacheGroup) {
  private static final Set<String> TYPES = Set.of("vLLM", "SGLang", "Mooncake");

  /**
   * @throws IllegalArgumentException if the publisher type is none of the three
   */
  public PublisherConfig {
    if (publisherType == null || !TYPES.contains(publisherType)) {
      throw new IllegalArgumentException(
          "publisher_type must be vLLM, SGLang or Mooncake, not " + publisherType);
    }
    // What is missing is for the server to refuse.
    instanceId = QueryArguments.orEmpty(instanceId);
    endpoint = QueryArguments.orEmpty(endpoint);
    modelName = QueryArguments.orEmpty(modelName);
    replayEndpoint = QueryArguments.orEmpty(replayEndpoint);
    loraName = QueryArguments.orEmpty(loraName);
    tenantId = QueryArguments.orEmpty(tenantId);
    hashProfile = hashProfile == null ? new HashProfile("", "", "", "") : hashProfile;
  }

  /** A vLLM rank 0 of the base model, without replay, for the default tenant. */
  public PublisherConfig(
      String instanceId, String endpoint, String modelName, long blockSize, HashProfile profile) {
    this(instanceId, endpoint, modelName, blockSize, profile, "", "vLLM", "", "default", 0, null);
  }

  /**
   * A configuration by the names of the Python client. Fields that are missing are left to the
   * server, which refuses those it needs.
   *
   * @throws IllegalArgumentException naming the key: for a null map, a key that is unknown or no
   *     string, a value of another type (a boolean is no integer), an integer that does not fit, an
   *     unknown publisher type
   */
  public static PublisherConfig of(Map<String, ?> config) {
    Fields fields = new Fields("", config);
    fields.requireOnly(
        Set.of(
            "instance_id",
            "endpoint",
            "model_name",
            "block_size",
            "hash_profile",
            "replay_endpoint",
            "publisher_type",
            "lora_name",
            "tenant_id",
            "dp_rank",
            "cache_group"));
    return new PublisherConfig(
        fields.text("instance_id", ""),
        fields.text("endpoint", ""),
        fields.text("model_name", ""),
        fields.integer("block_size", 0L, Long.MIN_VALUE, Long.MAX_VALUE),
        hashProfile(fields),
        fields.text("replay_endpoint", ""),
        fields.text("publisher_type", "vLLM"),
        fields.text("lora_name", ""),
        fields.text("tenant_id", "default"),
        fields.integer("dp_rank", 0L, Integer.MIN_VALUE, Integer.MAX_VALUE).intValue(),
        fields.isNull("cache_group")
            ? null
            : fields.integer("cache_group", null, Long.MIN_VALUE, Long.MAX_VALUE));
  }

  private static HashProfile hashProfile(Fields config) {
    Fields fields = config.object("hash_profile");
    fields.requireOnly(Set.of("strategy", "algorithm", "python_hash_seed", "index_projection"));
    return new HashProfile(
        fields.text("strategy", ""),
        fields.text("algorithm", ""),
        fields.text("python_hash_seed", ""),
        fields.text("index_projection", ""));
  }

  /** Typed reads of a map from outside. */
  private record Fields(String path, Map<?, ?> values) {
    Fields {
      if (values == null) {
        throw new IllegalArgumentException("the configuration must be a map, not null");
      }
    }

    void requireOnly(Set<String> known) {
      for (Object key : values.keySet()) {
        if (!(key instanceof String)) {
          throw new IllegalArgumentException("the key " + path + key + " must be a string");
        }
        if (!known.contains(key)) {
          throw new IllegalArgumentException("unknown key " + path + key);
        }
      }
    }

    boolean isNull(String key) {
      return values.get(key) == null;
    }

    String text(String key, String absent) {
      if (!values.containsKey(key)) {
        return absent;
      }
      if (values.get(key) instanceof String text) {
        return text;
      }
      throw wrong(key, "a string");
    }

    Long integer(String key, Long absent, long min, long max) {
      if (!values.containsKey(key)) {
        return absent;
      }
      Object value = values.get(key);
      BigInteger integer;
      if (value instanceof Integer
          || value instanceof Long
          || value instanceof Short
          || value instanceof Byte) {
        integer = BigInteger.valueOf(((Number) value).longValue());
      } else if (value instanceof BigInteger big) {
        integer = big;
      } else {
        throw wrong(key, "an integer");
      }
      if (integer.compareTo(BigInteger.valueOf(min)) < 0
          || integer.compareTo(BigInteger.valueOf(max)) > 0) {
        throw new IllegalArgumentException(path + key + " overflows: " + integer);
      }
      return integer.longValue();
    }

    Fields object(String key) {
      if (!values.containsKey(key)) {
        return new Fields(path + key + ".", Map.of());
      }
      if (values.get(key) instanceof Map<?, ?> map) {
        return new Fields(path + key + ".", map);
      }
      throw wrong(key, "a map");
    }

    private IllegalArgumentException wrong(String key, String wanted) {
      Object value = values.get(key);
      String type = value == null ? "null" : value.getClass().getSimpleName();
      return new IllegalArgumentException(path + key + " must be " + wanted + ", not " + type);
    }
  }
}
