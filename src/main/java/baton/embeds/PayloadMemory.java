package baton.embeds;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Memory for payloads, outside the Java heap and in units, so that whatever is freed fits whatever
 * comes next: a payload may lie in many runs of units. Owns which units are taken, under its
 * monitor, which nobody holds while bytes are copied.
 *
 * <p>A slab is a private mapping of a sparse file without a name. The system gives it a page of its
 * own when the page is first written, and never writes it to a disk. Unlike direct buffers, such
 * mappings are not limited by the size of the Java heap, and need not be zeroed first.
 */
final class PayloadMemory {
  /** Bytes; small, because on average half of a payload's last unit is empty. */
  static final int UNIT = 128;

  private static final int SLAB_BYTES = 16 * 1024 * 1024;
  private static final int SLAB_UNITS = SLAB_BYTES / UNIT;

  /** A stretch of memory; which of its units are taken is guarded by the memory's monitor. */
  private static final class Slab {
    final int index;
    final ByteBuffer bytes;
    final BitSet taken = new BitSet(SLAB_UNITS);
    int free = SLAB_UNITS;

    Slab(int index, ByteBuffer bytes) {
      this.index = index;
      this.bytes = bytes;
    }
  }

  /** Neighbouring units that belong to one payload. */
  static final class Run {
    private final Slab slab;
    private final int first;
    private final int units;

    private Run(Slab slab, int first, int units) {
      this.slab = slab;
      this.first = first;
      this.units = units;
    }

    int units() {
      return units;
    }

    int bytes() {
      return units * UNIT;
    }

    /** A view of some of its bytes. */
    ByteBuffer slice(int offset, int length) {
      return slab.bytes.slice(first * UNIT + offset, length);
    }
  }

  private FileChannel backing;
  private final List<Slab> slabs = new ArrayList<>();
  private final AtomicLong lingering = new AtomicLong();

  /** No slab before this one has a free unit. */
  private int firstFree;

  private long usedUnits;

  /**
   * @throws UncheckedIOException if there is no folder for temporary files that can be written
   */
  PayloadMemory() {
    backing = open();
  }

  private static FileChannel open() {
    try {
      Path file = Files.createTempFile("baton-prompt-embeds", null);
      return FileChannel.open(
          file,
          StandardOpenOption.READ,
          StandardOpenOption.WRITE,
          StandardOpenOption.DELETE_ON_CLOSE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Takes neighbouring units.
   *
   * @param bytes wanted, at least 1
   * @return a run of at least one unit, and of no more than are needed for that many bytes
   */
  synchronized Run allocate(long bytes) {
    while (firstFree < slabs.size() && slabs.get(firstFree).free == 0) {
      firstFree++;
    }
    if (firstFree == slabs.size()) {
      slabs.add(newSlab());
    }
    Slab slab = slabs.get(firstFree);
    int first = slab.taken.nextClearBit(0);
    int next = slab.taken.nextSetBit(first);
    int room = (next < 0 ? SLAB_UNITS : next) - first;
    int units = (int) Math.min(room, (bytes + UNIT - 1) / UNIT);
    take(slab, first, units);
    return new Run(slab, first, units);
  }

  private void take(Slab slab, int first, int units) {
    slab.taken.set(first, first + units);
    slab.free -= units;
    usedUnits += units;
  }

  private Slab newSlab() {
    boolean interrupted = false;
    try {
      while (true) {
        interrupted |= Thread.interrupted();
        try {
          // All slabs are mappings of the same stretch of the file: what is written is not in it.
          return new Slab(slabs.size(), backing.map(MapMode.PRIVATE, 0, SLAB_BYTES));
        } catch (ClosedChannelException e) {
          // A thread that is interrupted here closes the channel, for all that come after it.
          backing = open();
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("no memory for payloads", e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Gives back what a run has beyond its first bytes. */
  synchronized Run shorten(Run run, int bytes) {
    int units = (bytes + UNIT - 1) / UNIT;
    give(run.slab, run.first + units, run.units - units);
    return new Run(run.slab, run.first, units);
  }

  synchronized void free(Run[] runs) {
    for (Run run : runs) {
      give(run.slab, run.first, run.units);
    }
  }

  private void give(Slab slab, int first, int units) {
    slab.taken.clear(first, first + units);
    slab.free += units;
    usedUnits -= units;
    firstFree = Math.min(firstFree, slab.index);
  }

  /** Forgets the slabs at the end that are empty, for the system to take back. */
  synchronized void trim() {
    for (int last = slabs.size() - 1; last >= 0 && slabs.get(last).free == SLAB_UNITS; last--) {
      slabs.remove(last);
    }
  }

  /** Bytes in units that are taken. */
  synchronized long used() {
    return usedUnits * UNIT;
  }

  /** Bytes of payloads that have left the cache and are still being read. */
  AtomicLong lingering() {
    return lingering;
  }
}
