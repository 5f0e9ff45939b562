package baton.client;

import java.util.Map;

/**
 * The answer to a query.
 *
 * @param ret {@link ConductorClient#OK} or a negative code
 * @param hits instance id to what it holds; empty on failure. An instance may be there with zeros
 */
public record QueryResult(int ret, Map<String, InstanceHit> hits) {

  /**
   * What one instance holds: leading tokens of the prompt, each tier including those before it, at
   * instance level the maximum over its ranks.
   *
   * @param longestMatched equals {@code disk}
   * @param dp rank, as a decimal string, to its tokens in device memory
   * @param rankMatches rank, as a decimal string, to its tokens at each tier
   */
  public record InstanceHit(
      long longestMatched,
      Map<String, Long> dp,
      Map<String, RankHit> rankMatches,
      long device,
      long cpuLocal,
      long cpuShare,
      long disk) {}

  /** The tokens of one rank at each tier. */
  public record RankHit(long device, long cpuLocal, long cpuShare, long disk) {}
}
