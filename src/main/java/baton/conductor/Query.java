package baton.conductor;

/**
 * A prompt of which the cached prefix is asked.
 *
 * @param tokens not copied
 * @param cacheSalt empty for none
 * @param instanceId only this instance, or empty for all
 */
public record Query(ContextKey context, int[] tokens, String cacheSalt, String instanceId) {}
