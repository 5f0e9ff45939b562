package baton.embeds;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Sixty-four threads that put, get, replace, remove and clear at once: no reader sees a byte that
 * was not put under its key, also while the payload is being evicted, and nothing is lost count of.
 *
 * <p>A payload's length and bytes follow from its key and its version, which are its first words.
 * Runs for {@code -Dbaton.soak-seconds}, 30 by default.
 */
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class PromptEmbedsCacheConcurrencyTest {
  private static final int THREADS = 64;
  private static final long RUN_NANOS =
      TimeUnit.SECONDS.toNanos(Long.getLong("baton.soak-seconds", 30));
  private static final int KEYS = 400;
  private static final String[] SALTS = {null, "s", "t", "u"};

  /** About half of what all keys take, so that there are evictions all the time. */
  private static final long CAPACITY = 8L << 20;

  private static final int HEADER = 2 * Long.BYTES;
  private static final int CHUNK = 16 * 1024;

  private final PromptEmbedsCache cache = new PromptEmbedsCache(CAPACITY);
  private final AtomicLongArray versions = new AtomicLongArray(KEYS);
  private final Semaphore slowReaders = new Semaphore(8);
  private final AtomicLong reads = new AtomicLong();
  private final AtomicLong readsAfterEviction = new AtomicLong();
  private final AtomicLong clears = new AtomicLong();
  private final long end = System.nanoTime() + RUN_NANOS;

  private boolean running() {
    return System.nanoTime() - end < 0;
  }

  private static String identifier(int key) {
    return "id-" + key / SALTS.length;
  }

  private static String salt(int key) {
    return SALTS[key % SALTS.length];
  }

  /** Mostly small, some of more than a run, a few beyond what the cache can hold. */
  private static int length(long key, long version) {
    Random random = new Random(key * 31 + version * 1_000_003);
    int dice = random.nextInt(1000);
    if (dice == 0) {
      return (int) CAPACITY + random.nextInt(1000);
    }
    return HEADER + random.nextInt(dice < 10 ? 3 << 20 : dice < 300 ? 150_000 : 20_000);
  }

  private static long seed(long key, long version) {
    return key << 40 ^ version;
  }

  /** The payload's bytes from an offset on, as many as the buffer takes. */
  private static void fill(ByteBuffer to, long key, long version, long offset) {
    if (offset == 0) {
      to.putLong(key).putLong(version);
      offset = HEADER;
    }
    Payloads.fill(to, seed(key, version), offset);
  }

  private void act(Random random, ByteBuffer sent, ByteBuffer expected) {
    int key = skewed(random);
    int dice = random.nextInt(1000);
    if (dice < 500) {
      get(key, random, expected);
    } else if (dice < 700) {
      putDirect(key);
    } else if (dice < 940) {
      putInChunks(key, random, sent);
    } else if (dice < 999) {
      cache.remove(identifier(key), salt(key));
    } else if (random.nextInt(10) == 0) {
      cache.clear();
      clears.incrementAndGet();
    }
  }

  /** Some keys are asked for more often than others. */
  private static int skewed(Random random) {
    return random.nextInt(1 + random.nextInt(KEYS));
  }

  private void putDirect(int key) {
    long version = versions.getAndIncrement(key);
    ByteBuffer bytes = ByteBuffer.allocate(length(key, version));
    fill(bytes, key, version, 0);
    boolean stored = cache.put(identifier(key), bytes.flip(), salt(key));
    assertThat(stored).isEqualTo(bytes.limit() <= cache.longestPayload());
  }

  private void putInChunks(int key, Random random, ByteBuffer sent) {
    long version = versions.getAndIncrement(key);
    int length = length(key, version);
    Upload upload = cache.upload(random.nextBoolean() ? length : 0);
    boolean breaksOff = random.nextInt(10) == 0;
    for (int offset = 0; offset < length; offset += CHUNK) {
      sent.clear().limit(Math.min(CHUNK, length - offset));
      fill(sent, key, version, offset);
      upload.append(sent.flip());
      if (breaksOff && offset > length / 2) {
        upload.discard();
        return;
      }
    }
    boolean stored = cache.put(identifier(key), upload, salt(key));
    assertThat(stored).isEqualTo(length <= cache.longestPayload());
  }

  private void get(int key, Random random, ByteBuffer expected) {
    try (Payload payload = cache.get(identifier(key), salt(key))) {
      if (payload != null) {
        check(payload, key, expected);
        if (random.nextInt(4) == 0 && slowReaders.tryAcquire()) {
          readUntilEvicted(payload, key, expected);
          slowReaders.release();
        }
      }
    }
  }

  /** Reads again and again, while so many others leave that this one most likely does too. */
  private void readUntilEvicted(Payload payload, int key, ByteBuffer expected) {
    long last = cache.totals().evictions() + KEYS / 4;
    do {
      check(payload, key, expected);
      Thread.yield();
    } while (running() && cache.totals().evictions() < last);
    check(payload, key, expected);
    readsAfterEviction.incrementAndGet();
  }

  private void check(Payload payload, int key, ByteBuffer expected) {
    byte[] header = new byte[HEADER];
    for (int i = 0; i < HEADER; i++) {
      header[i] = payload.slice(i, 1).get();
    }
    long named = ByteBuffer.wrap(header).getLong();
    long version = ByteBuffer.wrap(header).getLong(Long.BYTES);
    if (named != key || version < 0 || version >= versions.get(key)) {
      throw new AssertionError("key " + key + " has key " + named + ", version " + version);
    }
    int length = length(key, version);
    if (payload.length() != length) {
      throw new AssertionError(payload.length() + " bytes instead of " + length);
    }
    for (int offset = 0; offset < length; offset += CHUNK) {
      expected.clear().limit(Math.min(CHUNK, length - offset));
      fill(expected, key, version, offset);
      expected.flip();
      while (expected.hasRemaining()) {
        int at = offset + expected.position();
        ByteBuffer slice = payload.slice(at, expected.remaining());
        ByteBuffer same = expected.slice().limit(slice.remaining());
        if (!slice.equals(same)) {
          throw new AssertionError("wrong bytes of key " + key + ", version " + version);
        }
        expected.position(expected.position() + slice.remaining());
      }
    }
    reads.incrementAndGet();
  }

  private Void work(int thread) {
    Random random = new Random(thread);
    ByteBuffer sent = ByteBuffer.allocateDirect(CHUNK);
    ByteBuffer expected = ByteBuffer.allocate(CHUNK);
    while (running()) {
      act(random, sent, expected);
    }
    return null;
  }

  private long watch() {
    long looks = 0;
    while (running()) {
      PromptEmbedsCacheStats stats = cache.stats();
      if (stats.usedBytes() < stats.entries() * PromptEmbedsCache.OVERHEAD_BYTES
          || stats.usedBytes() > CAPACITY
          || stats.hits() > stats.lookups()
          || stats.hits() < 0
          || stats.oversizeRejections() < 0
          || stats.entries() == 0 && stats.usedBytes() > 0) {
        throw new AssertionError(stats.toString());
      }
      looks++;
      Thread.yield();
    }
    return looks;
  }

  @Test
  void sixtyFourThreads_puttingGettingRemovingAndClearing_seeWhatWasPut() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(THREADS + 1);
    try {
      List<Future<?>> workers = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        int thread = i;
        workers.add(threads.submit(() -> work(thread)));
      }
      Future<Long> watcher = threads.submit(this::watch);
      long deadline = RUN_NANOS + TimeUnit.SECONDS.toNanos(60);
      for (Future<?> worker : workers) {
        worker.get(deadline, TimeUnit.NANOSECONDS);
      }
      assertThat(watcher.get(deadline, TimeUnit.NANOSECONDS)).isPositive();
    } finally {
      threads.shutdownNow();
    }
    requireNothingLost();
    System.out.printf(
        "%s: %d payloads read and compared, %d of them again after %d evictions; %d clears;"
            + " %s%n",
        getClass().getSimpleName(),
        reads.get(),
        readsAfterEviction.get(),
        KEYS / 4,
        clears.get(),
        cache.totals());
    assertThat(reads.get()).isPositive();
    assertThat(readsAfterEviction.get()).isPositive();
    assertThat(cache.totals().evictions()).isPositive();
  }

  private void requireNothingLost() {
    PromptEmbedsCacheStats stats = cache.stats();
    ByteBuffer expected = ByteBuffer.allocate(CHUNK);
    long entries = 0;
    long charges = 0;
    long units = 0;
    for (int key = 0; key < KEYS; key++) {
      try (Payload payload = cache.get(identifier(key), salt(key))) {
        if (payload != null) {
          check(payload, key, expected);
          entries++;
          charges += payload.length() + PromptEmbedsCache.OVERHEAD_BYTES;
          units += Payloads.units(payload.length());
        }
      }
    }
    assertThat(stats.entries()).isEqualTo(entries);
    assertThat(stats.usedBytes()).isEqualTo(charges);
    assertThat(cache.memoryBytes()).isEqualTo(units);
    assertThat(cache.lingeringBytes()).isZero();
    cache.clear();
    assertThat(cache.memoryBytes()).isZero();
  }
}
