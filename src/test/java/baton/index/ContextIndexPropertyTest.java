package baton.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.Tuple;

/**
 * Whatever is done to an index, it answers like maps of who holds what, searched block by block.
 */
class ContextIndexPropertyTest {
  private static final Tier[] ENGINE_TIERS = {Tier.DEVICE, Tier.CPU_LOCAL, Tier.DISK};
  private static final Tier[] POOL_TIERS = {Tier.CPU_SHARE, Tier.DISK};

  enum Kind {
    JOIN_ENGINE,
    JOIN_POOL,
    STORE,
    REMOVE,
    REMOVE_TIER,
    RETRACT,
    LEAVE
  }

  /**
   * @param pick which of the owners, and which of its tiers
   */
  record Change(Kind kind, int pick, long[] keys) {
    @Override
    public String toString() {
      return kind + " " + pick + " " + Arrays.toString(keys);
    }
  }

  /** The index and, beside it, what it should hold: for each owner and block, copies by tier. */
  private static final class Both {
    final Budget budget;
    final ContextIndex index;
    final Map<Owner, Map<Long, int[]>> model = new LinkedHashMap<>();
    int joined;

    Both(long limit) {
      budget = new Budget(limit);
      index = new ContextIndex(budget);
    }

    void apply(Change change) {
      switch (change.kind()) {
        case JOIN_ENGINE -> {
          int n = joined++;
          model.put(index.joinEngine("engine-" + n / 2, n % 2), new HashMap<>());
        }
        case JOIN_POOL -> model.put(index.joinPool(), new HashMap<>());
        default -> {
          if (!model.isEmpty()) {
            List<Owner> owners = new ArrayList<>(model.keySet());
            Owner owner = owners.get(change.pick() % owners.size());
            Tier[] tiers = owner.isShared() ? POOL_TIERS : ENGINE_TIERS;
            apply(change, owner, tiers[change.pick() / owners.size() % tiers.length]);
          }
        }
      }
    }

    private void apply(Change change, Owner owner, Tier tier) {
      long[] keys = change.keys();
      Map<Long, int[]> held = model.get(owner);
      switch (change.kind()) {
        case STORE ->
            assertThat(index.store(owner, tier, keys, keys.length))
                .isEqualTo(stored(owner, tier, keys));
        case REMOVE -> {
          index.remove(owner, tier, keys, keys.length);
          for (long key : keys) {
            dropOne(held, key, tier);
          }
        }
        case REMOVE_TIER -> {
          index.removeTier(owner, tier);
          for (long key : held.keySet().stream().mapToLong(k -> k).toArray()) {
            dropOne(held, key, tier);
          }
        }
        case RETRACT -> {
          model.remove(owner);
          model.put(index.retract(owner), new HashMap<>());
        }
        case LEAVE -> {
          model.remove(owner);
          index.leave(owner);
        }
        default -> throw new AssertionError(change);
      }
    }

    /** Stores in the model; returns how many blocks found no room. */
    private int stored(Owner owner, Tier tier, long[] keys) {
      Map<Long, int[]> held = model.get(owner);
      int refused = 0;
      for (long key : keys) {
        if (!held.containsKey(key) && total() >= budget.limit()) {
          refused++;
        } else {
          int[] copies = held.computeIfAbsent(key, k -> new int[Tier.COUNT]);
          copies[tier.ordinal()] = owner.isShared() ? copies[tier.ordinal()] + 1 : 1;
        }
      }
      return refused;
    }

    private static void dropOne(Map<Long, int[]> held, long key, Tier tier) {
      int[] copies = held.get(key);
      if (copies != null && copies[tier.ordinal()] > 0) {
        copies[tier.ordinal()]--;
        if (Arrays.stream(copies).sum() == 0) {
          held.remove(key);
        }
      }
    }

    long total() {
      return model.values().stream().mapToLong(Map::size).sum();
    }

    void requireSameCounts() {
      assertThat(budget.used()).as("budget used").isEqualTo(total());
      long different = model.values().stream().flatMap(h -> h.keySet().stream()).distinct().count();
      assertThat(index.blockCount()).as("different blocks").isEqualTo((int) different);
      model.forEach((owner, held) -> assertThat(index.heldBy(owner)).isEqualTo(held.size()));
      assertThat(IndexProbe.holderSets(index)).as("sets of holders").isEqualTo(holderSets());
    }

    private int holderSets() {
      Map<Long, Map<Owner, List<Boolean>>> holders = new HashMap<>();
      model.forEach(
          (owner, held) ->
              held.forEach(
                  (key, copies) ->
                      holders
                          .computeIfAbsent(key, k -> new HashMap<>())
                          .put(owner, Arrays.stream(copies).mapToObj(c -> c > 0).toList())));
      return (int) holders.values().stream().distinct().count();
    }

    void requireSameAnswers(long[] prompt) {
      assertThat(answer(prompt, "")).as("to all").isEqualTo(expected(prompt, ""));
      String one = joined == 0 ? "nobody" : "engine-" + prompt.length % joined / 2;
      assertThat(answer(prompt, one)).as("to %s", one).isEqualTo(expected(prompt, one));
      assertThat(answer(prompt, "nobody")).isEmpty();
    }

    private Map<String, List<Integer>> answer(long[] prompt, String instance) {
      PrefixMatch match = index.match(prompt.length, IndexProbe.keys(prompt), instance);
      Map<String, List<Integer>> answer = IndexProbe.answer(match);
      assertThat(match.ranks()).hasSize(answer.size());
      return answer;
    }

    private Map<String, List<Integer>> expected(long[] prompt, String instance) {
      Map<String, List<Integer>> expected = new TreeMap<>();
      for (Owner engine : model.keySet()) {
        if (!engine.isShared() && (instance.isEmpty() || instance.equals(engine.instance()))) {
          List<Integer> blocks = new ArrayList<>();
          for (Tier tier : Tier.values()) {
            int depth = 0;
            while (depth < prompt.length && isReachable(engine, tier, prompt[depth])) {
              depth++;
            }
            blocks.add(depth);
          }
          expected.put(engine.instance() + "/" + engine.rank(), blocks);
        }
      }
      return expected;
    }

    private boolean isReachable(Owner engine, Tier tier, long key) {
      for (Map.Entry<Owner, Map<Long, int[]>> entry : model.entrySet()) {
        int[] copies = entry.getValue().get(key);
        if (copies != null && (entry.getKey() == engine || entry.getKey().isShared())) {
          for (int near = 0; near <= tier.ordinal(); near++) {
            if (copies[near] > 0) {
              return true;
            }
          }
        }
      }
      return false;
    }

    void leaveAll() {
      model.keySet().forEach(index::leave);
      model.clear();
    }
  }

  @Property(tries = 600)
  void anyChanges_awkwardKeys_answersLikeTheModel(
      @ForAll("changes") List<Change> changes, @ForAll("prompts") List<long[]> prompts) {
    requireLikeTheModel(new Both(Long.MAX_VALUE), changes, prompts);
  }

  @Property(tries = 300)
  void anyChanges_limitedBudget_answersLikeTheModel(
      @ForAll("limits") long limit,
      @ForAll("changes") List<Change> changes,
      @ForAll("prompts") List<long[]> prompts) {
    requireLikeTheModel(new Both(limit), changes, prompts);
  }

  private static void requireLikeTheModel(Both both, List<Change> changes, List<long[]> prompts) {
    int turn = 0;
    for (Change change : changes) {
      both.apply(change);
      both.requireSameCounts();
      both.requireSameAnswers(prompts.get(turn++ % prompts.size()));
    }
    prompts.forEach(both::requireSameAnswers);
    both.leaveAll();
    both.requireSameCounts();
    assertThat(IndexProbe.holderSets(both.index)).isZero();
  }

  @Property(tries = 12, shrinking = ShrinkingMode.OFF)
  void thousandsOfBlocks_grownShrunkAndGrownAgain_answersLikeTheModel(@ForAll long seed) {
    Random random = new Random(seed);
    Both both = new Both(Long.MAX_VALUE);
    for (int i = 0; i < 6; i++) {
      both.apply(new Change(i % 3 == 2 ? Kind.JOIN_POOL : Kind.JOIN_ENGINE, 0, new long[0]));
    }
    for (int round = 0; round < 60; round++) {
      both.apply(largeChange(random, round));
      if (round % 5 == 4) {
        both.requireSameCounts();
        for (int i = 0; i < 10; i++) {
          both.requireSameAnswers(run(random.nextInt(9000), random.nextInt(400)));
        }
      }
    }
    both.leaveAll();
    both.requireSameCounts();
    assertThat(IndexProbe.holderSets(both.index)).isZero();
    assertThat(IndexProbe.slots(both.index)).isLessThanOrEqualTo(64 * 16);
  }

  /** Twenty rounds that mostly store, twenty that mostly remove, twenty that mostly store. */
  private static Change largeChange(Random random, int round) {
    int dice = random.nextInt(20);
    Kind often = round / 20 % 2 == 0 ? Kind.STORE : Kind.REMOVE;
    Kind kind =
        switch (dice) {
          case 0 -> Kind.RETRACT;
          case 1 -> Kind.LEAVE;
          case 2 -> Kind.JOIN_ENGINE;
          case 3 -> Kind.JOIN_POOL;
          case 4 -> Kind.REMOVE_TIER;
          case 5 -> Kind.REMOVE;
          default -> often;
        };
    return new Change(
        kind, random.nextInt(1000), run(random.nextInt(6000), 1 + random.nextInt(5000)));
  }

  private static long[] run(int from, int count) {
    long[] keys = new long[count];
    for (int i = 0; i < count; i++) {
      keys[i] = (from + i) % 3 == 0 ? from + i : (long) (from + i) * 0x5851f42d4c957f2dL;
    }
    return keys;
  }

  @Provide
  Arbitrary<Long> limits() {
    return Arbitraries.longs().between(0, 60);
  }

  @Provide
  Arbitrary<List<Change>> changes() {
    Arbitrary<Kind> kinds =
        Arbitraries.frequency(
            Tuple.of(2, Kind.JOIN_ENGINE),
            Tuple.of(1, Kind.JOIN_POOL),
            Tuple.of(10, Kind.STORE),
            Tuple.of(5, Kind.REMOVE),
            Tuple.of(1, Kind.REMOVE_TIER),
            Tuple.of(1, Kind.RETRACT),
            Tuple.of(1, Kind.LEAVE));
    return Combinators.combine(kinds, Arbitraries.integers().between(0, 999), keys(0, 40))
        .as(Change::new)
        .list()
        .ofMaxSize(60);
  }

  @Provide
  Arbitrary<List<long[]>> prompts() {
    return keys(0, 12).list().ofMinSize(1).ofMaxSize(8);
  }

  /** The first of the forty come often, so that prompts meet blocks that are held. */
  private static Arbitrary<long[]> keys(int min, int max) {
    Arbitrary<Long> key =
        Arbitraries.oneOf(
            Arbitraries.of(AwkwardKeys.ALL), Arbitraries.of(AwkwardKeys.ALL.subList(0, 6)));
    return key.array(long[].class).ofMinSize(min).ofMaxSize(max);
  }
}
