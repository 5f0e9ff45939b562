package baton.embeds;

/**
 * What a {@link PromptEmbedsCache} held and did at one moment. Counters start at the last {@link
 * PromptEmbedsCache#clear}.
 *
 * @param capacityBytes bytes that may be held, 0 if the cache is disabled
 * @param entries payloads held
 * @param hits lookups that found a payload
 * @param lookups lookups, whether or not they found one; none are counted by a disabled cache
 * @param oversizeRejections payloads that were not stored because the cache could never hold them.
 *     If this rises, the cache is too small for what it is asked to hold
 * @param usedBytes bytes charged for what is held, {@link PromptEmbedsCache#OVERHEAD_BYTES} for
 *     each entry included
 */
public record PromptEmbedsCacheStats(
    long capacityBytes,
    long entries,
    long hits,
    long lookups,
    long oversizeRejections,
    long usedBytes) {

  /** The share of lookups that found a payload; 0.0 before the first. */
  public double hitRatio() {
    return lookups == 0 ? 0.0 : (double) hits / lookups;
  }
}
