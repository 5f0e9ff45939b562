package baton.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Block key to holders. One writer at a time (the context's lock); readers take no lock.
 *
 * <p>What makes that safe: a slot's key is written once, before its first value, and never changes;
 * a removed block keeps its slot with no holders. Slots are reclaimed only by copying a segment,
 * and a reader that still walks the old one sees what was true when the copy was made, which is
 * after the reader fetched it. Segments keep each copy short.
 */
final class BlockTable {
  private static final int SEGMENTS = 64;
  private static final int MIN_SLOTS = 16;
  private static final VarHandle SEGMENT = MethodHandles.arrayElementVarHandle(Segment[].class);
  private static final VarHandle VALUE = MethodHandles.arrayElementVarHandle(Holders[].class);

  private final Segment[] segments = new Segment[SEGMENTS];

  /** Blocks that have holders. Written under the context's lock, read by anyone. */
  private volatile int size;

  private static final class Segment {
    final long[] keys;
    final Holders[] values;
    int used;
    int live;

    Segment(int slots) {
      keys = new long[slots];
      values = new Holders[slots];
    }
  }

  int size() {
    return size;
  }

  /** The block's holders, {@link Holders#NONE} if there are none. */
  Holders get(long key) {
    long mixed = LongIntMap.mix(key);
    Segment segment = (Segment) SEGMENT.getAcquire(segments, segmentOf(mixed));
    if (segment == null) {
      return Holders.NONE;
    }
    Holders[] values = segment.values;
    int mask = values.length - 1;
    for (int slot = (int) mixed & mask; ; slot = (slot + 1) & mask) {
      Holders holders = (Holders) VALUE.getAcquire(values, slot);
      if (holders == null) {
        return Holders.NONE;
      }
      if (segment.keys[slot] == key) {
        return holders;
      }
    }
  }

  /** Sets the block's holders; {@link Holders#NONE} removes it. */
  void put(long key, Holders holders) {
    long mixed = LongIntMap.mix(key);
    int index = segmentOf(mixed);
    Segment segment = segments[index];
    if (segment == null) {
      if (holders == Holders.NONE) {
        return;
      }
      segment = new Segment(MIN_SLOTS);
      SEGMENT.setRelease(segments, index, segment);
    }
    int slot = find(segment, key, mixed);
    Holders before = segment.values[slot];
    if (before == null) {
      if (holders == Holders.NONE) {
        return;
      }
      segment.keys[slot] = key;
      segment.used++;
      before = Holders.NONE;
    }
    VALUE.setRelease(segment.values, slot, holders);
    int change = (holders == Holders.NONE ? 0 : 1) - (before == Holders.NONE ? 0 : 1);
    if (change != 0) {
      segment.live += change;
      size += change;
    }
    tidy(index, segment);
  }

  /** Copies a segment that is crowded, or mostly slots of removed blocks. */
  private void tidy(int index, Segment segment) {
    int slots = segment.values.length;
    boolean crowded = segment.used > slots / 8 * 5;
    boolean empty = segment.live == 0 && slots > MIN_SLOTS;
    boolean sparse = slots > MIN_SLOTS && segment.live < slots / 16 && segment.used > slots / 4;
    if (!crowded && !empty && !sparse) {
      return;
    }
    Segment copy = new Segment(slotsFor(segment.live));
    for (int i = 0; i < slots; i++) {
      Holders holders = segment.values[i];
      if (holders != null && holders != Holders.NONE) {
        int slot = find(copy, segment.keys[i], LongIntMap.mix(segment.keys[i]));
        copy.keys[slot] = segment.keys[i];
        copy.values[slot] = holders;
      }
    }
    copy.used = segment.live;
    copy.live = segment.live;
    SEGMENT.setRelease(segments, index, copy);
  }

  /** A power of two that is between a sixth and a third full. */
  private static int slotsFor(int live) {
    int slots = MIN_SLOTS;
    while (slots < live * 3L) {
      slots <<= 1;
    }
    return slots;
  }

  private static int find(Segment segment, long key, long mixed) {
    int mask = segment.values.length - 1;
    int slot = (int) mixed & mask;
    while (segment.values[slot] != null && segment.keys[slot] != key) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  private static int segmentOf(long mixed) {
    return (int) (mixed >>> 58);
  }
}
