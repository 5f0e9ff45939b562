package baton.embeds;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Keeps prompt-embeds payloads as their clients sent them, by identifier and salt, within a limit
 * in bytes. Who was used longest ago goes first.
 *
 * <p>It trusts its caller: that a payload is what its identifier names is not checked. Scopes are
 * as isolated as the salts that name them; all lookups without a salt share one scope. Neither
 * identifiers nor salts are kept, only their {@link EntryKey}.
 *
 * <p>Order, charges and counters are guarded by this object's monitor, which is held for a few
 * steps at a time and never while bytes are copied. Invariant: the charges of all entries add up to
 * {@code used}, which is at no time above the capacity.
 */
public final class PromptEmbedsCache {
  /**
   * Bytes charged for an entry besides its payload's: its key, its place in the table and in the
   * order, the descriptors of its memory, and the empty part of its last unit, on average.
   */
  public static final int OVERHEAD_BYTES = 512;

  /** Entries that may go in one hold of the monitor, so that lookups get their turn. */
  private static final int EVICTIONS_AT_ONCE = 64;

  /**
   * What the cache has done since it was made; these never go back.
   *
   * @param hits lookups that found a payload
   * @param misses lookups that did not
   * @param puts payloads stored
   * @param evictions payloads that had to go for others
   * @param oversize payloads that could never be held
   */
  public record Totals(long hits, long misses, long puts, long evictions, long oversize) {
    static final Totals ZERO = new Totals(0, 0, 0, 0, 0);
  }

  private final long capacity;
  private final PayloadMemory memory;
  private final LinkedHashMap<EntryKey, Payload> entries = new LinkedHashMap<>(16, 0.75f, true);
  private long used;
  private long hits;
  private long misses;
  private long puts;
  private long evictions;
  private long oversize;
  private Totals atClear = Totals.ZERO;

  /**
   * @param capacityBytes bytes that entries may be charged for; with 0 or less nothing is ever
   *     stored
   * @throws java.io.UncheckedIOException if the file behind its memory cannot be made
   */
  public PromptEmbedsCache(long capacityBytes) {
    this.capacity = Math.max(0, capacityBytes);
    this.memory = enabled() ? new PayloadMemory() : null;
  }

  /** Whether anything is ever stored. */
  public boolean enabled() {
    return capacity > 0;
  }

  /** The longest payload that can be stored, in bytes; 0 if none can. */
  public long longestPayload() {
    return Math.max(0, capacity - OVERHEAD_BYTES);
  }

  /** Whether a payload of so many bytes would be stored. */
  public boolean canHold(long bytes) {
    return bytes > 0 && bytes <= longestPayload();
  }

  /**
   * Looks a payload up; one that is found becomes the last to go.
   *
   * @param cacheSalt its scope; null and "" are the scope of all who name none
   * @return the payload, held for the caller, who must close it; or null
   * @throws IllegalArgumentException if identifier or salt is no Unicode, or the salt has a NUL
   */
  public Payload get(String identifier, String cacheSalt) {
    EntryKey key = EntryKey.of(identifier, cacheSalt);
    if (!enabled()) {
      return null;
    }
    synchronized (this) {
      Payload payload = entries.get(key);
      if (payload == null) {
        misses++;
        return null;
      }
      hits++;
      payload.hold();
      return payload;
    }
  }

  /**
   * Begins to receive a payload.
   *
   * @param announcedBytes its length if it is known, else 0
   * @throws IllegalStateException if the cache is disabled
   */
  public Upload upload(long announcedBytes) {
    if (!enabled()) {
      throw new IllegalStateException("the cache is disabled");
    }
    return new Upload(memory, announcedBytes);
  }

  /**
   * Stores what remains in a buffer.
   *
   * @see #put(String, Upload, String)
   */
  public boolean put(String identifier, ByteBuffer payload, String cacheSalt) {
    EntryKey key = EntryKey.of(identifier, cacheSalt);
    if (!admits(payload.remaining())) {
      return false;
    }
    Upload upload = upload(payload.remaining());
    try {
      upload.append(payload);
      store(key, upload.end());
    } finally {
      upload.discard();
    }
    return true;
  }

  /**
   * Stores a payload in place of the one that its key may have had. The upload is at its end then,
   * whatever comes of it.
   *
   * @return false, and nothing changed, if it is empty or {@link #canHold} says no
   * @throws IllegalArgumentException if identifier or salt is no Unicode, or the salt has a NUL
   */
  public boolean put(String identifier, Upload upload, String cacheSalt) {
    try {
      EntryKey key = EntryKey.of(identifier, cacheSalt);
      if (!admits(upload.length())) {
        return false;
      }
      store(key, upload.end());
      return true;
    } finally {
      upload.discard();
    }
  }

  /**
   * Like {@link #canHold}, for a payload that is really there: if the cache cannot hold it, it
   * counts as rejected.
   */
  public boolean admits(long bytes) {
    if (bytes > longestPayload()) {
      synchronized (this) {
        oversize++;
      }
    }
    return canHold(bytes);
  }

  private void store(EntryKey key, Payload payload) {
    long charge = charge(payload);
    List<Payload> gone = new ArrayList<>();
    while (!tryStore(key, payload, charge, gone)) {
      letGo(gone);
    }
    letGo(gone);
  }

  /**
   * Evicts some of what has to go; then stores, if nothing more has to.
   *
   * @param gone takes the payloads that have left the cache
   */
  private synchronized boolean tryStore(
      EntryKey key, Payload payload, long charge, List<Payload> gone) {
    // Looking it up makes it the last to go, so that it is never evicted for its own successor.
    Payload before = entries.get(key);
    long more = before == null ? charge : charge - charge(before);
    var coldest = entries.entrySet().iterator();
    while (used + more > capacity) {
      if (gone.size() == EVICTIONS_AT_ONCE) {
        return false;
      }
      Map.Entry<EntryKey, Payload> victim = coldest.next();
      coldest.remove();
      used -= charge(victim.getValue());
      evictions++;
      gone.add(victim.getValue());
    }
    entries.put(key, payload);
    used += more;
    puts++;
    if (before != null) {
      gone.add(before);
    }
    return true;
  }

  private static void letGo(List<Payload> gone) {
    gone.forEach(Payload::evict);
    gone.clear();
  }

  private static long charge(Payload payload) {
    return payload.length() + OVERHEAD_BYTES;
  }

  /** Drops one entry, if it is there. */
  public void remove(String identifier, String cacheSalt) {
    EntryKey key = EntryKey.of(identifier, cacheSalt);
    Payload payload;
    synchronized (this) {
      payload = entries.remove(key);
      if (payload == null) {
        return;
      }
      used -= charge(payload);
    }
    payload.evict();
  }

  /** Drops all entries and starts the statistics anew. */
  public void clear() {
    List<Payload> gone;
    synchronized (this) {
      gone = new ArrayList<>(entries.values());
      entries.clear();
      used = 0;
      atClear = totals();
    }
    letGo(gone);
  }

  /** Gives memory that is not needed back to the system, as far as it is found. */
  public void trim() {
    if (enabled()) {
      memory.trim();
      // A mapping goes when its last reference is collected, and only then.
      System.gc();
    }
  }

  /** What is held, and what was done since the last {@link #clear}, at one moment. */
  public synchronized PromptEmbedsCacheStats stats() {
    return new PromptEmbedsCacheStats(
        capacity,
        entries.size(),
        hits - atClear.hits(),
        hits - atClear.hits() + misses - atClear.misses(),
        oversize - atClear.oversize(),
        used);
  }

  /** What was done since the cache was made. */
  public synchronized Totals totals() {
    return new Totals(hits, misses, puts, evictions, oversize);
  }

  /** Bytes of memory that payloads take: those held, those on their way in or out. */
  public long memoryBytes() {
    return enabled() ? memory.used() : 0;
  }

  /** Bytes of payloads that are no longer held but still being read. */
  public long lingeringBytes() {
    return enabled() ? memory.lingering().get() : 0;
  }
}
