package baton.index;

import static baton.index.IndexProbe.store;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.function.LongSupplier;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What a query asks for and what it leaves behind, counted, since time differs from day to day. */
class PrefixWalkCostTest {
  private static final long[] PROMPT = LongStream.range(1000, 5096).toArray();

  private final ContextIndex index = new ContextIndex(new Budget(Long.MAX_VALUE));

  /** Gives a prompt's keys, as a chain would compute them, and counts them. */
  private static final class Chain implements LongSupplier {
    private int asked;

    @Override
    public long getAsLong() {
      return PROMPT[asked++];
    }
  }

  private static long[] blocks(int from, int to) {
    return Arrays.copyOfRange(PROMPT, from, to);
  }

  private int keysAsked(int length, String instance) {
    Chain chain = new Chain();
    index.match(length, chain, instance);
    return chain.asked;
  }

  @Test
  void firstBlock_heldByNobody_isTheOnlyOneAskedFor() {
    store(index, index.joinEngine("a", 0), Tier.DEVICE, blocks(1, 4000));

    assertThat(keysAsked(4000, "")).isOne();
  }

  @Test
  void emptyPrompt_noBlockIsAskedFor() {
    store(index, index.joinEngine("a", 0), Tier.DEVICE, blocks(0, 10));

    assertThat(keysAsked(0, "")).isZero();
  }

  @Test
  void noEngineThatCounts_noBlockIsAskedFor() {
    store(index, index.joinPool(), Tier.CPU_SHARE, blocks(0, 10));
    assertThat(keysAsked(10, "")).isZero();

    store(index, index.joinEngine("a", 0), Tier.DEVICE, blocks(0, 10));
    assertThat(keysAsked(10, "b")).isZero();
  }

  @Test
  void blockThatNobodyStillRunningHolds_isTheLastOneAskedFor() {
    store(index, index.joinEngine("a", 0), Tier.DEVICE, blocks(0, 20));
    store(index, index.joinEngine("b", 0), Tier.DEVICE, blocks(20, 4000));

    assertThat(keysAsked(4000, "")).isEqualTo(21);
  }

  @Test
  void askedAboutOneInstance_othersBlocks_endTheWalk() {
    store(index, index.joinEngine("a", 0), Tier.DEVICE, blocks(0, 3));
    store(index, index.joinEngine("b", 0), Tier.DEVICE, blocks(0, 4000));

    assertThat(keysAsked(4000, "a")).isEqualTo(4);
    assertThat(keysAsked(4000, "b")).isEqualTo(4000);
  }

  @Test
  void farTierStillRunning_walkGoesOn() {
    store(index, index.joinEngine("a", 0), Tier.DEVICE, blocks(0, 3));
    store(index, index.joinPool(), Tier.DISK, blocks(3, 10));

    assertThat(keysAsked(4000, "")).isEqualTo(11);
  }

  // A scan that stops at 2,048 blocks: sglang#33370
  @Test
  void fourThousandBlocks_allHeld_eachIsAskedForOnce() {
    store(index, index.joinEngine("a", 0), Tier.DEVICE, PROMPT);

    assertThat(keysAsked(PROMPT.length, "")).isEqualTo(4096);
  }

  // Cost that grows with instances and blocks: Conductor
  @Test
  void thousandInstances_thousandCommonBlocks_oneSetOfHolders() {
    long[] common = blocks(0, 1000);
    for (int i = 0; i < 1000; i++) {
      store(index, index.joinEngine("i" + i, 0), Tier.DEVICE, common);
    }

    assertThat(IndexProbe.holderSets(index)).isOne();
    Holders all = IndexProbe.holders(index, common[0]);
    assertThat(all.size()).isEqualTo(1000);
    assertThat(all.blocks).isEqualTo(1000);
    for (long key : common) {
      assertThat(IndexProbe.holders(index, key)).isSameAs(all);
    }
    assertThat(keysAsked(1001, "")).isEqualTo(1001);
    assertThat(index.match(1001, new Chain(), "").ranks())
        .hasSize(1000)
        .allSatisfy(rank -> assertThat(rank.blocks()).containsOnly(1000));
    // The answer takes about 100 for each rank; a thousand more for each would be far too many.
    assertThat(bytesAllocatedByAQuery(1000)).isLessThan(250_000);
  }

  @Test
  void blockChangedAndChangedBack_sameSetOfHoldersAgain() {
    Owner a = index.joinEngine("a", 0);
    Owner b = index.joinEngine("b", 0);
    store(index, a, Tier.DEVICE, blocks(0, 3));
    store(index, b, Tier.DEVICE, blocks(0, 3));
    Holders both = IndexProbe.holders(index, PROMPT[0]);

    IndexProbe.remove(index, b, Tier.DEVICE, PROMPT[1]);
    assertThat(IndexProbe.holderSets(index)).isEqualTo(2);
    store(index, b, Tier.DEVICE, PROMPT[1]);

    assertThat(IndexProbe.holderSets(index)).isOne();
    assertThat(IndexProbe.holders(index, PROMPT[1])).isSameAs(both);
  }

  // Cost that grows with pods, keys and strings: llm-d#2390
  @Test
  void ninetySixHolders_ofDifferentDepths_oneSetForEachDepthAndLittleAllocated() {
    int depth = 3750;
    for (int i = 1; i <= 96; i++) {
      store(index, index.joinEngine("i" + i, 0), Tier.DEVICE, blocks(0, depth * i / 96));
    }

    assertThat(IndexProbe.holderSets(index)).isEqualTo(96);
    assertThat(keysAsked(depth, "")).isEqualTo(depth);
    assertThat(bytesAllocatedByAQuery(depth)).isLessThan(1_000_000);
  }

  private long bytesAllocatedByAQuery(int length) {
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long thread = Thread.currentThread().getId();
    index.match(length, new Chain(), "");
    long before = threads.getThreadAllocatedBytes(thread);
    index.match(length, new Chain(), "");
    return threads.getThreadAllocatedBytes(thread) - before;
  }
}
