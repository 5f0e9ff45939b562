package baton.hash;

import java.util.ArrayList;
import java.util.List;

/** Chains for tests, hashed to the end. */
final class Chains {
  static final HashProfile CBOR = new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be");
  static final HashProfile PICKLE = new HashProfile("vllm_v1", "sha256", "0", "low64_be");
  static final HashProfile SGLANG = new HashProfile("sglang", "sha256_raw", "0", "first64_be");
  static final HashProfile BIGRAM =
      new HashProfile("sglang_bigram", "sha256_raw", "0", "first64_be");

  private Chains() {}

  static List<String> keys(
      HashProfile profile, int[] tokens, long blockSize, String lora, String salt) {
    return keys(profile.chain(tokens, blockSize, lora, salt));
  }

  static List<String> keys(HashProfile profile, int[] tokens, long blockSize) {
    return keys(profile, tokens, blockSize, "", "");
  }

  static List<String> keys(BlockChain chain) {
    List<String> keys = new ArrayList<>();
    while (keys.size() < chain.length()) {
      keys.add(Long.toUnsignedString(chain.nextKey()));
    }
    return keys;
  }

  static int[] counting(int from, int count) {
    int[] tokens = new int[count];
    for (int i = 0; i < count; i++) {
      tokens[i] = from + i;
    }
    return tokens;
  }
}
