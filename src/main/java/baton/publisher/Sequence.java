package baton.publisher;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Which numbers of a stream have been applied, and what the last of them said: two engines may
 * count alike, but do not say the same under one number. Used by one thread.
 */
final class Sequence {
  /** The number before the first. */
  static final long NONE = -1;

  private static final int REMEMBERED = 64;
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** What a number is to a stream that has come so far. */
  enum Verdict {
    NEXT,
    /** Some before it are missing. */
    GAP,
    /** It was applied, or is older than what was applied. */
    OLD,
    /**
     * It cannot be the same stream: under this number it said something else, or is far past it.
     */
    CONTRADICTION
  }

  private final long[] digests = new long[REMEMBERED];

  /** The numbers of the digests; of another number, or none, where a slot was not written. */
  private final long[] numbers = new long[REMEMBERED];

  private volatile long last = NONE;

  Sequence() {
    reset();
  }

  /** The number of the last message that was applied, or {@link #NONE}. */
  long last() {
    return last;
  }

  /** The number that comes next. */
  long next() {
    return last + 1;
  }

  boolean hasBegun() {
    return last != NONE;
  }

  Verdict judge(long number, long digest) {
    if (number == last + 1) {
      return Verdict.NEXT;
    }
    if (number > last) {
      return Verdict.GAP;
    }
    return contradicts(number, digest) || number <= last - REMEMBERED
        ? Verdict.CONTRADICTION
        : Verdict.OLD;
  }

  /** Whether something else is known to have been said under this number. */
  boolean contradicts(long number, long digest) {
    int slot = (int) (number % REMEMBERED);
    return numbers[slot] == number && digests[slot] != digest;
  }

  void applied(long number, long digest) {
    int slot = (int) (number % REMEMBERED);
    numbers[slot] = number;
    digests[slot] = digest;
    last = number;
  }

  /** The next message begins a stream of which nothing is known. */
  void reset() {
    last = NONE;
    Arrays.fill(numbers, NONE);
  }

  /** Passes over all numbers before this one; what they said may have been another's word. */
  void skipTo(long number) {
    reset();
    last = number - 1;
  }

  /** 64 bits that tell payloads apart; not against someone who wants them to be alike. */
  static long digest(byte[] payload) {
    long hash = payload.length;
    int i = 0;
    for (; i <= payload.length - Long.BYTES; i += Long.BYTES) {
      hash = mix(hash ^ (long) LONGS.get(payload, i));
    }
    for (; i < payload.length; i++) {
      hash = mix(hash ^ payload[i]);
    }
    return hash;
  }

  private static long mix(long value) {
    long product = value * 0x9E37_79B9_7F4A_7C15L;
    return product ^ product >>> 29;
  }
}
