package baton.rpc;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The values that travel, as they travel: nothing is checked beyond its type, an empty tenant is
 * still empty. Arrays and collections are not copied. Members are in the order of the wire; the
 * layout is Mooncake's {@code mooncake-conductor} at 46983c54.
 */
public final class Wire {
  private Wire() {}

  /**
   * A prompt of which the cached prefix is asked.
   *
   * @param tenantId empty means {@code default}
   * @param loraName empty for the base model
   * @param blockSize tokens
   * @param cacheSalt null if absent, which on the wire differs from empty
   * @param instanceFilter only this instance; null if absent, which on the wire differs from empty
   */
  public record QueryRequest(
      String tenantId,
      String modelName,
      String loraName,
      long blockSize,
      int[] tokenIds,
      String cacheSalt,
      String instanceFilter) {}

  /**
   * A publisher: what a registration says and what the list of services shows.
   *
   * @param replayEndpoint empty for none
   * @param publisherKind {@link #VLLM}, {@link #MOONCAKE}, {@link #SGLANG}, or what no one knows
   * @param loraName empty for the base model
   * @param tenantId empty means {@code default}
   * @param blockSize tokens
   * @param cacheGroup null if absent
   */
  public record ServiceConfig(
      String endpoint,
      String replayEndpoint,
      int publisherKind,
      String modelName,
      String loraName,
      String tenantId,
      String instanceId,
      long blockSize,
      int dpRank,
      Long cacheGroup,
      HashProfile hashProfile) {
    public static final int VLLM = 0;
    public static final int MOONCAKE = 1;
    public static final int SGLANG = 2;
  }

  /**
   * How an engine hashes its blocks.
   *
   * @param rootDigest empty in a registration: the server derives it
   */
  public record HashProfile(
      String strategy,
      String algorithm,
      String pythonHashSeed,
      String rootDigest,
      String indexProjection) {}

  /**
   * Which publisher is to go.
   *
   * @param tenantId empty means {@code default}
   */
  public record UnregisterArgs(String instanceId, String tenantId, int dpRank) {}

  /** The answer to a query: instance id → what it holds. */
  public record QueryResult(Map<String, CacheHit> instances) {}

  /**
   * What one instance holds, in tokens; each tier includes those before it.
   *
   * @param dp rank → its tokens on the device
   */
  public record CacheHit(
      long longestMatched,
      Map<Long, Long> dp,
      Map<Long, RankHit> rankMatches,
      long device,
      long cpuLocal,
      long cpuShare,
      long disk) {}

  /** What one rank holds, in tokens; each tier includes those before it. */
  public record RankHit(long device, long cpuLocal, long cpuShare, long disk) {}

  /**
   * @param isNew false if the same publisher was there already
   */
  public record RegisterResult(String instanceId, boolean isNew) {}

  /**
   * @param removedKey {@code instance|tenant|rank}
   */
  public record UnregisterResult(String removedKey) {}

  /** Every context that has an instance. */
  public record GlobalView(int contextCount, List<ContextView> contexts) {}

  /**
   * One context.
   *
   * @param loraName empty for the base model
   * @param blockSize tokens
   * @param instanceRanks instance id → its registered ranks
   * @param prefixCount different blocks that are held in it, 64 bits unsigned
   */
  public record ContextView(
      String tenantId,
      String modelName,
      String loraName,
      long blockSize,
      HashProfile hashProfile,
      Map<String, Set<Long>> instanceRanks,
      long prefixCount) {}
}
