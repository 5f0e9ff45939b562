package baton.index;

/**
 * A map from any 64-bit key to an int that is never 0. Twelve bytes a slot, linear probing,
 * deletion by shifting back, so that it needs no tombstones. Not for several threads.
 */
final class LongIntMap {
  private static final int MIN_SLOTS = 16;

  private long[] keys = new long[MIN_SLOTS];
  private int[] values = new int[MIN_SLOTS];
  private int size;

  int size() {
    return size;
  }

  /** The key's value, or 0. */
  int get(long key) {
    return values[find(key)];
  }

  /** Sets the key's value; 0 removes it. */
  void put(long key, int value) {
    int slot = find(key);
    if (value == 0) {
      if (values[slot] != 0) {
        delete(slot);
      }
      return;
    }
    if (values[slot] == 0) {
      keys[slot] = key;
      size++;
    }
    values[slot] = value;
    if (size > keys.length / 4 * 3) {
      resize(keys.length * 2);
    }
  }

  /** All keys, in no order. */
  long[] keys() {
    long[] all = new long[size];
    int n = 0;
    for (int i = 0; i < keys.length; i++) {
      if (values[i] != 0) {
        all[n++] = keys[i];
      }
    }
    return all;
  }

  private int find(long key) {
    int mask = keys.length - 1;
    int slot = slot(key, mask);
    while (values[slot] != 0 && keys[slot] != key) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  private void delete(int slot) {
    int mask = keys.length - 1;
    int hole = slot;
    for (int i = (hole + 1) & mask; values[i] != 0; i = (i + 1) & mask) {
      int home = slot(keys[i], mask);
      if (((i - home) & mask) >= ((i - hole) & mask)) {
        keys[hole] = keys[i];
        values[hole] = values[i];
        hole = i;
      }
    }
    values[hole] = 0;
    size--;
    if (keys.length > MIN_SLOTS && size < keys.length / 8) {
      resize(keys.length / 2);
    }
  }

  private void resize(int slots) {
    long[] oldKeys = keys;
    int[] oldValues = values;
    keys = new long[slots];
    values = new int[slots];
    for (int i = 0; i < oldKeys.length; i++) {
      if (oldValues[i] != 0) {
        int slot = find(oldKeys[i]);
        keys[slot] = oldKeys[i];
        values[slot] = oldValues[i];
      }
    }
  }

  private static int slot(long key, int mask) {
    return (int) mix(key) & mask;
  }

  /** Spreads keys that are not hashes, or that share the bits a table uses. */
  static long mix(long key) {
    long h = key * 0x9e3779b97f4a7c15L;
    return h ^ (h >>> 32);
  }
}
