package baton.conductor;

import java.util.SortedMap;

/**
 * The answer to a query.
 *
 * @param instances every instance that was asked about, those without a hit too
 */
public record PrefixHits(SortedMap<String, InstanceHit> instances) {

  /**
   * What one instance holds.
   *
   * @param best the maximum over its ranks, tier by tier
   */
  public record InstanceHit(TierTokens best, SortedMap<Integer, TierTokens> ranks) {}
}
