package baton.hash;

import static org.assertj.core.api.Assertions.assertThat;

import baton.Vectors;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** SGLang's own answers, and the same recipe in another implementation. */
class SglangVectorsTest {
  private static List<Arguments> cases() {
    return Vectors.cases("sglang.json");
  }

  private static BlockChain chain(JsonNode vector) {
    HashProfile profile =
        new HashProfile(vector.get("strategy").asText(), "sha256_raw", "", "first64_be");
    return profile.chain(
        Vectors.ints(vector.get("token_ids")),
        vector.get("block_size").longValue(),
        Vectors.text(vector.get("lora_name")),
        Vectors.text(vector.get("cache_salt")));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("cases")
  void chain_ofACase_hasTheRecordedKeys(String name, JsonNode vector) {
    assertThat(Chains.keys(chain(vector)))
        .isEqualTo(Vectors.stream(vector.get("keys")).map(JsonNode::asText).toList());
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("cases")
  void chain_ofACase_startsEachKeyWithItsDigest(String name, JsonNode vector) {
    BlockChain chain = chain(vector);

    for (JsonNode digest : vector.get("digests")) {
      assertThat(HexFormat.of().toHexDigits(chain.nextKey()))
          .isEqualTo(digest.asText().substring(0, 16));
    }
    assertThat(chain.length()).isEqualTo(vector.get("digests").size());
  }

  // cases.md, row 7
  @Test
  void key_ofAnSglangBlock_isTheDigestsFirstEightBytes() {
    BlockChain chain = Chains.SGLANG.chain(new int[] {11, 12, 13, 14}, 4, "", "");

    assertThat(chain.nextKey()).isEqualTo(0xf67c5ff154ee4961L);
  }

  // cases.md, row 92
  @ParameterizedTest
  @CsvSource({"sglang", "sglang_bigram"})
  void salt_ofAPrompt_changesEveryKey(String strategy) {
    HashProfile profile = new HashProfile(strategy, "sha256_raw", "0", "first64_be");
    int[] tokens = Chains.counting(1, 16);

    List<String> unsalted = Chains.keys(profile, tokens, 4);

    assertThat(Chains.keys(profile, tokens, 4, "", "salt-a"))
        .hasSameSizeAs(unsalted)
        .doesNotContainAnyElementsOf(unsalted)
        .doesNotContainAnyElementsOf(Chains.keys(profile, tokens, 4, "", "salt-b"));
  }

  @Test
  void loraName_ofAPrompt_isNotHashed() {
    int[] tokens = Chains.counting(1, 8);

    assertThat(Chains.keys(Chains.SGLANG, tokens, 4, "adapter", ""))
        .isEqualTo(Chains.keys(Chains.SGLANG, tokens, 4));
  }

  @ParameterizedTest
  @CsvSource({"0", "3", "7"})
  void negativeToken_anywhere_leavesNoBlocks(int position) {
    int[] tokens = Chains.counting(1, 8);
    tokens[position] = -1;

    assertThat(Chains.SGLANG.chain(tokens, 4, "", "").length()).isZero();
    assertThat(Chains.SGLANG.chain(tokens, 4, "", "salt").length()).isZero();
    assertThat(Chains.BIGRAM.chain(tokens, 4, "", "").length()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "sglang, 1, 4, 1",
    "sglang, 4, 4, 1",
    "sglang, 5, 4, 2",
    "sglang_bigram, 1, 4, 0",
    "sglang_bigram, 2, 4, 1",
    "sglang_bigram, 5, 4, 1",
    "sglang_bigram, 6, 4, 2",
    "sglang, 5, 1, 5",
    "sglang, 5, 9223372036854775807, 1"
  })
  void length_ofAChain_countsThePartialBlock(
      String strategy, int tokens, long blockSize, int blocks) {
    HashProfile profile = new HashProfile(strategy, "sha256_raw", "0", "first64_be");

    assertThat(Chains.keys(profile, new int[tokens], blockSize)).hasSize(blocks);
  }

  @ParameterizedTest
  @CsvSource({"sglang", "sglang_bigram"})
  void blockSize_beyondThePrompt_isHashedAsOnePartialBlock(String strategy) {
    HashProfile profile = new HashProfile(strategy, "sha256_raw", "0", "first64_be");
    int[] tokens = Chains.counting(1, 100);
    List<String> whole = Chains.keys(profile, tokens, profile.positions(100));

    assertThat(Chains.keys(profile, tokens, Long.MAX_VALUE)).hasSize(1).isEqualTo(whole);
    assertThat(Chains.keys(profile, tokens, Integer.MAX_VALUE)).isEqualTo(whole);
  }
}
