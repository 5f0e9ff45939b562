package baton.hash;

import static org.assertj.core.api.Assertions.assertThat;

import baton.Vectors;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** vLLM's own answers, for both of its encodings. */
class VllmVectorsTest {
  private static final HexFormat HEX = HexFormat.of();

  private static Stream<Arguments> cases() {
    return files()
        .flatMap(
            file ->
                Vectors.cases(file).stream()
                    .map(c -> Arguments.of(c.get()[0], c.get()[1], profile(file, "0"))));
  }

  private static Stream<Arguments> seeds() {
    return files()
        .flatMap(
            file ->
                Vectors.stream(Vectors.read(file).get("seed_root_vectors"))
                    .map(s -> Arguments.of(s.get("python_hash_seed").asText(), s, file)));
  }

  private static Stream<String> files() {
    return Stream.of("vllm_sha256_cbor.json", "vllm_sha256_pickle.json");
  }

  private static HashProfile profile(String file, String seed) {
    JsonNode profile = Vectors.read(file).get("profile");
    return new HashProfile(
        profile.get("strategy").asText(),
        profile.get("algorithm").asText(),
        seed,
        profile.get("index_projection").asText());
  }

  private static VllmEncoding encoding(HashProfile profile) {
    return profile.algorithm().equals("sha256") ? new PickleEncoding() : new CborEncoding();
  }

  private static byte[] written(VllmEncoding encoding) {
    return Arrays.copyOf(encoding.buffer(), encoding.size());
  }

  private static String sha256(byte[] bytes) {
    return HEX.formatHex(BlockChain.sha256().digest(bytes));
  }

  private static int[] tokens(JsonNode vector) {
    if (vector.has("token_ids")) {
      return Vectors.ints(vector.get("token_ids"));
    }
    JsonNode repeat = vector.get("token_ids_repeat");
    int[] tokens = new int[repeat.get("count").intValue()];
    Arrays.fill(tokens, repeat.get("value").intValue());
    return tokens;
  }

  private static String lora(JsonNode vector) {
    JsonNode repeat = vector.get("lora_name_repeat");
    return repeat == null
        ? Vectors.text(vector.get("lora_name"))
        : repeat.get("value").asText().repeat(repeat.get("count").intValue());
  }

  private static byte[][] extras(JsonNode vector, boolean isFirst) {
    List<byte[]> extras = new ArrayList<>();
    if (!lora(vector).isEmpty()) {
      extras.add(HashProfile.utf8(lora(vector)));
    }
    String salt = Vectors.text(vector.get("cache_salt"));
    if (isFirst && !salt.isEmpty()) {
      extras.add(HashProfile.utf8(salt));
    }
    return extras.toArray(byte[][]::new);
  }

  @ParameterizedTest
  @ValueSource(strings = {"vllm_sha256_cbor.json", "vllm_sha256_pickle.json"})
  void rootDigest_ofTheFilesProfile_isTheRecordedOne(String file) {
    String recorded = Vectors.read(file).get("profile").get("root_digest").asText();

    assertThat(profile(file, "0").rootDigest()).isEqualTo(recorded);
  }

  @ParameterizedTest(name = "seed {0}, {2}")
  @MethodSource("seeds")
  void rootDigest_ofASeed_isTheRecordedOne(String seed, JsonNode vector, String file) {
    assertThat(profile(file, seed).rootDigest()).isEqualTo(vector.get("root_digest").asText());
  }

  @ParameterizedTest(name = "seed {0}, {2}")
  @MethodSource("seeds")
  void encoding_ofASeed_hasTheRecordedBytes(String seed, JsonNode vector, String file) {
    VllmEncoding encoding = encoding(profile(file, seed));

    byte[] root = encoding.root(seed);

    String field = vector.has("pickle_hex") ? "pickle_hex" : "canonical_cbor_hex";
    assertThat(HEX.formatHex(written(encoding))).isEqualTo(vector.get(field).asText());
    assertThat(HEX.formatHex(root)).isEqualTo(vector.get("root_digest").asText());
  }

  @ParameterizedTest(name = "{0}, {2}")
  @MethodSource("cases")
  void chain_ofACase_hasTheRecordedKeys(String name, JsonNode vector, HashProfile profile) {
    List<String> keys =
        Chains.keys(
            profile,
            tokens(vector),
            vector.get("block_size").longValue(),
            lora(vector),
            Vectors.text(vector.get("cache_salt")));

    assertThat(keys)
        .isEqualTo(
            Vectors.stream(vector.get("expected"))
                .map(block -> block.get("projected_decimal").asText())
                .toList());
  }

  @ParameterizedTest(name = "{0}, {2}")
  @MethodSource("cases")
  void encoding_ofEveryBlock_hasTheRecordedBytesAndDigest(
      String name, JsonNode vector, HashProfile profile) {
    VllmEncoding encoding = encoding(profile);
    int[] tokens = tokens(vector);
    int blockSize = vector.get("block_size").intValue();
    byte[] parent = HEX.parseHex(profile.rootDigest());

    int block = 0;
    for (JsonNode expected : vector.get("expected")) {
      encoding.block(parent, tokens, block * blockSize, blockSize, extras(vector, block == 0));
      byte[] bytes = written(encoding);

      if (expected.has("pickle_hex")) {
        assertThat(HEX.formatHex(bytes)).isEqualTo(expected.get("pickle_hex").asText());
      }
      if (expected.has("pickle_len")) {
        assertThat(bytes).hasSize(expected.get("pickle_len").intValue());
      }
      String digest = expected.get("digest").asText();
      assertThat(sha256(bytes)).isEqualTo(digest);
      assertThat(digest).endsWith(expected.get("projected_hex").asText());
      parent = HEX.parseHex(digest);
      block++;
    }
  }

  // cases.md, row 84
  @Test
  void algorithms_ofTheSameTokensAndSeed_giveDifferentKeys() {
    int[] tokens = {1, 2, 3, 4};

    assertThat(Chains.keys(Chains.CBOR, tokens, 4)).containsExactly("2164874634404590027");
    assertThat(Chains.keys(Chains.PICKLE, tokens, 4)).containsExactly("10362225831949560093");
  }

  // cases.md, row 85
  @ParameterizedTest
  @ValueSource(strings = {"vllm_sha256_cbor.json", "vllm_sha256_pickle.json"})
  void secondBlock_isChainedToTheWholeDigest_notToTheKey(String file) {
    JsonNode vector = Vectors.read(file).get("cases").get(0);
    String wrong = vector.get("incorrect_low64_parent_digest").asText();

    String second =
        Chains.keys(profile(file, "0"), tokens(vector), vector.get("block_size").longValue())
            .get(1);

    assertThat(second)
        .isNotEqualTo(Long.toUnsignedString(HexFormat.fromHexDigitsToLong(wrong, 48, 64)))
        .isEqualTo(vector.get("expected").get(1).get("projected_decimal").asText());
  }

  // cases.md, row 86: an empty array instead of null would give 5466169289169504914
  @Test
  void noExtras_areNull_notAnEmptyArray() {
    CborEncoding encoding = new CborEncoding();
    encoding.block(new byte[32], new int[] {1}, 0, 1, new byte[0][]);

    assertThat(written(encoding)).endsWith(0x81, 0x01, 0xf6);
    assertThat(Chains.keys(Chains.CBOR, new int[] {1, 2, 3, 4}, 4))
        .doesNotContain("5466169289169504914");
  }

  // cases.md, row 87
  @ParameterizedTest
  @ValueSource(strings = {"vllm_sha256_cbor.json", "vllm_sha256_pickle.json"})
  void salt_ofAPromptWithLora_comesAfterTheNameAndOnlyInTheFirstBlock(String file) {
    HashProfile profile = profile(file, "0");
    int[] tokens = Chains.counting(1, 12);
    VllmEncoding encoding = encoding(profile);
    byte[] lora = HashProfile.utf8("adapter-A");
    byte[] salt = HashProfile.utf8("salt");
    byte[] digest = HEX.parseHex(profile.rootDigest());
    List<String> expected = new ArrayList<>();
    for (int block = 0; block < 3; block++) {
      byte[][] extras = block == 0 ? new byte[][] {lora, salt} : new byte[][] {lora};
      encoding.block(digest, tokens, block * 4, 4, extras);
      digest = BlockChain.sha256().digest(written(encoding));
      expected.add(Long.toUnsignedString(BlockChain.bigEndianLong(digest, 24)));
    }

    List<String> salted = Chains.keys(profile, tokens, 4, "adapter-A", "salt");

    assertThat(salted)
        .isEqualTo(expected)
        .doesNotContainAnyElementsOf(Chains.keys(profile, tokens, 4, "adapter-A", ""))
        .doesNotContainAnyElementsOf(Chains.keys(profile, tokens, 4, "salt", "adapter-A"));
  }

  @Test
  void encoding_usedForALongAndThenAShortBlock_leavesNothingBehind() {
    for (VllmEncoding encoding : List.of(new CborEncoding(), new PickleEncoding())) {
      encoding.block(new byte[32], new int[] {1, 2}, 0, 2, new byte[0][]);
      byte[] first = written(encoding);
      encoding.block(new byte[32], new int[50_000], 0, 50_000, new byte[][] {new byte[70_000]});
      encoding.block(new byte[32], new int[] {1, 2}, 0, 2, new byte[0][]);

      assertThat(written(encoding)).isEqualTo(first);
    }
  }
}
