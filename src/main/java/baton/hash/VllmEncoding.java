package baton.hash;

import java.util.Arrays;

/** A byte form of the Python values that vLLM hashes; keeps one growing buffer between blocks. */
abstract sealed class VllmEncoding permits CborEncoding, PickleEncoding {
  byte[] buffer = new byte[512];
  int size;

  /** The digest that block 0 is chained to. */
  final byte[] root(String seed) {
    size = 0;
    seed(HashProfile.utf8(seed));
    byte[] digest = new byte[BlockChain.DIGEST_BYTES];
    var sha = BlockChain.sha256();
    sha.update(buffer, 0, size);
    BlockChain.finish(sha, digest, 0);
    return digest;
  }

  final void block(byte[] parent, int[] tokens, int from, int count, byte[][] extras) {
    size = 0;
    encodeBlock(parent, tokens, from, count, extras);
  }

  final byte[] buffer() {
    return buffer;
  }

  final int size() {
    return size;
  }

  abstract void seed(byte[] text);

  /**
   * Writes {@code (parent, tokens, extras)}; no extras is Python's {@code None}, not an empty
   * tuple.
   */
  abstract void encodeBlock(byte[] parent, int[] tokens, int from, int count, byte[][] extras);

  /** Makes room for {@code more} bytes after {@link #size}. */
  final void reserve(int more) {
    if (buffer.length - size < more) {
      buffer = Arrays.copyOf(buffer, Math.max(buffer.length * 2, Math.addExact(size, more)));
    }
  }

  final void put(int b) {
    buffer[size++] = (byte) b;
  }

  final void put(byte[] bytes) {
    reserve(bytes.length);
    System.arraycopy(bytes, 0, buffer, size, bytes.length);
    size += bytes.length;
  }
}
