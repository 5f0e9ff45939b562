package baton.it;

import baton.hash.BlockChain;
import baton.hash.HashProfile;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Token ids and the keys of their blocks.
 *
 * @param keys 64 bits each, unsigned
 */
record Prompt(int[] tokens, List<Long> keys) {
  static final int BLOCK_SIZE = 4;
  static final HashProfile VLLM = new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be");
  static final HashProfile SGLANG = new HashProfile("sglang", "sha256_raw", "0", "first64_be");

  /** So many blocks of consecutive tokens from 1. */
  static Prompt ofBlocks(HashProfile profile, int blocks) {
    return from(profile, 1, blocks);
  }

  /** So many blocks of consecutive tokens. */
  static Prompt from(HashProfile profile, int firstToken, int blocks) {
    int[] tokens = IntStream.range(firstToken, firstToken + blocks * BLOCK_SIZE).toArray();
    BlockChain chain = profile.chain(tokens, BLOCK_SIZE, "", "");
    List<Long> keys = new ArrayList<>();
    for (int i = 0; i < chain.length(); i++) {
      keys.add(chain.nextKey());
    }
    return new Prompt(tokens, keys);
  }

  /** The tokens of the first blocks. */
  int[] tokens(int blocks) {
    return Arrays.copyOf(tokens, blocks * BLOCK_SIZE);
  }

  /** The key of one block, as a list. */
  List<Long> key(int block) {
    return keys.subList(block, block + 1);
  }
}
