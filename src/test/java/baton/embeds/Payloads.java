package baton.embeds;

import java.nio.ByteBuffer;

/** Payloads whose every byte follows from a seed, and what the cache has kept of them. */
final class Payloads {
  private Payloads() {}

  static byte[] bytes(long seed, int length) {
    byte[] bytes = new byte[length];
    fill(ByteBuffer.wrap(bytes), seed, 0);
    return bytes;
  }

  static ByteBuffer buffer(long seed, int length) {
    return ByteBuffer.wrap(bytes(seed, length));
  }

  /** Fills what remains of a buffer with the bytes that begin at an offset, a multiple of 8. */
  static void fill(ByteBuffer to, long seed, long offset) {
    long word = offset / Long.BYTES;
    while (to.remaining() >= Long.BYTES) {
      to.putLong(word(seed, word++));
    }
    for (int shift = 56; to.hasRemaining(); shift -= 8) {
      to.put((byte) (word(seed, word) >>> shift));
    }
  }

  private static long word(long seed, long index) {
    long mixed = (seed + 1) * 0x9e3779b97f4a7c15L + index * 0xbf58476d1ce4e5b9L;
    return mixed ^ mixed >>> 29;
  }

  static byte[] read(Payload payload) {
    byte[] bytes = new byte[(int) payload.length()];
    int read = 0;
    while (read < bytes.length) {
      ByteBuffer slice = payload.slice(read, Integer.MAX_VALUE);
      int count = slice.remaining();
      slice.get(bytes, read, count);
      read += count;
    }
    return bytes;
  }

  /** Takes a payload from the cache, reads it and lets go of it. */
  static byte[] read(PromptEmbedsCache cache, String identifier, String salt) {
    try (Payload payload = cache.get(identifier, salt)) {
      return payload == null ? null : read(payload);
    }
  }

  /** The memory that a stored payload takes: whole units. */
  static long units(long length) {
    return (length + PayloadMemory.UNIT - 1) / PayloadMemory.UNIT * PayloadMemory.UNIT;
  }
}
