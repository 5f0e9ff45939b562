package baton.hash;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * How one engine hashes its blocks: four texts, kept as they were written, because two spellings of
 * a seed are two seeds.
 *
 * @param strategy {@code vllm_v1}, {@code sglang} or {@code sglang_bigram}
 * @param algorithm {@code sha256_cbor} or {@code sha256} (pickle) for vLLM, {@code sha256_raw} for
 *     SGLang
 * @param pythonHashSeed vLLM: decimal digits of a value up to 4294967295, or {@code random};
 *     SGLang: always {@code 0}
 * @param indexProjection {@code low64_be} for vLLM, {@code first64_be} for SGLang
 */
public record HashProfile(
    String strategy, String algorithm, String pythonHashSeed, String indexProjection) {

  private static final long MAX_SEED = 4294967295L;
  private static final String NO_ROOT = "0".repeat(64);

  /**
   * @throws InvalidHashProfile if the combination is not one of the supported recipes
   */
  public HashProfile {
    switch (strategy) {
      case "vllm_v1" -> {
        if (!algorithm.equals("sha256") && !algorithm.equals("sha256_cbor")) {
          throw InvalidHashProfile.unsupported(
              "algorithm",
              "strategy vllm_v1 needs algorithm sha256 or sha256_cbor, not " + quoted(algorithm));
        }
        requireProjection("low64_be", strategy, indexProjection);
        requireSeed(pythonHashSeed);
      }
      case "sglang", "sglang_bigram" -> {
        if (!algorithm.equals("sha256_raw")) {
          throw InvalidHashProfile.unsupported(
              "algorithm",
              "strategy " + strategy + " needs algorithm sha256_raw, not " + quoted(algorithm));
        }
        requireProjection("first64_be", strategy, indexProjection);
        pythonHashSeed = "0";
      }
      default ->
          throw InvalidHashProfile.unsupported(
              "strategy",
              "strategy must be vllm_v1, sglang or sglang_bigram, not " + quoted(strategy));
    }
  }

  private static void requireProjection(String needed, String strategy, String projection) {
    if (!projection.equals(needed)) {
      throw InvalidHashProfile.unsupported(
          "index_projection",
          "strategy "
              + strategy
              + " needs index_projection "
              + needed
              + ", not "
              + quoted(projection));
    }
  }

  private static void requireSeed(String seed) {
    if (seed == null) {
      throw InvalidHashProfile.invalid(
          "python_hash_seed", "strategy vllm_v1 needs a python_hash_seed");
    }
    if (seed.equals("random")) {
      return;
    }
    long value = 0;
    boolean digits = !seed.isEmpty();
    for (int i = 0; i < seed.length() && digits; i++) {
      char c = seed.charAt(i);
      digits = c >= '0' && c <= '9';
      value = value * 10 + (c - '0');
      digits &= value <= MAX_SEED;
    }
    if (!digits) {
      throw InvalidHashProfile.invalid(
          "python_hash_seed",
          "python_hash_seed must be \"random\" or decimal digits from 0 to 4294967295, not "
              + quoted(seed));
    }
  }

  private static String quoted(String text) {
    return '"' + (text.length() > 64 ? text.substring(0, 64) + "…" : text) + '"';
  }

  /** What the first block is chained to, 64 hex digits; SGLang chains start from nothing: zeros. */
  public String rootDigest() {
    return isVllm() ? HexFormat.of().formatHex(vllmEncoding().root(pythonHashSeed)) : NO_ROOT;
  }

  public boolean isVllm() {
    return strategy.equals("vllm_v1");
  }

  /**
   * The chain of a prompt's blocks.
   *
   * @param tokens the prompt; not copied, and not to be changed while the chain is in use
   * @param blockSize tokens in a block, positive
   * @param loraName empty for the base model
   * @param salt the cache salt, empty for none
   */
  public BlockChain chain(int[] tokens, long blockSize, String loraName, String salt) {
    if (isVllm()) {
      return new VllmChain(vllmEncoding(), pythonHashSeed, tokens, blockSize, loraName, salt);
    }
    return new SglangChain(strategy.equals("sglang_bigram"), tokens, blockSize, salt);
  }

  /**
   * How many positions of a prompt can be cached: its tokens, or its pairs for the bigram recipe.
   */
  public int positions(int tokens) {
    return strategy.equals("sglang_bigram") ? Math.max(tokens - 1, 0) : tokens;
  }

  /**
   * The key of a digest that an engine sent as bytes.
   *
   * @param length of the digest, at least 8
   */
  public long project(byte[] bytes, int offset, int length) {
    return BlockChain.bigEndianLong(bytes, isVllm() ? offset + length - 8 : offset);
  }

  private VllmEncoding vllmEncoding() {
    return algorithm.equals("sha256_cbor") ? new CborEncoding() : new PickleEncoding();
  }

  static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
