package baton.index;

import static baton.index.IndexProbe.query;
import static baton.index.IndexProbe.remove;
import static baton.index.IndexProbe.store;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What counts against the limit of blocks, and what gives room back. */
class BudgetTest {
  private final Budget budget = new Budget(4);
  private final ContextIndex index = new ContextIndex(budget);
  private final Owner engine = index.joinEngine("a", 0);

  private static int storeAll(ContextIndex index, Owner owner, Tier tier, long... keys) {
    return index.store(owner, tier, keys, keys.length);
  }

  @Test
  void blocksBeyondTheLimit_areRefusedAndCounted_theHeadStays() {
    assertThat(storeAll(index, engine, Tier.DEVICE, 1, 2, 3, 4, 5, 6)).isEqualTo(2);

    assertThat(budget.used()).isEqualTo(4);
    assertThat(index.heldBy(engine)).isEqualTo(4);
    assertThat(query(index, 1, 2, 3, 4, 5, 6)).isEqualTo(Map.of("a/0", List.of(4, 4, 4, 4)));
  }

  @Test
  void fullBudget_blockInAnotherTierOrAgain_isNotRefused() {
    store(index, engine, Tier.DEVICE, 1, 2, 3, 4);

    assertThat(storeAll(index, engine, Tier.CPU_LOCAL, 1, 2)).isZero();
    assertThat(storeAll(index, engine, Tier.DEVICE, 3, 4)).isZero();
    assertThat(budget.used()).isEqualTo(4);
  }

  @Test
  void blockInTwoTiers_removedFromOne_stillCounts() {
    store(index, engine, Tier.DEVICE, 1);
    store(index, engine, Tier.CPU_LOCAL, 1);

    remove(index, engine, Tier.DEVICE, 1);
    assertThat(budget.used()).isOne();

    remove(index, engine, Tier.CPU_LOCAL, 1);
    assertThat(budget.used()).isZero();
  }

  @Test
  void oneBlockOfTwoOwners_countsTwice() {
    store(index, engine, Tier.DEVICE, 1);
    store(index, index.joinPool(), Tier.DISK, 1);

    assertThat(index.blockCount()).isOne();
    assertThat(budget.used()).isEqualTo(2);
  }

  @Test
  void removal_givesRoomBack() {
    store(index, engine, Tier.DEVICE, 1, 2, 3, 4);
    remove(index, engine, Tier.DEVICE, 2, 3, 3, 9);

    assertThat(storeAll(index, engine, Tier.DEVICE, 5, 6, 7)).isOne();
    assertThat(budget.used()).isEqualTo(4);
  }

  @Test
  void removalOfATierRetractionAndLeaving_giveRoomBack() {
    store(index, engine, Tier.DEVICE, 1, 2, 3, 4);
    index.removeTier(engine, Tier.DEVICE);
    assertThat(budget.used()).isZero();

    store(index, engine, Tier.DEVICE, 1, 2, 3, 4);
    Owner renewed = index.retract(engine);
    assertThat(budget.used()).isZero();

    store(index, renewed, Tier.DEVICE, 1, 2, 3, 4);
    index.leave(renewed);
    assertThat(budget.used()).isZero();
  }

  @Test
  void twoContexts_shareTheLimit() {
    ContextIndex other = new ContextIndex(budget);
    Owner there = other.joinEngine("a", 0);
    store(index, engine, Tier.DEVICE, 1, 2, 3);

    assertThat(storeAll(other, there, Tier.DEVICE, 1, 2)).isOne();
    index.close();
    assertThat(budget.used()).isOne();
    assertThat(storeAll(other, there, Tier.DEVICE, 2, 3, 4)).isZero();
  }

  @Test
  void close_givesEverythingBackOnce_andNothingIsStoredAfterwards() {
    store(index, engine, Tier.DEVICE, 1, 2);
    store(index, index.joinPool(), Tier.DISK, 1);

    index.close();
    index.close();

    assertThat(index.isClosed()).isTrue();
    assertThat(budget.used()).isZero();
    assertThat(query(index, 1, 2)).isEmpty();
    assertThat(storeAll(index, engine, Tier.DEVICE, 3, 4)).isEqualTo(2);
    assertThat(budget.used()).isZero();
  }

  @Test
  void closedIndex_removalRetractionAndLeaving_giveNothingBackTwice() {
    Owner pool = index.joinPool();
    store(index, engine, Tier.DEVICE, 1, 2);
    store(index, pool, Tier.DISK, 1);
    index.close();

    remove(index, engine, Tier.DEVICE, 1);
    index.removeTier(engine, Tier.DEVICE);
    index.retract(engine);
    index.leave(pool);

    assertThat(budget.used()).isZero();
    assertThat(query(index, 1, 2)).isEmpty();
  }

  @Test
  void close_whileAnOwnerIsLeaving_givesTheRestOfItsBlocksBack() throws Exception {
    int count = 1_000_000;
    Budget large = new Budget(Long.MAX_VALUE);
    ContextIndex closing = new ContextIndex(large);
    Owner pool = closing.joinPool();
    store(closing, pool, Tier.DISK, LongStream.range(0, count).toArray());
    Thread leaving = new Thread(() -> closing.leave(pool));
    leaving.start();
    while (large.used() == count) {
      Thread.onSpinWait();
    }

    closing.close();
    leaving.join();

    assertThat(large.used()).isZero();
  }

  @Test
  void close_whileAnOwnerIsRetracted_givesTheRestOfItsBlocksBack() throws Exception {
    int count = 1_000_000;
    Budget large = new Budget(Long.MAX_VALUE);
    ContextIndex closing = new ContextIndex(large);
    Owner owner = closing.joinEngine("a", 0);
    store(closing, owner, Tier.DEVICE, LongStream.range(0, count).toArray());
    Thread retracting = new Thread(() -> closing.retract(owner));
    retracting.start();
    while (large.used() == count) {
      Thread.onSpinWait();
    }

    closing.close();
    retracting.join();

    assertThat(large.used()).isZero();
  }
}
