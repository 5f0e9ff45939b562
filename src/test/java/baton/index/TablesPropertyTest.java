package baton.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.ShrinkingMode;

/** {@link LongIntMap} and {@link BlockTable} hold what a {@link HashMap} would. */
class TablesPropertyTest {
  private static final int MIN_SLOTS = 16;
  private static final int SEGMENTS = 64;

  /**
   * @param value 0 to remove
   */
  record Put(long key, int value) {}

  @Property(tries = 1000)
  void longIntMap_awkwardKeys_likeAHashMap(@ForAll("puts") List<Put> puts) {
    LongIntMap map = new LongIntMap();
    Map<Long, Integer> model = new HashMap<>();
    for (Put put : puts) {
      assertThat(map.get(put.key())).isEqualTo(model.getOrDefault(put.key(), 0));
      put(map, model, put.key(), put.value());
      assertThat(map.size()).isEqualTo(model.size());
    }
    AwkwardKeys.ALL.forEach(k -> assertThat(map.get(k)).isEqualTo(model.getOrDefault(k, 0)));
    assertThat(map.keys())
        .containsExactlyInAnyOrder(model.keySet().stream().mapToLong(k -> k).toArray());
  }

  @Property(tries = 12, shrinking = ShrinkingMode.OFF)
  void longIntMap_grownAndEmptied_likeAHashMapAndSmallAgain(@ForAll long seed) {
    Random random = new Random(seed);
    LongIntMap map = new LongIntMap();
    Map<Long, Integer> model = new HashMap<>();
    int grown = 0;
    for (int round = 0; round < 4; round++) {
      int removals = round % 2 == 0 ? 10 : 90;
      for (int i = 0; i < 12_000; i++) {
        int value = random.nextInt(100) < removals ? 0 : random.nextInt() | 1;
        put(map, model, key(random), value);
      }
      requireEqual(map, model);
      grown = Math.max(grown, IndexProbe.slots(map));
    }
    assertThat(grown).isGreaterThanOrEqualTo(4096);
    for (long key : map.keys()) {
      map.put(key, 0);
    }
    assertThat(map.size()).isZero();
    assertThat(map.keys()).isEmpty();
    assertThat(IndexProbe.slots(map)).isEqualTo(MIN_SLOTS);
  }

  private static void put(LongIntMap map, Map<Long, Integer> model, long key, int value) {
    map.put(key, value);
    if (value == 0) {
      model.remove(key);
    } else {
      model.put(key, value);
    }
  }

  private static void requireEqual(LongIntMap map, Map<Long, Integer> model) {
    Map<Long, Integer> found = new HashMap<>();
    for (long key : map.keys()) {
      found.put(key, map.get(key));
    }
    assertThat(found).isEqualTo(model);
    assertThat(map.size()).isEqualTo(model.size());
    for (long key = -50; key < 50; key++) {
      assertThat(map.get(key)).isEqualTo(model.getOrDefault(key, 0));
    }
  }

  @Property(tries = 1000)
  void blockTable_awkwardKeys_likeAHashMap(@ForAll("puts") List<Put> puts) {
    Holders[] holders = holders();
    BlockTable table = new BlockTable();
    Map<Long, Holders> model = new HashMap<>();
    for (Put put : puts) {
      put(table, model, put.key(), holders[put.value()]);
      assertThat(table.get(put.key())).isSameAs(holders[put.value()]);
      assertThat(table.size()).isEqualTo(model.size());
    }
    for (long key : AwkwardKeys.ALL) {
      assertThat(table.get(key)).isSameAs(model.getOrDefault(key, Holders.NONE));
    }
  }

  @Property(tries = 12, shrinking = ShrinkingMode.OFF)
  void blockTable_grownAndEmptied_likeAHashMapAndSmallAgain(@ForAll long seed) {
    Random random = new Random(seed);
    Holders[] holders = holders();
    BlockTable table = new BlockTable();
    Map<Long, Holders> model = new HashMap<>();
    int grown = 0;
    for (int round = 0; round < 4; round++) {
      int removals = round % 2 == 0 ? 10 : 90;
      for (int i = 0; i < 30_000; i++) {
        int which = random.nextInt(100) < removals ? 0 : 1 + random.nextInt(holders.length - 1);
        put(table, model, key(random), holders[which]);
      }
      requireEqual(table, model);
      grown = Math.max(grown, IndexProbe.slots(table));
    }
    assertThat(grown).isGreaterThan(4 * SEGMENTS * MIN_SLOTS);
    for (long key : model.keySet()) {
      table.put(key, Holders.NONE);
      assertThat(table.get(key)).isSameAs(Holders.NONE);
    }
    assertThat(table.size()).isZero();
    assertThat(IndexProbe.slots(table)).isEqualTo(SEGMENTS * MIN_SLOTS);
  }

  /** Never more than a few blocks at a time, but ever new ones: only removed slots pile up. */
  @Property(tries = 5, shrinking = ShrinkingMode.OFF)
  void blockTable_everNewBlocksStoredAndRemoved_staysSmall(@ForAll long seed) {
    Random random = new Random(seed);
    Holders[] holders = holders();
    BlockTable table = new BlockTable();
    for (int i = 0; i < 200_000; i++) {
      long key = random.nextLong();
      table.put(key, holders[1]);
      assertThat(table.get(key)).isSameAs(holders[1]);
      table.put(key, Holders.NONE);
    }
    assertThat(table.size()).isZero();
    assertThat(IndexProbe.slots(table)).isLessThanOrEqualTo(SEGMENTS * MIN_SLOTS);
  }

  private static void put(
      BlockTable table, Map<Long, Holders> model, long key, Holders newHolders) {
    table.put(key, newHolders);
    if (newHolders == Holders.NONE) {
      model.remove(key);
    } else {
      model.put(key, newHolders);
    }
  }

  private static void requireEqual(BlockTable table, Map<Long, Holders> model) {
    assertThat(table.size()).isEqualTo(model.size());
    model.forEach((key, holders) -> assertThat(table.get(key)).isSameAs(holders));
    for (long key = -5000; key < 5000; key++) {
      assertThat(table.get(key)).isSameAs(model.getOrDefault(key, Holders.NONE));
    }
  }

  /** Half of them small, half spread; 300 in one segment that share a slot. */
  private static long key(Random random) {
    return switch (random.nextInt(20)) {
      case 0 -> AwkwardKeys.colliding(random.nextInt(300), 5);
      case 1, 2, 3 -> (long) random.nextInt(2000) << 32;
      case 4, 5, 6, 7, 8 -> random.nextInt(8000) - 4000;
      default -> random.nextInt(12_000) * 0x5851f42d4c957f2dL;
    };
  }

  private static Holders[] holders() {
    Holders[] holders = new Holders[4];
    holders[0] = Holders.NONE;
    for (int i = 1; i < holders.length; i++) {
      holders[i] = new Holders(new Owner[0], new byte[0], i);
    }
    return holders;
  }

  @Provide
  Arbitrary<List<Put>> puts() {
    return Combinators.combine(
            Arbitraries.of(AwkwardKeys.ALL), Arbitraries.integers().between(0, 3))
        .as(Put::new)
        .list()
        .ofMaxSize(200);
  }
}
