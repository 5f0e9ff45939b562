package baton.hash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

class BlockChainTest {
  private static final List<HashProfile> PROFILES =
      List.of(Chains.CBOR, Chains.PICKLE, Chains.SGLANG, Chains.BIGRAM);
  private static final List<HashProfile> VLLM = List.of(Chains.CBOR, Chains.PICKLE);

  /** Tokens changed between two keys show up in the second: it was not hashed before. */
  @ParameterizedTest
  @FieldSource("PROFILES")
  void chain_askedForOneKey_hashesOnlyThatBlock(HashProfile profile) {
    int[] other = Chains.counting(1, 16);
    other[12] = 77;
    List<String> expected = Chains.keys(profile, other, 4);
    int[] tokens = Chains.counting(1, 16);
    BlockChain chain = profile.chain(tokens, 4, "", "");

    String first = Long.toUnsignedString(chain.nextKey());
    String second = Long.toUnsignedString(chain.nextKey());
    tokens[12] = 77;
    List<String> rest =
        List.of(Long.toUnsignedString(chain.nextKey()), Long.toUnsignedString(chain.nextKey()));

    assertThat(List.of(first, second)).isEqualTo(expected.subList(0, 2));
    assertThat(rest).isEqualTo(expected.subList(2, 4));
  }

  @ParameterizedTest
  @FieldSource("PROFILES")
  void chain_askedBeyondItsEnd_refuses(HashProfile profile) {
    BlockChain chain = profile.chain(Chains.counting(1, 9), 4, "", "");
    Chains.keys(chain);

    assertThatIllegalStateException().isThrownBy(chain::nextKey);
  }

  @ParameterizedTest
  @FieldSource("PROFILES")
  void chain_ofNoTokens_isEmpty(HashProfile profile) {
    BlockChain chain = profile.chain(new int[0], 1, "lora", "salt");

    assertThat(chain.length()).isZero();
    assertThatIllegalStateException().isThrownBy(chain::nextKey);
  }

  @ParameterizedTest
  @FieldSource("PROFILES")
  void chain_ofALongerPrompt_startsWithTheShorterOnesKeys(HashProfile profile) {
    int[] tokens = Chains.counting(1, 64);
    List<String> keys = Chains.keys(profile, tokens, 4, "lora", "salt");

    // 17 tokens are four whole blocks for every profile, and 16 pairs.
    List<String> shorter = Chains.keys(profile, Chains.counting(1, 17), 4, "lora", "salt");

    assertThat(keys).startsWith(shorter.subList(0, 4).toArray(String[]::new));
  }

  @ParameterizedTest
  @FieldSource("VLLM")
  void incompleteTail_ofAVllmPrompt_isIgnored(HashProfile profile) {
    assertThat(Chains.keys(profile, Chains.counting(1, 11), 4))
        .isEqualTo(Chains.keys(profile, Chains.counting(1, 8), 4));
  }

  @ParameterizedTest
  @ValueSource(longs = {10, 4_294_967_296L, 4_294_967_297L, Long.MAX_VALUE})
  void blockSize_beyondTheVllmPrompt_leavesNoBlocks(long blockSize) {
    for (HashProfile profile : VLLM) {
      assertThat(profile.chain(new int[9], blockSize, "", "").length()).isZero();
    }
  }

  @ParameterizedTest
  @FieldSource("VLLM")
  void negativeTokens_ofAVllmPrompt_areHashed(HashProfile profile) {
    assertThat(Chains.keys(profile, new int[] {-1, -2, -3, -4}, 4))
        .hasSize(1)
        .isNotEqualTo(Chains.keys(profile, new int[] {1, 2, 3, 4}, 4));
  }
}
