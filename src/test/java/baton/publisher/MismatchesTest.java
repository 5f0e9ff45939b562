package baton.publisher;

import static baton.publisher.TestStream.map;
import static baton.publisher.TestStream.with;
import static org.assertj.core.api.Assertions.assertThat;

import baton.hash.HashProfile;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Why an engine is never hit, told in words. */
class MismatchesTest {
  private static final List<Integer> TOKENS = IntStream.rangeClosed(1, 16).boxed().toList();

  private static long key(HashProfile profile, int blockSize, String lora) {
    int[] tokens = TOKENS.stream().mapToInt(Integer::intValue).toArray();
    return profile.chain(Arrays.copyOf(tokens, blockSize), blockSize, lora, "").nextKey();
  }

  private static Map<String, Object> stored(long key) {
    return map(
        "type",
        "BlockStored",
        "block_hashes",
        List.of(key),
        "parent_block_hash",
        null,
        "token_ids",
        TOKENS,
        "block_size",
        16);
  }

  @Test
  void engine_thatHashesAsRegistered_hasNoProblem() {
    TestStream stream = TestStream.vllm();
    stream.decode(stored(key(TestStream.VLLM, 16, "")));
    assertThat(stream.decoder().problems()).isEmpty();
  }

  @Test
  void engine_ofAnotherSeed_isToldWithRecipeSeedAndBothHashes() {
    TestStream stream = TestStream.vllm();
    long expected = key(TestStream.VLLM, 16, "");
    long seen = key(new HashProfile("vllm_v1", "sha256_cbor", "1", "low64_be"), 16, "");

    stream.decode(stored(seen));

    assertThat(stream.decoder().problems())
        .singleElement()
        .asString()
        .contains("vllm_v1", "sha256_cbor", "\"0\"")
        .contains(String.format("%016x", expected), String.format("%016x", seen));
    // The block itself is taken: the probe changes nothing.
    assertThat(stream.heard())
        .containsExactly("stored DEVICE [" + Long.toUnsignedString(seen) + "]");
  }

  @Test
  void engine_thatHashesAsRegisteredAgain_hasNoProblemAnyMore() {
    TestStream stream = TestStream.vllm();
    stream.decode(stored(1));
    for (int i = 0; i < 256; i++) {
      stream.decode(stored(key(TestStream.VLLM, 16, "")));
    }
    assertThat(stream.decoder().problems()).isEmpty();
  }

  @Test
  void block_whoseHashDependsOnMoreThanItsTokens_isNotProbed() {
    TestStream stream = TestStream.vllm();
    stream.decode(with(stored(1), "parent_block_hash", 7));
    stream.decode(with(stored(1), "extra_keys", List.of(List.of("image"))));
    stream.decode(with(stored(1), "medium", "CPU"));
    stream.decode(with(stored(1), "token_ids", List.of()));
    stream.decode(with(stored(1), "token_ids", List.of("no", "tokens")));
    TestStream salted = TestStream.sglang();
    salted.decode(with(stored(1), "block_size", 4, "cache_salt", "a"));
    assertThat(stream.decoder().problems()).isEmpty();
    assertThat(salted.decoder().problems()).isEmpty();
  }

  @Test
  void block_withoutExtraKeysOfItsOwn_isProbed() {
    TestStream stream = TestStream.vllm();
    stream.decode(with(stored(1), "extra_keys", Arrays.asList((Object) null)));
    assertThat(stream.decoder().problems()).hasSize(1);
  }

  @Test
  void sglangEngine_isProbedWithItsPage() {
    TestStream stream = TestStream.sglang();
    stream.decode(with(stored(key(TestStream.SGLANG, 4, "")), "block_size", 4));
    assertThat(stream.decoder().problems()).isEmpty();
    TestStream wrong = TestStream.sglang();
    wrong.decode(with(stored(1), "block_size", 4));
    assertThat(wrong.decoder().problems()).hasSize(1);
  }

  @Test
  void otherBlockSizeLoraAndRank_areToldByName() {
    TestStream stream = TestStream.vllm();
    stream.decode(with(stored(1), "block_size", 32));
    stream.decode(with(stored(1), "lora_id", 1, "lora_name", "adapter"));
    stream.decodePayload(List.of(1.5, List.of(), 3));
    assertThat(stream.decoder().problems())
        .containsExactly(
            "block_size: registered 16, the engine sends blocks of 32",
            "lora_name: registered the base model, the engine sends blocks of \"adapter\"",
            "dp_rank: registered 0, the engine sends batches of 3");
  }
}
