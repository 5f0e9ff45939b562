package baton.embeds;

import baton.embeds.PayloadMemory.Run;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * A payload on its way in: bytes go straight to where they will stay. Used by one thread at a time;
 * ends in {@link PromptEmbedsCache#put(String, Upload, String)} or {@link #discard}.
 */
public final class Upload {
  /** Bytes asked for at a time: long runs are sent fast, and few may be taken in vain. */
  private static final int MAX_RUN = 1024 * 1024;

  private final PayloadMemory memory;
  private final long announced;
  private final List<Run> runs = new ArrayList<>(1);
  private long length;
  private long capacity;
  private boolean ended;

  Upload(PayloadMemory memory, long announced) {
    this.memory = memory;
    this.announced = announced;
  }

  /** Bytes so far. */
  public long length() {
    return length;
  }

  /** Adds all that remains in a buffer. */
  public void append(ByteBuffer bytes) {
    requireOpen();
    while (bytes.hasRemaining()) {
      if (length == capacity) {
        grow(bytes.remaining());
      }
      Run last = runs.get(runs.size() - 1);
      int room = (int) (capacity - length);
      int count = Math.min(room, bytes.remaining());
      last.slice(last.bytes() - room, count).put(bytes.slice().limit(count));
      bytes.position(bytes.position() + count);
      length += count;
    }
  }

  private void grow(int atLeast) {
    long expected = Math.max(announced - length, Math.min(length, MAX_RUN));
    Run run = memory.allocate(Math.max(atLeast, Math.min(expected, MAX_RUN)));
    runs.add(run);
    capacity += run.bytes();
  }

  /** Frees its memory. */
  public void discard() {
    if (!ended) {
      ended = true;
      memory.free(runs.toArray(Run[]::new));
    }
  }

  Payload end() {
    requireOpen();
    ended = true;
    int spare = (int) (capacity - length);
    if (spare >= PayloadMemory.UNIT) {
      Run last = runs.remove(runs.size() - 1);
      runs.add(memory.shorten(last, last.bytes() - spare));
    }
    return new Payload(memory, runs.toArray(Run[]::new), length);
  }

  private void requireOpen() {
    if (ended) {
      throw new IllegalStateException("the upload has ended");
    }
  }
}
