package baton.conductor;

/**
 * A prompt known by the keys of its blocks, of which the cached prefix is asked.
 *
 * @param keys not copied
 * @param instanceId only this instance, or empty for all
 */
public record HashQuery(ContextKey context, long[] keys, String instanceId) {}
