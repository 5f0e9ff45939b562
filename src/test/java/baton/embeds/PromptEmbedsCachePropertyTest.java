package baton.embeds;

import static org.assertj.core.api.Assertions.assertThat;

import baton.embeds.PromptEmbedsCache.Totals;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.Tuple;

/**
 * Whatever is done to a cache, it holds what a list in the order of use would, counts what was done
 * to it, and takes exactly the memory of what it holds, what is read and what is received.
 */
class PromptEmbedsCachePropertyTest {
  private static final String[] SALTS = {null, "", "s", "t"};
  private static final int IDENTIFIERS = 6;

  enum Kind {
    PUT,
    PUT_UPLOAD,
    PUT_EMPTY,
    BEGIN_UPLOAD,
    APPEND,
    END_UPLOAD,
    DISCARD_UPLOAD,
    GET,
    GET_AND_HOLD,
    HOLD_AGAIN,
    LET_GO,
    REMOVE,
    CAN_HOLD,
    CLEAR,
    TRIM
  }

  /**
   * @param pick which key, upload or held payload
   * @param size of the payload or the bytes added to it
   * @param seed of its chunks and its announced length
   */
  record Step(Kind kind, int pick, int size, int seed) {}

  /** A payload that was stored, and how often a reader holds it. */
  private static final class Version {
    final byte[] bytes;
    boolean cached = true;
    int holds;

    Version(byte[] bytes) {
      this.bytes = bytes;
    }

    long charge() {
      return bytes.length + PromptEmbedsCache.OVERHEAD_BYTES;
    }
  }

  private record Entry(String key, Version version) {}

  private record Reader(Payload payload, Version version) {}

  /** An upload in progress; what it takes is measured, as how far it takes ahead is its affair. */
  private static final class Receiving {
    final Upload upload;
    final long contentSeed;
    int length;
    long memory;

    Receiving(Upload upload, long contentSeed) {
      this.upload = upload;
      this.contentSeed = contentSeed;
    }
  }

  /** The cache and, beside it, what it should be: a list of entries, the coldest first. */
  private static final class Both {
    final long capacity;
    final PromptEmbedsCache cache;
    final List<Entry> entries = new ArrayList<>();
    final List<Reader> readers = new ArrayList<>();
    final List<Receiving> uploads = new ArrayList<>();
    long hits;
    long misses;
    long puts;
    long evictions;
    long oversize;
    Totals atClear = new Totals(0, 0, 0, 0, 0);
    long nextSeed;

    Both(long capacity) {
      this.capacity = Math.max(0, capacity);
      this.cache = new PromptEmbedsCache(capacity);
    }

    void apply(Step step) {
      String identifier = "id-" + step.pick() % IDENTIFIERS;
      String salt = SALTS[step.pick() / IDENTIFIERS % SALTS.length];
      String key = (salt == null ? "" : salt) + "/" + identifier;
      Random random = new Random(step.seed());
      switch (step.kind()) {
        case PUT -> {
          byte[] bytes = Payloads.bytes(nextSeed++, step.size());
          boolean stored = cache.put(identifier, ByteBuffer.wrap(bytes), salt);
          assertThat(stored).isEqualTo(store(key, bytes));
        }
        case PUT_EMPTY -> {
          assertThat(cache.put(identifier, ByteBuffer.allocate(0), salt)).isFalse();
          if (cache.enabled()) {
            assertThat(cache.put(identifier, cache.upload(step.size()), salt)).isFalse();
          }
        }
        case PUT_UPLOAD -> {
          if (cache.enabled()) {
            Receiving receiving = begin(step, random);
            append(receiving, step.size(), random);
            end(receiving, identifier, salt, key);
          }
        }
        case BEGIN_UPLOAD -> {
          if (cache.enabled()) {
            begin(step, random);
          }
        }
        case APPEND -> {
          if (!uploads.isEmpty()) {
            append(uploads.get(step.pick() % uploads.size()), step.size() / 3, random);
          }
        }
        case END_UPLOAD -> {
          if (!uploads.isEmpty()) {
            end(uploads.get(step.seed() % uploads.size()), identifier, salt, key);
          }
        }
        case DISCARD_UPLOAD -> {
          if (!uploads.isEmpty()) {
            uploads.remove(step.pick() % uploads.size()).upload.discard();
          }
        }
        case GET -> get(identifier, salt, key, false);
        case GET_AND_HOLD -> get(identifier, salt, key, true);
        case HOLD_AGAIN -> {
          if (!readers.isEmpty()) {
            Reader reader = readers.get(step.pick() % readers.size());
            reader.payload().hold();
            reader.version().holds++;
            readers.add(reader);
          }
        }
        case LET_GO -> {
          if (!readers.isEmpty()) {
            letGo(readers.remove(step.pick() % readers.size()));
          }
        }
        case REMOVE -> {
          cache.remove(identifier, salt);
          Entry entry = find(key);
          if (entry != null) {
            drop(entry);
          }
        }
        case CAN_HOLD ->
            assertThat(cache.canHold(step.size()))
                .isEqualTo(
                    step.size() > 0 && step.size() + PromptEmbedsCache.OVERHEAD_BYTES <= capacity);
        case CLEAR -> {
          cache.clear();
          List.copyOf(entries).forEach(this::drop);
          atClear = totals();
        }
        case TRIM -> cache.trim();
        default -> throw new AssertionError(step);
      }
    }

    private Receiving begin(Step step, Random random) {
      long announced =
          switch (random.nextInt(4)) {
            case 0 -> 0;
            case 1 -> step.size();
            case 2 -> step.size() / 2;
            default -> step.size() * 3L;
          };
      Receiving receiving = new Receiving(cache.upload(announced), nextSeed++);
      uploads.add(receiving);
      return receiving;
    }

    private void append(Receiving to, int count, Random random) {
      byte[] all = Payloads.bytes(to.contentSeed, to.length + count);
      long before = cache.memoryBytes();
      while (to.length < all.length) {
        int chunk = Math.min(1 + random.nextInt(Math.max(1, count)), all.length - to.length);
        to.upload.append(ByteBuffer.wrap(all, to.length, chunk));
        to.length += chunk;
      }
      to.memory += cache.memoryBytes() - before;
      assertThat(to.upload.length()).isEqualTo(to.length);
      assertThat(to.memory)
          .as("memory of an upload")
          .isBetween(Payloads.units(to.length), Payloads.units(to.length) + (1 << 20));
    }

    private void end(Receiving receiving, String identifier, String salt, String key) {
      uploads.remove(receiving);
      byte[] bytes = Payloads.bytes(receiving.contentSeed, receiving.length);
      boolean stored = cache.put(identifier, receiving.upload, salt);
      assertThat(stored).isEqualTo(store(key, bytes));
    }

    private void get(String identifier, String salt, String key, boolean keep) {
      Payload payload = cache.get(identifier, salt);
      Entry entry = find(key);
      if (entry == null) {
        misses += cache.enabled() ? 1 : 0;
        assertThat(payload).as(key).isNull();
        return;
      }
      hits++;
      entries.remove(entry);
      entries.add(entry);
      assertThat(payload).as(key).isNotNull();
      Reader reader = new Reader(payload, entry.version());
      reader.version().holds++;
      if (keep) {
        readers.add(reader);
      } else {
        letGo(reader);
      }
    }

    private void letGo(Reader reader) {
      requireSameBytes(reader);
      reader.payload().close();
      reader.version().holds--;
    }

    /** Stores in the model; returns whether it was stored. */
    private boolean store(String key, byte[] bytes) {
      Version version = new Version(bytes);
      if (bytes.length == 0) {
        return false;
      }
      if (version.charge() > capacity) {
        oversize++;
        return false;
      }
      Entry before = find(key);
      if (before != null) {
        drop(before);
      }
      while (used() + version.charge() > capacity) {
        evictions++;
        drop(entries.get(0));
      }
      entries.add(new Entry(key, version));
      puts++;
      return true;
    }

    private Entry find(String key) {
      return entries.stream().filter(e -> e.key().equals(key)).findAny().orElse(null);
    }

    private void drop(Entry entry) {
      entries.remove(entry);
      entry.version().cached = false;
    }

    private long used() {
      return entries.stream().mapToLong(e -> e.version().charge()).sum();
    }

    private Totals totals() {
      return new Totals(hits, misses, puts, evictions, oversize);
    }

    void requireSame() {
      long recentHits = hits - atClear.hits();
      long recentLookups = recentHits + misses - atClear.misses();
      PromptEmbedsCacheStats stats = cache.stats();
      assertThat(stats)
          .isEqualTo(
              new PromptEmbedsCacheStats(
                  capacity,
                  entries.size(),
                  recentHits,
                  recentLookups,
                  oversize - atClear.oversize(),
                  used()));
      assertThat(stats.usedBytes()).isLessThanOrEqualTo(capacity);
      assertThat(stats.hitRatio())
          .isEqualTo(recentLookups == 0 ? 0.0 : (double) recentHits / recentLookups);
      assertThat(cache.totals()).isEqualTo(totals());
      requireSameMemory();
    }

    private void requireSameMemory() {
      List<Version> lingering =
          readers.stream().map(Reader::version).filter(v -> !v.cached).distinct().toList();
      assertThat(cache.lingeringBytes())
          .as("lingering")
          .isEqualTo(lingering.stream().mapToLong(v -> v.bytes.length).sum());
      long units =
          entries.stream().mapToLong(e -> Payloads.units(e.version().bytes.length)).sum()
              + lingering.stream().mapToLong(v -> Payloads.units(v.bytes.length)).sum()
              + uploads.stream().mapToLong(u -> u.memory).sum();
      assertThat(cache.memoryBytes()).as("memory").isEqualTo(units);
    }

    private static void requireSameBytes(Reader reader) {
      assertThat(reader.payload().length()).isEqualTo(reader.version().bytes.length);
      assertThat(Payloads.read(reader.payload())).isEqualTo(reader.version().bytes);
    }

    /** Looks every key up: who is there, with which bytes. */
    void requireSameEntries() {
      for (String salt : SALTS) {
        for (int i = 0; i < IDENTIFIERS; i++) {
          get("id-" + i, salt, (salt == null ? "" : salt) + "/id-" + i, false);
          requireSame();
        }
      }
    }

    /** Pushes one entry after the other out: each time the coldest must be the one that goes. */
    void requireSameOrder() {
      int filler = 0;
      List<Version> before = entries.stream().map(Entry::version).toList();
      while (before.stream().anyMatch(v -> v.cached)) {
        String identifier = "filler-" + filler++;
        assertThat(cache.put(identifier, ByteBuffer.allocate(1), null)).isTrue();
        store("/" + identifier, new byte[1]);
        requireSame();
      }
    }

    void endAll() {
      readers.forEach(Both::requireSameBytes);
      List.copyOf(readers).forEach(this::letGo);
      readers.clear();
      uploads.forEach(u -> u.upload.discard());
      uploads.clear();
      requireSame();
      cache.clear();
      assertThat(cache.memoryBytes()).isZero();
      assertThat(cache.lingeringBytes()).isZero();
    }
  }

  @Property(tries = 500, edgeCases = EdgeCasesMode.NONE)
  void anySteps_smallCache_likeTheModel(
      @ForAll("capacities") long capacity, @ForAll("steps") List<Step> steps) {
    Both both = new Both(capacity);
    for (Step step : steps) {
      both.apply(step);
      both.requireSame();
    }
    both.requireSameOrder();
    both.endAll();
  }

  @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
  void anySteps_thenEveryKey_likeTheModel(
      @ForAll("capacities") long capacity, @ForAll("steps") List<Step> steps) {
    Both both = new Both(capacity);
    for (Step step : steps) {
      both.apply(step);
      both.requireSame();
    }
    both.requireSameEntries();
    both.endAll();
  }

  @Property(tries = 6, shrinking = ShrinkingMode.OFF)
  void payloadsBeyondRunsAndSlabs_likeTheModel(@ForAll long seed) {
    Random random = new Random(seed);
    Both both = new Both(48L << 20);
    for (int i = 0; i < 60; i++) {
      Kind kind =
          switch (random.nextInt(20)) {
            case 0 -> Kind.CLEAR;
            case 1, 2 -> Kind.TRIM;
            case 3 -> Kind.REMOVE;
            case 4 -> Kind.GET;
            case 5, 6 -> Kind.GET_AND_HOLD;
            case 7, 8 -> Kind.LET_GO;
            case 9 -> Kind.BEGIN_UPLOAD;
            case 10 -> Kind.APPEND;
            case 11 -> Kind.END_UPLOAD;
            case 12 -> Kind.DISCARD_UPLOAD;
            case 13, 14, 15 -> Kind.PUT_UPLOAD;
            default -> Kind.PUT;
          };
      int size = random.nextInt(1 << 10 + random.nextInt(15));
      both.apply(new Step(kind, random.nextInt(24), size, random.nextInt(1000)));
      both.requireSame();
    }
    both.requireSameEntries();
    both.endAll();
  }

  @Property(tries = 4, shrinking = ShrinkingMode.OFF)
  void thousandsOfSmallPayloads_likeTheModel(@ForAll long seed) {
    Random random = new Random(seed);
    Both both = new Both(400_000);
    for (int i = 0; i < 1500; i++) {
      String identifier = "many-" + random.nextInt(800);
      if (random.nextInt(3) == 0) {
        both.get(identifier, "s", "s/" + identifier, false);
      } else {
        // Now and then one that needs more evictions than the cache does at once.
        int size = random.nextInt(100) == 0 ? random.nextInt(300_000) : random.nextInt(40);
        byte[] bytes = Payloads.bytes(i, size);
        assertThat(both.cache.put(identifier, ByteBuffer.wrap(bytes), "s"))
            .isEqualTo(both.store("s/" + identifier, bytes));
      }
      both.requireSame();
    }
    both.requireSameOrder();
    both.endAll();
  }

  @Provide
  Arbitrary<Long> capacities() {
    return Arbitraries.frequencyOf(
        Tuple.of(1, Arbitraries.of(-1L, 0L, 1L, 512L, 513L)),
        Tuple.of(12, Arbitraries.longs().between(514, 20_000)));
  }

  @Provide
  Arbitrary<List<Step>> steps() {
    Arbitrary<Kind> kinds =
        Arbitraries.frequency(
            Tuple.of(400, Kind.PUT),
            Tuple.of(250, Kind.PUT_UPLOAD),
            Tuple.of(30, Kind.PUT_EMPTY),
            Tuple.of(60, Kind.BEGIN_UPLOAD),
            Tuple.of(80, Kind.APPEND),
            Tuple.of(50, Kind.END_UPLOAD),
            Tuple.of(30, Kind.DISCARD_UPLOAD),
            Tuple.of(250, Kind.GET),
            Tuple.of(120, Kind.GET_AND_HOLD),
            Tuple.of(30, Kind.HOLD_AGAIN),
            Tuple.of(120, Kind.LET_GO),
            Tuple.of(60, Kind.REMOVE),
            Tuple.of(40, Kind.CAN_HOLD),
            Tuple.of(20, Kind.CLEAR),
            Tuple.of(1, Kind.TRIM));
    Arbitrary<Integer> sizes =
        Arbitraries.frequencyOf(
            Tuple.of(2, Arbitraries.of(0, 1, 511, 512, 513, 1024, 1025)),
            Tuple.of(8, Arbitraries.integers().between(0, 5_000)),
            Tuple.of(1, Arbitraries.integers().between(5_000, 25_000)));
    return Combinators.combine(
            kinds,
            Arbitraries.integers().between(0, 999),
            sizes,
            Arbitraries.integers().between(0, 999))
        .as(Step::new)
        .list()
        .ofMaxSize(80);
  }
}
