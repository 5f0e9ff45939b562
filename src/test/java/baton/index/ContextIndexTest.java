package baton.index;

import static baton.index.IndexProbe.query;
import static baton.index.IndexProbe.remove;
import static baton.index.IndexProbe.store;
import static org.assertj.core.api.Assertions.assertThat;

import baton.hash.BlockChain;
import baton.hash.HashProfile;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What one store, removal or departure means for the next query. */
class ContextIndexTest {
  private static final long H1 = 101;
  private static final long H2 = 102;
  private static final long H3 = 103;

  private final Budget budget = new Budget(Long.MAX_VALUE);
  private final ContextIndex index = new ContextIndex(budget);

  /** Only for engines, whose counts at each tier are given from device to disk. */
  private static List<Integer> depths(int device, int cpuLocal, int cpuShare, int disk) {
    return List.of(device, cpuLocal, cpuShare, disk);
  }

  private void requireNothingLeft() {
    assertThat(index.blockCount()).isZero();
    assertThat(IndexProbe.holderSets(index)).isZero();
    assertThat(budget.used()).isZero();
  }

  // AllBlocksCleared that changed nothing: kv-cache#563, #593, #396, #626; AIBrix#2287, #2385
  @Test
  void allBlocks_cleared_noLongerMatch() {
    Owner engine = index.joinEngine("a", 0);
    store(index, engine, Tier.DEVICE, H1);
    store(index, engine, Tier.CPU_LOCAL, H2);

    index.retract(engine);

    assertThat(query(index, H1, H2)).isEqualTo(Map.of("a/0", depths(0, 0, 0, 0)));
    requireNothingLeft();
  }

  @Test
  void oneTier_cleared_othersStay() {
    Owner engine = index.joinEngine("a", 0);
    store(index, engine, Tier.DEVICE, H1, H2);
    store(index, engine, Tier.CPU_LOCAL, H1);

    index.removeTier(engine, Tier.DEVICE);

    assertThat(query(index, H1, H2)).isEqualTo(Map.of("a/0", depths(0, 1, 1, 1)));
    assertThat(budget.used()).isOne();
  }

  @Test
  void retractedOwner_storesAgain_isOneOwnerWithTheNewBlocks() {
    Owner engine = index.joinEngine("a", 0);
    store(index, engine, Tier.DEVICE, H1, H2);

    Owner renewed = index.retract(engine);
    store(index, renewed, Tier.DEVICE, H1);

    assertThat(query(index, H1, H2)).isEqualTo(Map.of("a/0", depths(1, 1, 1, 1)));
    assertThat(index.heldBy(renewed)).isOne();
    assertThat(budget.used()).isOne();
  }

  // A second physical copy of a block: vllm#48933, #55092
  @Test
  void enginesBlock_storedTwiceRemovedOnce_isAbsent() {
    Owner engine = index.joinEngine("a", 0);
    store(index, engine, Tier.DEVICE, H1, H1);

    remove(index, engine, Tier.DEVICE, H1);

    assertThat(query(index, H1)).isEqualTo(Map.of("a/0", depths(0, 0, 0, 0)));
    requireNothingLeft();
  }

  @Test
  void poolsBlock_storedTwice_isAbsentAfterTheSecondRemoval() {
    index.joinEngine("a", 0);
    Owner pool = index.joinPool();
    store(index, pool, Tier.CPU_SHARE, H1, H1);

    remove(index, pool, Tier.CPU_SHARE, H1);
    assertThat(query(index, H1)).isEqualTo(Map.of("a/0", depths(0, 0, 1, 1)));

    remove(index, pool, Tier.CPU_SHARE, H1);
    assertThat(query(index, H1)).isEqualTo(Map.of("a/0", depths(0, 0, 0, 0)));
    requireNothingLeft();
  }

  @Test
  void poolsCopies_inMemoryAndOnDisk_areCountedApart() {
    index.joinEngine("a", 0);
    Owner pool = index.joinPool();
    for (int i = 0; i < 65_535; i++) {
      store(index, pool, Tier.CPU_SHARE, H1);
      store(index, pool, Tier.DISK, H1);
    }

    for (int i = 0; i < 65_535; i++) {
      remove(index, pool, Tier.CPU_SHARE, H1);
    }
    assertThat(query(index, H1)).isEqualTo(Map.of("a/0", depths(0, 0, 0, 1)));

    for (int i = 0; i < 65_534; i++) {
      remove(index, pool, Tier.DISK, H1);
    }
    assertThat(query(index, H1)).isEqualTo(Map.of("a/0", depths(0, 0, 0, 1)));

    remove(index, pool, Tier.DISK, H1);
    requireNothingLeft();
  }

  // A block that is stored again counted twice: dynamo#7800, smg#946
  @Test
  void block_storedThreeTimes_countsOnce() {
    Owner engine = index.joinEngine("a", 0);

    store(index, engine, Tier.DEVICE, H1, H1);
    store(index, engine, Tier.DEVICE, H1);

    assertThat(index.blockCount()).isOne();
    assertThat(index.heldBy(engine)).isOne();
    assertThat(budget.used()).isOne();
  }

  // Removal of what is not there: dynamo#8012, #10916
  @Test
  void absentBlock_removed_changesNothing() {
    Owner engine = index.joinEngine("a", 0);
    store(index, engine, Tier.DEVICE, H1, H2);

    remove(index, engine, Tier.DEVICE, 109);
    remove(index, engine, Tier.DEVICE, H2);
    remove(index, engine, Tier.DEVICE, H2);
    remove(index, engine, Tier.CPU_LOCAL, H1);

    assertThat(query(index, H1, H2)).isEqualTo(Map.of("a/0", depths(1, 1, 1, 1)));
    assertThat(index.blockCount()).isOne();
    assertThat(budget.used()).isOne();
  }

  @Test
  void anothersBlock_removed_staysWithItsOwner() {
    Owner a = index.joinEngine("a", 0);
    Owner b = index.joinEngine("b", 0);
    store(index, a, Tier.DEVICE, H1);

    remove(index, b, Tier.DEVICE, H1);

    assertThat(query(index, H1))
        .isEqualTo(Map.of("a/0", depths(1, 1, 1, 1), "b/0", depths(0, 0, 0, 0)));
  }

  // Entries that outlive their blocks: dynamo#11785
  @Test
  void parentRemovedBeforeChild_aMillionTimes_leavesNothingBehind() {
    Owner engine = index.joinEngine("a", 0);
    for (long i = 0; i < 1_000_000; i++) {
      store(index, engine, Tier.DEVICE, 2 * i, 2 * i + 1);
      remove(index, engine, Tier.DEVICE, 2 * i);
      remove(index, engine, Tier.DEVICE, 2 * i + 1);
    }

    requireNothingLeft();
    assertThat(index.heldBy(engine)).isZero();
    assertThat(IndexProbe.slots(index)).isLessThanOrEqualTo(64 * 16);
    assertThat(IndexProbe.slots(engine.held)).isEqualTo(16);
  }

  // A child whose parent is not known yet: kv-cache#663, #372; dynamo#14314; vllm#58119
  @Test
  void child_storedBeforeItsParent_matchesOnceTheParentIsThere() {
    Owner engine = index.joinEngine("a", 0);

    store(index, engine, Tier.DEVICE, H2);
    assertThat(query(index, H1, H2)).isEqualTo(Map.of("a/0", depths(0, 0, 0, 0)));

    store(index, engine, Tier.DEVICE, H1);
    assertThat(query(index, H1, H2)).isEqualTo(Map.of("a/0", depths(2, 2, 2, 2)));
  }

  // Conductor: device, CPU, device again
  @Test
  void deviceThenCpuThenDevice_deviceEndsAtItsHole_cpuGoesOn() {
    Owner engine = index.joinEngine("a", 0);
    store(index, engine, Tier.DEVICE, H1, H3);
    store(index, engine, Tier.CPU_LOCAL, H2);

    assertThat(query(index, H1, H2, H3)).isEqualTo(Map.of("a/0", depths(1, 3, 3, 3)));
  }

  // Engines without device blocks left out of the answer: dynamo#8912
  @Test
  void engineWithOnlyCpuBlocks_isInTheAnswer() {
    Owner engine = index.joinEngine("a", 0);
    store(index, engine, Tier.CPU_LOCAL, H1);

    assertThat(query(index, H1)).isEqualTo(Map.of("a/0", depths(0, 1, 1, 1)));
  }

  // Removals of thousands hold up the queries: sglang#29265
  @Test
  void tenThousandBlocks_removedAtOnce_areGone() {
    Owner engine = index.joinEngine("a", 0);
    long[] keys = LongStream.range(0, 10_000).toArray();
    store(index, engine, Tier.DEVICE, keys);
    assertThat(query(index, keys)).isEqualTo(Map.of("a/0", depths(10_000, 10_000, 10_000, 10_000)));

    remove(index, engine, Tier.DEVICE, keys);

    assertThat(query(index, keys)).isEqualTo(Map.of("a/0", depths(0, 0, 0, 0)));
    requireNothingLeft();
  }

  @Test
  void writersLock_heldByAnother_queriesAreAnswered() throws Exception {
    Owner engine = index.joinEngine("a", 0);
    store(index, engine, Tier.DEVICE, H1);

    synchronized (index) {
      Map<String, List<Integer>> answer =
          CompletableFuture.supplyAsync(() -> query(index, H1)).get(10, TimeUnit.SECONDS);
      assertThat(answer).isEqualTo(Map.of("a/0", depths(1, 1, 1, 1)));
    }
  }

  // Ranks merged into one: llm-d#2379, #2936
  @Test
  void ranksOfOneInstance_holdDifferentDepths_areReportedApart() {
    long[] keys = LongStream.range(0, 65).toArray();
    store(index, index.joinEngine("a", 0), Tier.DEVICE, keys);
    store(index, index.joinEngine("a", 1), Tier.DEVICE, 0, 1, 2, 3, 4);

    assertThat(query(index, keys))
        .isEqualTo(Map.of("a/0", depths(65, 65, 65, 65), "a/1", depths(5, 5, 5, 5)));
  }

  // First match taken for the longest: production-stack#1055
  @Test
  void instancesWithDifferentDepths_areAllReported() {
    store(index, index.joinEngine("a", 0), Tier.DEVICE, H1);
    store(index, index.joinEngine("b", 0), Tier.DEVICE, H1, H2, H3);

    assertThat(query(index, H1, H2, H3))
        .isEqualTo(Map.of("a/0", depths(1, 1, 1, 1), "b/0", depths(3, 3, 3, 3)));
  }

  // A scan that stops at 2,048 blocks: sglang#33370
  @Test
  void fourThousandBlocks_allHeld_fullDepth() {
    Owner everyBlock = index.joinEngine("a", 0);
    Owner evenBlocks = index.joinEngine("b", 0);
    long[] keys = LongStream.range(0, 4096).toArray();
    store(index, everyBlock, Tier.DEVICE, keys);
    store(index, evenBlocks, Tier.DEVICE, LongStream.range(0, 2048).map(i -> 2 * i).toArray());

    assertThat(query(index, keys))
        .isEqualTo(Map.of("a/0", depths(4096, 4096, 4096, 4096), "b/0", depths(1, 1, 1, 1)));
  }

  @Test
  void promptWithAPartialTail_matchesItsWholeBlocks() {
    var profile = new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be");
    BlockChain stored = profile.chain(new int[] {1, 2, 3, 4, 5, 6, 7, 8}, 4, "", "");
    store(index, index.joinEngine("a", 0), Tier.DEVICE, stored.nextKey(), stored.nextKey());

    BlockChain asked = profile.chain(new int[] {1, 2, 3, 4, 5, 6}, 4, "", "");
    PrefixMatch match = index.match(asked.length(), asked::nextKey, "");

    assertThat(IndexProbe.answer(match)).isEqualTo(Map.of("a/0", depths(1, 1, 1, 1)));
  }

  @Test
  void hole_endsThePrefix() {
    store(index, index.joinEngine("a", 0), Tier.DEVICE, H1, H3);

    assertThat(query(index, H1, H2, H3)).isEqualTo(Map.of("a/0", depths(1, 1, 1, 1)));
  }

  @Test
  void emptyPrompt_everyoneIsThereWithZero() {
    store(index, index.joinEngine("a", 0), Tier.DEVICE, H1);

    assertThat(query(index)).isEqualTo(Map.of("a/0", depths(0, 0, 0, 0)));
  }

  @Test
  void slotGivenAgain_newOwnerStartsWithNothing() {
    Owner a = index.joinEngine("a", 0);
    store(index, a, Tier.DEVICE, H1);
    index.leave(a);

    Owner b = index.joinEngine("b", 0);

    assertThat(b.slot()).isEqualTo(a.slot());
    assertThat(query(index, H1)).isEqualTo(Map.of("b/0", depths(0, 0, 0, 0)));
    requireNothingLeft();
  }

  @Test
  void slotGivenAgainDuringAQuery_newOwnersBlocks_areNotCreditedToTheOld() {
    Owner a = index.joinEngine("a", 0);
    store(index, a, Tier.DEVICE, H1);
    int[] asked = {0};

    PrefixMatch match =
        index.match(
            3,
            () -> {
              if (asked[0] == 1) {
                index.leave(a);
                store(index, index.joinEngine("b", 0), Tier.DEVICE, H1, H2, H3);
              }
              return H1 + asked[0]++;
            },
            "");

    assertThat(IndexProbe.answer(match)).isEqualTo(Map.of("a/0", depths(1, 1, 1, 1)));
  }

  @Test
  void ownerRetractedDuringAQuery_blocksStoredAfterwards_areNotJoinedToThePrefix() {
    Owner a = index.joinEngine("a", 0);
    store(index, a, Tier.DEVICE, H1);
    int[] asked = {0};

    PrefixMatch match =
        index.match(
            2,
            () -> {
              if (asked[0] == 1) {
                store(index, index.retract(a), Tier.DEVICE, H2);
              }
              return H1 + asked[0]++;
            },
            "");

    assertThat(IndexProbe.answer(match)).isEqualTo(Map.of("a/0", depths(1, 1, 1, 1)));
  }
}
