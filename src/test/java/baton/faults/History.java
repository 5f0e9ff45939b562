package baton.faults;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The model: what an engine's cache held after each batch, those of its earlier lives included, and
 * which of these states are over for one who has heard this much.
 *
 * <p>Every batch stores a block of its own, its marker, which is never removed: who claims the
 * marker has applied the batch, and whoever has applied all has all markers.
 */
final class History {
  /** Markers have keys from here on. */
  static final long MARKERS = 1_000_000;

  private final Set<Block> held = new HashSet<>();

  /** The last state that had the block, of those that are not held now. */
  private final Map<Block, Long> lastHeld = new HashMap<>();

  private final Map<Block, Long> markers = new HashMap<>();

  /** For each message that was sent, the state after it, or 0. */
  private final List<Long> sent = new ArrayList<>();

  private long now;

  /** The listener cannot be in an earlier state any more. */
  private long oldest;

  /** What was sent, or became the case, until here, tells nothing about the oldest. */
  private int sentIgnored;

  private long stateIgnored;

  /** Whether all that was sent has arrived, in order. */
  private boolean certain = true;

  /** The state after the last batch. */
  long now() {
    return now;
  }

  Set<Block> held() {
    return held;
  }

  /** All blocks that are or ever were held. */
  Set<Block> all() {
    Set<Block> all = new HashSet<>(held);
    all.addAll(lastHeld.keySet());
    return all;
  }

  Block nextMarker() {
    return new Block(MARKERS + now + 1, true);
  }

  void apply(Batch batch) {
    if (batch.clears()) {
      drop(new HashSet<>(held));
    }
    drop(batch.removed());
    now++;
    held.addAll(batch.stored());
    for (Block block : batch.stored()) {
      if (block.key() > MARKERS) {
        markers.put(block, now);
      }
    }
  }

  private void drop(Iterable<Block> blocks) {
    for (Block block : blocks) {
      if (held.remove(block)) {
        lastHeld.put(block, now);
      }
    }
  }

  /** The engine's cache is empty, and nobody was told. */
  void died() {
    drop(new HashSet<>(held));
    now++;
  }

  void sent(long state) {
    sent.add(state);
  }

  int sent() {
    return sent.size();
  }

  /** Something of what was sent may not have arrived. */
  void uncertain() {
    certain = false;
  }

  boolean isCertain() {
    return certain;
  }

  /** The engine has said itself that nothing came after that state. */
  void misled(long state) {
    oldest = Math.min(oldest, state);
    sentIgnored = sent.size();
    stateIgnored = now;
  }

  /** The listener has finished with this many messages. */
  void heard(long messages) {
    if (messages <= sentIgnored) {
      return;
    }
    int count = (int) Math.min(messages, sent.size());
    if (certain) {
      for (long state : sent.subList(sentIgnored, count)) {
        reached(state);
      }
    } else {
      // Whichever messages these were, one at least was as late as this.
      List<Long> states = new ArrayList<>(sent);
      Collections.sort(states);
      reached(states.get(count - 1));
    }
  }

  /** The listener claims a block. */
  void claimed(Block block) {
    Long marked = markers.get(block);
    if (marked != null) {
      reached(marked);
    }
  }

  private void reached(long state) {
    if (state > stateIgnored) {
      oldest = Math.max(oldest, state);
    }
  }

  /** Why a claim is false, or null if it may be true. */
  String refute(Block block) {
    if (held.contains(block)) {
      return null;
    }
    Long last = lastHeld.get(block);
    if (last == null) {
      return block + " was never there";
    }
    return last < oldest ? block + " is gone since state " + last + " of " + oldest : null;
  }
}
