package baton.index;

import java.util.ArrayList;
import java.util.List;

/** Keys that are no hashes, or that a table would rather not meet. */
final class AwkwardKeys {
  private static final long SPREAD = 0x9e3779b97f4a7c15L;

  /** Forty keys: small numbers, extremes, multiples of 2^32, and many with the same home slot. */
  static final List<Long> ALL = all();

  private AwkwardKeys() {}

  private static List<Long> all() {
    List<Long> keys = new ArrayList<>();
    for (long key = -3; key <= 6; key++) {
      keys.add(key);
    }
    keys.addAll(List.of(Long.MIN_VALUE, Long.MAX_VALUE, Long.MIN_VALUE + 1, SPREAD));
    for (long high = 1; high <= 8; high++) {
      keys.add(high << 32);
    }
    for (int i = 0; i < 12; i++) {
      keys.add(colliding(i, 7));
    }
    for (int i = 0; i < 6; i++) {
      keys.add(colliding(i, 0xffff));
    }
    return List.copyOf(keys);
  }

  /** The i-th of many keys that all tables of up to 65,536 slots would put in the same slot. */
  static long colliding(int i, int home) {
    long mixed = 0x2aL << 58 | (long) i << 20 | home;
    long spread = mixed ^ mixed >>> 32;
    long key = spread * inverse();
    if (LongIntMap.mix(key) != mixed) {
      throw new AssertionError("mix() has changed; these keys no longer collide");
    }
    return key;
  }

  /** Of the odd multiplier, modulo 2^64, by Newton's method. */
  private static long inverse() {
    long inverse = SPREAD;
    for (int i = 0; i < 6; i++) {
      inverse *= 2 - SPREAD * inverse;
    }
    return inverse;
  }
}
