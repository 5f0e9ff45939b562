package baton.index;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * One walk along a prompt's blocks. At each tier everyone starts in the running; a block that not
 * all can reach there is a step, which only its holders take. Who has taken every step of a tier is
 * still running; for the others the step they missed tells where their prefix ends. So the work is
 * the depth plus the holders met, and a block held by the same set as the one before costs nothing
 * more.
 */
final class PrefixWalk {
  private final Owner[] members;

  /** Steps taken, for each slot and tier. */
  private final int[] taken;

  private final int[] steps = new int[Tier.COUNT];

  /** The block of each step, by tier. */
  private final int[][] stepBlocks = new int[Tier.COUNT][16];

  private int depth;
  private Holders last = Holders.NONE;
  private boolean anyoneRunning;

  /**
   * @param members the owners that count, by slot
   */
  PrefixWalk(Owner[] members) {
    this.members = members;
    this.taken = new int[members.length * Tier.COUNT];
    for (Owner member : members) {
      anyoneRunning |= member != null && !member.isShared();
    }
  }

  /** False once no block more can change the answer. */
  boolean isOpen() {
    return anyoneRunning;
  }

  /** Takes the next block's holders. */
  void next(Holders holders) {
    if (holders == last) {
      depth++;
      return;
    }
    last = holders;
    int reachableByAll = nearestSharedTier(holders);
    for (int tier = 0; tier < reachableByAll; tier++) {
      step(tier);
    }
    boolean running = reachableByAll < Tier.COUNT;
    for (int i = 0; i < holders.size(); i++) {
      Owner owner = holders.owners[i];
      if (owner.isShared() || !counts(owner)) {
        continue;
      }
      int at = owner.slot() * Tier.COUNT;
      for (int tier = nearestTier(holders.tiers[i]); tier < reachableByAll; tier++) {
        if (taken[at + tier] == steps[tier] - 1) {
          taken[at + tier]++;
          running = true;
        }
      }
    }
    anyoneRunning = running;
    depth++;
  }

  private int nearestSharedTier(Holders holders) {
    int nearest = Tier.COUNT;
    for (int i = 0; i < holders.size(); i++) {
      Owner owner = holders.owners[i];
      if (owner.isShared() && counts(owner)) {
        nearest = Math.min(nearest, nearestTier(holders.tiers[i]));
      }
    }
    return nearest;
  }

  /** Slots are given again, so only the very owner that the list showed at the start counts. */
  private boolean counts(Owner owner) {
    return owner.slot() < members.length && members[owner.slot()] == owner;
  }

  private static int nearestTier(byte tierBits) {
    return Integer.numberOfTrailingZeros(tierBits);
  }

  private void step(int tier) {
    int step = steps[tier]++;
    if (step == stepBlocks[tier].length) {
      stepBlocks[tier] = Arrays.copyOf(stepBlocks[tier], step * 2);
    }
    stepBlocks[tier][step] = depth;
  }

  /**
   * @param hidesBefore how often owners had been hidden when this walk began; it may have met one
   *     that was hidden later in a state that it never was in
   */
  PrefixMatch result(int hidesBefore) {
    List<PrefixMatch.RankMatch> ranks = new ArrayList<>();
    for (Owner member : members) {
      if (member != null && !member.isShared()) {
        int[] blocks = new int[Tier.COUNT];
        for (int tier = 0; tier < Tier.COUNT && member.hiddenAt <= hidesBefore; tier++) {
          int steps = taken[member.slot() * Tier.COUNT + tier];
          blocks[tier] = steps == this.steps[tier] ? depth : stepBlocks[tier][steps];
        }
        ranks.add(new PrefixMatch.RankMatch(member.instance(), member.rank(), blocks));
      }
    }
    return new PrefixMatch(ranks);
  }
}
