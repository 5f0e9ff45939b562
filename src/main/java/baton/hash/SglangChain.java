package baton.hash;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.security.MessageDigest;

/**
 * SGLang's chain: {@code digest[i] = SHA256(digest[i-1] || units of block i)}, the units being
 * tokens as little-endian uint32, or adjacent pairs of them. The last block may be partial. A salt
 * gives the first block a parent. A negative token has no hash, so a prompt that has one has no
 * blocks.
 */
final class SglangChain extends BlockChain {
  private static final VarHandle LITTLE_ENDIAN =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final byte[] SALT_PREFIX = HashProfile.utf8("sglang-cache-salt-v1\0");

  private final boolean bigram;
  private final int[] tokens;
  private final int units;
  private final int blockSize;
  private final boolean salted;
  private final MessageDigest sha = sha256();
  private final byte[] buffer;

  SglangChain(boolean bigram, int[] tokens, long blockSize, String salt) {
    super(blocks(units(bigram, tokens), blockSize));
    this.bigram = bigram;
    this.tokens = tokens;
    this.units = units(bigram, tokens);
    this.blockSize = (int) Math.min(blockSize, Math.max(units, 1));
    this.salted = !salt.isEmpty();
    long bytes = DIGEST_BYTES + (length() == 0 ? 0L : (long) this.blockSize * unitBytes());
    this.buffer = new byte[Math.toIntExact(bytes)];
    if (salted) {
      sha.update(SALT_PREFIX);
      sha.update(HashProfile.utf8(salt));
      finish(sha, buffer, 0);
    }
  }

  private static int units(boolean bigram, int[] tokens) {
    for (int token : tokens) {
      if (token < 0) {
        return 0;
      }
    }
    return bigram ? Math.max(tokens.length - 1, 0) : tokens.length;
  }

  private static int blocks(int units, long blockSize) {
    return (int) (units / blockSize + (units % blockSize == 0 ? 0 : 1));
  }

  private int unitBytes() {
    return bigram ? 8 : 4;
  }

  @Override
  long hashBlock(int block) {
    int from = block * blockSize;
    int count = Math.min(blockSize, units - from);
    int at = DIGEST_BYTES;
    for (int i = from; i < from + count; i++, at += unitBytes()) {
      LITTLE_ENDIAN.set(buffer, at, tokens[i]);
      if (bigram) {
        LITTLE_ENDIAN.set(buffer, at + 4, tokens[i + 1]);
      }
    }
    int start = block == 0 && !salted ? DIGEST_BYTES : 0;
    sha.update(buffer, start, at - start);
    finish(sha, buffer, 0);
    return bigEndianLong(buffer, 0);
  }
}
