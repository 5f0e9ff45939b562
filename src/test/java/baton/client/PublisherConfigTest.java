package baton.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the document calls a ValueError, each by its name; and the defaults. */
class PublisherConfigTest {
  private static final List<String> TEXTS =
      List.of(
          "instance_id",
          "endpoint",
          "model_name",
          "replay_endpoint",
          "publisher_type",
          "lora_name",
          "tenant_id");
  private static final List<String> INTEGERS = List.of("block_size", "dp_rank", "cache_group");
  private static final List<String> PROFILE_TEXTS =
      List.of("strategy", "algorithm", "python_hash_seed", "index_projection");

  private static Map<String, Object> config() {
    Map<String, Object> config = new HashMap<>();
    config.put("instance_id", "vllm-0");
    config.put("endpoint", "tcp://127.0.0.1:5557");
    config.put("model_name", "my-model");
    config.put("block_size", 16);
    config.put("hash_profile", profile());
    return config;
  }

  private static Map<String, Object> profile() {
    Map<String, Object> profile = new HashMap<>();
    profile.put("strategy", "vllm_v1");
    profile.put("algorithm", "sha256_cbor");
    profile.put("python_hash_seed", "0");
    profile.put("index_projection", "low64_be");
    return profile;
  }

  private static Map<String, Object> with(String key, Object value) {
    Map<String, Object> config = config();
    config.put(key, value);
    return config;
  }

  private static Map<String, Object> withProfile(String key, Object value) {
    Map<String, Object> profile = profile();
    profile.put(key, value);
    return with("hash_profile", profile);
  }

  /** By the map, as a client's register takes it: before any connection is asked for. */
  private static void assertRefused(Map<String, ?> config, String... named) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PublisherConfig.of(config))
        .withMessageContainingAll(named);
    try (ConductorClient client = new ConductorClient()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> client.register(config))
          .withMessageContainingAll(named);
    }
  }

  @Test
  void of_onlyRequiredFields_hasTheDefaults() {
    assertThat(PublisherConfig.of(config()))
        .isEqualTo(
            new PublisherConfig(
                "vllm-0",
                "tcp://127.0.0.1:5557",
                "my-model",
                16,
                new HashProfile("vllm_v1", "sha256_cbor", "0", "", "low64_be"),
                "",
                "vLLM",
                "",
                "default",
                0,
                null))
        .isEqualTo(
            new PublisherConfig(
                "vllm-0",
                "tcp://127.0.0.1:5557",
                "my-model",
                16,
                new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be")));
  }

  @Test
  void of_everyField_isTaken() {
    Map<String, Object> config = config();
    config.put("replay_endpoint", "tcp://127.0.0.1:5558");
    config.put("publisher_type", "SGLang");
    config.put("lora_name", "adapter");
    config.put("tenant_id", "blue");
    config.put("dp_rank", 3);
    config.put("cache_group", 0);
    assertThat(PublisherConfig.of(config))
        .isEqualTo(
            new PublisherConfig(
                "vllm-0",
                "tcp://127.0.0.1:5557",
                "my-model",
                16,
                new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be"),
                "tcp://127.0.0.1:5558",
                "SGLang",
                "adapter",
                "blue",
                3,
                0L));
  }

  @Test
  void of_missingRequiredFields_areLeftToTheServer() {
    assertThat(PublisherConfig.of(Map.of()))
        .isEqualTo(
            new PublisherConfig(
                "",
                "",
                "",
                0,
                new HashProfile("", "", "", ""),
                "",
                "vLLM",
                "",
                "default",
                0,
                null));
  }

  @Test
  void of_null_isRefused() {
    assertRefused(null, "map");
  }

  @ParameterizedTest
  @ValueSource(strings = {"modelname", "type", "Endpoint", "root_digest", "strategy", "", " "})
  void of_unknownKey_isRefusedByName(String key) {
    assertRefused(with(key, "x"), "unknown key " + key);
  }

  @ParameterizedTest
  @ValueSource(strings = {"root_digest", "seed", "Strategy", "endpoint", ""})
  void of_unknownKeyInTheHashProfile_isRefusedByName(String key) {
    assertRefused(withProfile(key, "x"), "unknown key hash_profile." + key);
  }

  @Test
  @SuppressWarnings("unchecked")
  void of_keyThatIsNoString_isRefused() {
    for (Object key : new Object[] {1, null, true, List.of("endpoint")}) {
      Map<Object, Object> config = new HashMap<>(config());
      config.put(key, "x");
      assertRefused((Map<String, ?>) (Map<?, ?>) config, String.valueOf(key), "string");
      Map<Object, Object> profile = new HashMap<>(profile());
      profile.put(key, "x");
      assertRefused(with("hash_profile", profile), "hash_profile." + key, "string");
    }
  }

  static Stream<Arguments> textsOfAnotherType() {
    return TEXTS.stream()
        .flatMap(
            key ->
                Stream.of(1, true, 1.5, List.of("x"), Map.of(), new StringBuilder("vLLM"), 'x')
                    .map(value -> Arguments.of(key, value)));
  }

  @ParameterizedTest
  @MethodSource("textsOfAnotherType")
  void of_textOfAnotherType_isRefusedByName(String key, Object value) {
    assertRefused(with(key, value), key + " must be a string");
  }

  static Stream<Arguments> integersOfAnotherType() {
    return INTEGERS.stream()
        .flatMap(
            key ->
                Stream.of(
                        true,
                        false,
                        "16",
                        16.0,
                        16f,
                        BigDecimal.TEN,
                        List.of(),
                        'x',
                        new AtomicInteger(1))
                    .map(value -> Arguments.of(key, value)));
  }

  @ParameterizedTest
  @MethodSource("integersOfAnotherType")
  void of_integerOfAnotherType_isRefusedByName(String key, Object value) {
    assertRefused(with(key, value), key + " must be an integer");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "instance_id",
        "endpoint",
        "model_name",
        "block_size",
        "hash_profile",
        "replay_endpoint",
        "publisher_type",
        "lora_name",
        "tenant_id",
        "dp_rank"
      })
  void of_nullValue_isRefusedByName(String key) {
    assertRefused(with(key, null), key, "null");
  }

  @Test
  void of_nullCacheGroup_isNoGroup() {
    assertThat(PublisherConfig.of(with("cache_group", null)).cacheGroup()).isNull();
  }

  @Test
  void of_anyIntegerClass_isTaken() {
    for (Object value : new Object[] {(byte) 7, (short) 7, 7, 7L, BigInteger.valueOf(7)}) {
      assertThat(PublisherConfig.of(with("block_size", value)).blockSize()).isEqualTo(7);
      assertThat(PublisherConfig.of(with("dp_rank", value)).dpRank()).isEqualTo(7);
      assertThat(PublisherConfig.of(with("cache_group", value)).cacheGroup()).isEqualTo(7);
    }
  }

  static Stream<Arguments> overflows() {
    BigInteger beyondLong = BigInteger.ONE.shiftLeft(63);
    return Stream.of(
        Arguments.of("dp_rank", 1L << 31),
        Arguments.of("dp_rank", -(1L << 31) - 1),
        Arguments.of("dp_rank", Long.MAX_VALUE),
        Arguments.of("dp_rank", beyondLong),
        Arguments.of("block_size", beyondLong),
        Arguments.of("block_size", beyondLong.negate().subtract(BigInteger.ONE)),
        Arguments.of("cache_group", beyondLong),
        Arguments.of("cache_group", BigInteger.TEN.pow(40)));
  }

  @ParameterizedTest
  @MethodSource("overflows")
  void of_integerThatOverflows_isRefusedByName(String key, Object value) {
    assertRefused(with(key, value), key, value.toString());
  }

  @Test
  void of_largestIntegers_areTaken() {
    assertThat(PublisherConfig.of(with("dp_rank", Integer.MAX_VALUE)).dpRank())
        .isEqualTo(Integer.MAX_VALUE);
    assertThat(PublisherConfig.of(with("block_size", Long.MAX_VALUE)).blockSize())
        .isEqualTo(Long.MAX_VALUE);
    assertThat(PublisherConfig.of(with("cache_group", Long.MAX_VALUE)).cacheGroup())
        .isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void of_valuesThatAreWrongButFit_areLeftToTheServer() {
    assertThat(PublisherConfig.of(with("dp_rank", -1)).dpRank()).isEqualTo(-1);
    assertThat(PublisherConfig.of(with("block_size", 0)).blockSize()).isZero();
    assertThat(PublisherConfig.of(with("cache_group", -5)).cacheGroup()).isEqualTo(-5);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "vllm", "VLLM", "sglang", "mooncake", " vLLM", "TRT"})
  void of_unknownPublisherType_isRefusedByName(String type) {
    assertRefused(with("publisher_type", type), "publisher_type", type);
  }

  @ParameterizedTest
  @ValueSource(strings = {"vLLM", "SGLang", "Mooncake"})
  void of_publisherType_isTaken(String type) {
    assertThat(PublisherConfig.of(with("publisher_type", type)).publisherType()).isEqualTo(type);
  }

  @Test
  void constructor_unknownPublisherType_isRefused() {
    HashProfile profile = new HashProfile("", "", "", "");
    for (String type : new String[] {"vllm", "", null}) {
      assertThatIllegalArgumentException()
          .isThrownBy(
              () -> new PublisherConfig("a", "e", "m", 1, profile, "", type, "", "", 0, null))
          .withMessageContaining("publisher_type");
    }
  }

  static Stream<Arguments> noProfiles() {
    return Stream.of("vllm_v1", 1, true, List.of(), new HashProfile("", "", "", ""))
        .map(Arguments::of);
  }

  @ParameterizedTest
  @MethodSource("noProfiles")
  void of_hashProfileThatIsNoMap_isRefusedByName(Object value) {
    assertRefused(with("hash_profile", value), "hash_profile must be a map");
  }

  static Stream<Arguments> profileTextsOfAnotherType() {
    return PROFILE_TEXTS.stream()
        .flatMap(
            key ->
                Stream.of(0, 0L, true, 1.5, List.of("0")).map(value -> Arguments.of(key, value)));
  }

  @ParameterizedTest
  @MethodSource("profileTextsOfAnotherType")
  void of_hashProfileValueOfAnotherType_isRefusedByName(String key, Object value) {
    assertRefused(withProfile(key, value), "hash_profile." + key + " must be a string");
    assertRefused(withProfile(key, null), "hash_profile." + key, "null");
  }
}
