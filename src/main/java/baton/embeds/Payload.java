package baton.embeds;

import baton.embeds.PayloadMemory.Run;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The bytes of a stored payload, which never change. Whoever has one from {@link
 * PromptEmbedsCache#get} holds it: its memory is freed when the cache and all holders have let go.
 */
public final class Payload implements AutoCloseable {
  private static final int[] NONE_BEFORE = {0};

  private final PayloadMemory memory;
  private final Run[] runs;
  private final long length;

  /** The units before each run, so that a byte is found fast among many thousands of runs. */
  private final int[] unitsBefore;

  private final AtomicInteger holders = new AtomicInteger(1);

  /** Written before the cache lets go of it, read by the last holder. */
  private boolean lingers;

  Payload(PayloadMemory memory, Run[] runs, long length) {
    this.memory = memory;
    this.runs = runs;
    this.length = length;
    this.unitsBefore = runs.length == 1 ? NONE_BEFORE : new int[runs.length];
    for (int i = 1; i < runs.length; i++) {
      unitsBefore[i] = unitsBefore[i - 1] + runs[i - 1].units();
    }
  }

  /** Bytes. */
  public long length() {
    return length;
  }

  /**
   * A view of some of its bytes, to be used only as long as the payload is held.
   *
   * @param offset of the first one, below {@link #length}
   * @param max how many at most; there may be fewer, and never none
   */
  public ByteBuffer slice(long offset, int max) {
    if (offset < 0 || offset >= length || max <= 0) {
      throw new IndexOutOfBoundsException(offset + " of " + length);
    }
    requireHeld();
    int found = Arrays.binarySearch(unitsBefore, (int) (offset / PayloadMemory.UNIT));
    int i = found < 0 ? -found - 2 : found;
    int from = (int) (offset - (long) unitsBefore[i] * PayloadMemory.UNIT);
    int bytes = (int) Math.min(Math.min(runs[i].bytes() - from, max), length - offset);
    return runs[i].slice(from, bytes).asReadOnlyBuffer();
  }

  /** Holds it once more; each time needs a {@link #close} of its own. */
  public void hold() {
    if (!tryHold()) {
      throw new IllegalStateException("the payload is freed");
    }
  }

  private boolean tryHold() {
    return holders.getAndUpdate(n -> n == 0 ? 0 : n + 1) > 0;
  }

  private void requireHeld() {
    if (holders.get() <= 0) {
      throw new IllegalStateException("the payload is freed");
    }
  }

  /** Lets go of it. */
  @Override
  public void close() {
    int left = holders.decrementAndGet();
    if (left < 0) {
      throw new IllegalStateException("the payload was let go more often than held");
    }
    if (left == 0) {
      memory.free(runs);
      if (lingers) {
        memory.lingering().addAndGet(-length);
      }
    }
  }

  /** The cache lets go of it. */
  void evict() {
    lingers = true;
    memory.lingering().addAndGet(length);
    close();
  }
}
