package baton.hash;

import java.security.MessageDigest;

/**
 * vLLM's chain: {@code digest[i] = SHA256(encode((digest[i-1], tokens of block i, extra_i)))} over
 * complete blocks, from {@code digest[-1] = SHA256(encode(seed))}.
 */
final class VllmChain extends BlockChain {
  private final VllmEncoding encoding;
  private final int[] tokens;
  private final int blockSize;
  private final byte[][] firstExtras;
  private final byte[][] extras;
  private final MessageDigest sha = sha256();
  private final byte[] digest;

  VllmChain(
      VllmEncoding encoding,
      String seed,
      int[] tokens,
      long blockSize,
      String loraName,
      String salt) {
    super((int) (tokens.length / blockSize));
    this.encoding = encoding;
    this.tokens = tokens;
    this.blockSize = (int) Math.min(blockSize, Integer.MAX_VALUE);
    this.extras = loraName.isEmpty() ? new byte[0][] : new byte[][] {HashProfile.utf8(loraName)};
    this.firstExtras = salt.isEmpty() ? extras : append(extras, HashProfile.utf8(salt));
    this.digest = encoding.root(seed);
  }

  private static byte[][] append(byte[][] texts, byte[] last) {
    byte[][] longer = java.util.Arrays.copyOf(texts, texts.length + 1);
    longer[texts.length] = last;
    return longer;
  }

  @Override
  long hashBlock(int block) {
    encoding.block(digest, tokens, block * blockSize, blockSize, block == 0 ? firstExtras : extras);
    sha.update(encoding.buffer(), 0, encoding.size());
    finish(sha, digest, 0);
    return bigEndianLong(digest, DIGEST_BYTES - 8);
  }
}
