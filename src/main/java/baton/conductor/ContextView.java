package baton.conductor;

import baton.hash.HashProfile;
import java.util.SortedMap;
import java.util.SortedSet;

/**
 * One context as it is now.
 *
 * @param prefixCount different blocks that are held in it
 * @param digest of who holds what, see {@link baton.index.ContextIndex#digest}
 * @param instances its instances, each with its registered ranks
 */
public record ContextView(
    ContextKey key,
    int prefixCount,
    long digest,
    HashProfile hashProfile,
    SortedMap<String, SortedSet<Integer>> instances) {}
