package baton.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

/**
 * Queries among writers: no answer credits an owner with a prefix that it held at no moment of the
 * query, and none leaves out what was held all the time.
 *
 * <p>Writers note in {@link Span}s, by a common clock, since when and until when each owner may
 * have held a prefix; a span begins before the first of its blocks is stored and ends after the
 * last is removed. A query notes the clock before and after, so that its answer can be judged
 * exactly. No instance name comes twice, so that a slot's next owner cannot be mistaken for the
 * last one.
 */
class ConcurrentReadersTest {
  private static final long RUN_NANOS = TimeUnit.SECONDS.toNanos(5);
  private static final int BLOCKS = 600;
  private static final int READERS = 2;

  /** The first for engines, the last for the pool alone; the same owner never holds two at once. */
  private static final int ENGINE_PROMPTS = 3;

  private static final int POOL_PROMPT = ENGINE_PROMPTS;
  private static final long FOREVER = Long.MAX_VALUE;

  /** That one owner holds the first blocks of one prompt, as far as {@code depth}. */
  private static final class Span {
    final int prompt;
    final int depth;
    final long begin;
    volatile long complete = FOREVER;
    volatile long endBegins = FOREVER;
    volatile long end = FOREVER;

    Span(int prompt, int depth, long begin) {
      this.prompt = prompt;
      this.depth = depth;
      this.begin = begin;
    }

    boolean overlaps(long from, long to) {
      return begin <= to && end > from;
    }

    boolean covers(long from, long to) {
      return complete <= from && endBegins > to;
    }
  }

  /** An owner, known to one writer; its spans are known to all. */
  private static final class Holder {
    final boolean shared;
    final Queue<Span> spans;
    Owner owner;
    Span current;

    Holder(boolean shared, Queue<Span> spans) {
      this.shared = shared;
      this.spans = spans;
    }

    Tier tier() {
      return shared ? Tier.CPU_SHARE : Tier.DEVICE;
    }
  }

  private final Budget budget = new Budget(Long.MAX_VALUE);
  private final ContextIndex index = new ContextIndex(budget);
  private final AtomicLong clock = new AtomicLong();
  private final Map<String, Queue<Span>> engineSpans = new ConcurrentHashMap<>();

  /** Of all pool parts: their blocks make one prefix together. */
  private final Queue<Span> poolSpans = new ConcurrentLinkedQueue<>();

  /** When each reader's query began; spans that ended before all of them are of no more use. */
  private final AtomicLongArray queriesBegan = new AtomicLongArray(READERS);

  private final AtomicLong names = new AtomicLong();
  private final AtomicLong hits = new AtomicLong();
  private final AtomicLong changedUnderway = new AtomicLong();
  private final long deadline = System.nanoTime() + RUN_NANOS;

  @Test
  void queriesUnderWriters_everyAnswer_isWhatItsOwnersHeldMeanwhile() throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    List<Future<?>> running = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      Random random = new Random(i);
      running.add(threads.submit(() -> write(random, false)));
    }
    running.add(threads.submit(() -> write(new Random(7), true)));
    for (int i = 0; i < READERS; i++) {
      int reader = i;
      running.add(threads.submit(() -> read(reader, new Random(100 + reader))));
    }
    threads.shutdown();
    for (Future<?> one : running) {
      one.get(60, TimeUnit.SECONDS);
    }

    assertThat(hits).as("answers with a hit").hasValueGreaterThan(0);
    assertThat(changedUnderway).as("answers during a change").hasValueGreaterThan(0);
    assertThat(index.blockCount()).isZero();
    assertThat(budget.used()).isZero();
    assertThat(IndexProbe.holderSets(index)).isZero();
    assertThat(IndexProbe.query(index, prompt(0))).isEmpty();
  }

  private static long[] prompt(int prompt) {
    long[] keys = new long[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
      keys[i] = key(prompt, i);
    }
    return keys;
  }

  private static long key(int prompt, int block) {
    return (prompt * 1000L + block) * (prompt == 0 ? 1 : 0x5851f42d4c957f2dL);
  }

  // The writers: each has a few owners at a time, of which one changes.

  private void write(Random random, boolean shared) {
    Holder[] own = new Holder[3];
    while (System.nanoTime() < deadline) {
      int which = random.nextInt(own.length);
      if (own[which] == null) {
        own[which] = join(shared);
      } else if (own[which].current == null) {
        grow(own[which], shared ? POOL_PROMPT : random.nextInt(ENGINE_PROMPTS), random);
      } else {
        switch (random.nextInt(6)) {
          case 0 -> {
            leave(own[which]);
            own[which] = random.nextBoolean() ? join(shared) : null;
          }
          case 1 -> retract(own[which]);
          case 2 -> removeAll(own[which]);
          case 3 -> cut(own[which], random);
          case 4 -> hole(own[which], random);
          default -> grow(own[which], own[which].current.prompt, random);
        }
      }
    }
    for (Holder holder : own) {
      if (holder != null) {
        leave(holder);
      }
    }
  }

  private Holder join(boolean shared) {
    if (shared) {
      Holder pool = new Holder(true, poolSpans);
      pool.owner = index.joinPool();
      return pool;
    }
    Holder engine = new Holder(false, new ConcurrentLinkedQueue<>());
    String name = "engine-" + names.incrementAndGet();
    engineSpans.put(name, engine.spans);
    engine.owner = index.joinEngine(name, 0);
    return engine;
  }

  /** Stores what is missing to a greater depth. */
  private void grow(Holder holder, int prompt, Random random) {
    Span before = holder.current;
    int from = before == null ? 0 : before.depth;
    Span after = begin(holder, prompt, from + random.nextInt(BLOCKS - from + 1));
    long[] keys = Arrays.copyOfRange(prompt(prompt), from, after.depth);
    if (random.nextBoolean()) {
      reverse(keys);
    }
    IndexProbe.store(index, holder.owner, holder.tier(), keys);
    after.complete = clock.incrementAndGet();
    if (before != null) {
      before.endBegins = after.complete;
      before.end = after.complete;
    }
  }

  /** Takes blocks off the end. */
  private void cut(Holder holder, Random random) {
    shorten(holder, random, holder.current.depth);
  }

  /**
   * Takes one block out of the middle, then all that comes after it. Another pool part could fill a
   * pool's hole, so that one is cut.
   */
  private void hole(Holder holder, Random random) {
    Span before = holder.current;
    if (holder.shared) {
      cut(holder, random);
    } else if (before.depth > 0) {
      Span after = shorten(holder, random, -1);
      removeBlocks(holder, before.prompt, after.depth + 1, before.depth);
    }
  }

  /**
   * @param to where the removed blocks end, -1 for only one
   */
  private Span shorten(Holder holder, Random random, int to) {
    Span before = holder.current;
    Span after = begin(holder, before.prompt, before.depth == 0 ? 0 : random.nextInt(before.depth));
    after.complete = after.begin;
    before.endBegins = clock.incrementAndGet();
    removeBlocks(holder, before.prompt, after.depth, to < 0 ? after.depth + 1 : to);
    before.end = clock.incrementAndGet();
    return after;
  }

  private void removeBlocks(Holder holder, int prompt, int from, int to) {
    IndexProbe.remove(
        index, holder.owner, holder.tier(), Arrays.copyOfRange(prompt(prompt), from, to));
  }

  private void removeAll(Holder holder) {
    Span before = holder.current;
    before.endBegins = clock.incrementAndGet();
    removeBlocks(holder, before.prompt, 0, before.depth);
    endOf(holder);
  }

  private void retract(Holder holder) {
    holder.current.endBegins = clock.incrementAndGet();
    holder.owner = index.retract(holder.owner);
    endOf(holder);
  }

  private void leave(Holder holder) {
    if (holder.current != null) {
      holder.current.endBegins = clock.incrementAndGet();
    }
    index.leave(holder.owner);
    if (holder.current != null) {
      endOf(holder);
    }
  }

  private Span begin(Holder holder, int prompt, int depth) {
    long oldest = FOREVER;
    for (int i = 0; i < READERS; i++) {
      oldest = Math.min(oldest, queriesBegan.get(i));
    }
    long useful = oldest;
    holder.spans.removeIf(span -> span.end <= useful);
    Span span = new Span(prompt, depth, clock.incrementAndGet());
    holder.spans.add(span);
    holder.current = span;
    return span;
  }

  private void endOf(Holder holder) {
    holder.current.end = clock.incrementAndGet();
    holder.current = null;
  }

  private static void reverse(long[] keys) {
    for (int i = 0, j = keys.length - 1; i < j; i++, j--) {
      long key = keys[i];
      keys[i] = keys[j];
      keys[j] = key;
    }
  }

  // The readers.

  private void read(int reader, Random random) {
    while (System.nanoTime() < deadline) {
      int prompt = random.nextInt(ENGINE_PROMPTS + 1);
      LongSupplier keys = keys(prompt, random.nextInt(2 * BLOCKS));
      long from = clock.get();
      queriesBegan.set(reader, from);
      PrefixMatch match = index.match(BLOCKS, keys, "");
      long to = clock.get();
      if (to > from) {
        changedUnderway.incrementAndGet();
      }
      for (PrefixMatch.RankMatch rank : match.ranks()) {
        judge(prompt, rank, from, to);
      }
    }
  }

  /** The prompt's keys, with a chance for the writers before one of them. */
  private static LongSupplier keys(int prompt, int pause) {
    int[] next = {0};
    return () -> {
      if (next[0] == pause) {
        Thread.yield();
      }
      return key(prompt, next[0]++);
    };
  }

  private void judge(int prompt, PrefixMatch.RankMatch rank, long from, long to) {
    boolean shared = prompt == POOL_PROMPT;
    int claimed = rank.blocks(shared ? Tier.CPU_SHARE : Tier.DEVICE);
    int most = 0;
    int least = 0;
    for (Span span : shared ? poolSpans : engineSpans.get(rank.instance())) {
      if (span.prompt == prompt) {
        most = span.overlaps(from, to) ? Math.max(most, span.depth) : most;
        least = span.covers(from, to) ? Math.max(least, span.depth) : least;
      }
    }
    assertThat(claimed)
        .as("%s, prompt %s, during %s..%s", rank.instance(), prompt, from, to)
        .isBetween(least, most);
    if (claimed > 0) {
      hits.incrementAndGet();
    }
  }
}
