package baton.hash;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** The block keys of one prompt, computed one at a time. Used by one thread. */
public abstract sealed class BlockChain permits VllmChain, SglangChain {
  static final int DIGEST_BYTES = 32;

  private static final VarHandle BIG_ENDIAN =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private final int length;
  private int next;

  BlockChain(int length) {
    this.length = length;
  }

  /** How many blocks the prompt has. */
  public final int length() {
    return length;
  }

  /**
   * Hashes the next block.
   *
   * @throws IllegalStateException after the last one
   */
  public final long nextKey() {
    if (next == length) {
      throw new IllegalStateException("the chain has only " + length + " blocks");
    }
    return hashBlock(next++);
  }

  abstract long hashBlock(int block);

  static long bigEndianLong(byte[] bytes, int offset) {
    return (long) BIG_ENDIAN.get(bytes, offset);
  }

  static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }

  /**
   * Writes the digest of what was given to {@code sha} so far; spares the array that digest()
   * makes.
   */
  static void finish(MessageDigest sha, byte[] target, int offset) {
    try {
      sha.digest(target, offset, DIGEST_BYTES);
    } catch (DigestException e) {
      throw new IllegalStateException("a SHA-256 digest has 32 bytes", e);
    }
  }
}
