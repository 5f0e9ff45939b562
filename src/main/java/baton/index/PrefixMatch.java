package baton.index;

import java.util.List;

/**
 * The answer to one prefix query, in blocks.
 *
 * @param ranks one entry for each engine rank that was asked about, in no order
 */
public record PrefixMatch(List<RankMatch> ranks) {

  /**
   * What one rank of one instance holds.
   *
   * @param blocks leading blocks reachable at each tier or before it, by {@link Tier#ordinal}
   */
  public record RankMatch(String instance, int rank, int[] blocks) {
    public int blocks(Tier tier) {
      return blocks[tier.ordinal()];
    }
  }
}
