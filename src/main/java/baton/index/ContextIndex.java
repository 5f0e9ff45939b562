package baton.index;

import java.util.Arrays;
import java.util.function.LongSupplier;

/**
 * The blocks of one context and who holds them.
 *
 * <p>This object's monitor guards every change; {@link #match} takes no lock. {@code members} is
 * replaced as a whole: an owner that is not in it does not count, whatever the table still says of
 * it.
 */
public final class ContextIndex {
  /** Blocks changed under one hold of the lock, so that a large removal lets other writers in. */
  private static final int CHUNK = 4096;

  private static final int MAX_OWNERS = 1 << 20;

  private final Budget budget;
  private final BlockTable blocks = new BlockTable();
  private final HolderSets sets = new HolderSets();
  private volatile Owner[] members = new Owner[0];
  private int nextId;
  private volatile boolean closed;

  /** How often an owner was hidden. */
  private volatile int hides;

  public ContextIndex(Budget budget) {
    this.budget = budget;
  }

  /** Adds an engine's rank, which holds nothing yet. */
  public synchronized Owner joinEngine(String instance, int rank) {
    int slot = freeSlot();
    return list(Owner.engine(nextId++, slot, instance, rank));
  }

  /**
   * Adds a part of a shared pool, which holds nothing yet.
   *
   * @return null if the context is closed or has too many owners
   */
  public synchronized Owner joinPool() {
    int slot = freeSlot();
    return closed || slot == MAX_OWNERS ? null : list(Owner.pool(nextId++, slot));
  }

  private int freeSlot() {
    Owner[] current = members;
    for (int i = 0; i < current.length; i++) {
      if (current[i] == null) {
        return i;
      }
    }
    return current.length;
  }

  /** False for one that has left, or was renewed: its slot may be another's. */
  private boolean isListed(Owner owner) {
    return owner.slot() < members.length && members[owner.slot()] == owner;
  }

  private Owner list(Owner owner) {
    Owner[] current = members;
    Owner[] changed = Arrays.copyOf(current, Math.max(current.length, owner.slot() + 1));
    changed[owner.slot()] = owner;
    members = changed;
    return owner;
  }

  /**
   * Adds one copy of each block.
   *
   * @return how many of them were refused, by the budget or because the context is closed
   */
  public int store(Owner owner, Tier tier, long[] keys, int count) {
    int refused = 0;
    for (int from = 0; from < count; from += CHUNK) {
      synchronized (this) {
        for (int i = from; i < Math.min(count, from + CHUNK); i++) {
          refused += store(owner, tier, keys[i]) ? 0 : 1;
        }
      }
    }
    return refused;
  }

  private boolean store(Owner owner, Tier tier, long key) {
    int before = owner.held.get(key);
    int after = owner.plus(before, tier);
    if (after != before) {
      if (closed || (before == 0 && !budget.take())) {
        return false;
      }
      set(owner, key, before, after);
    }
    return true;
  }

  /** Removes one copy of each block; those that are not there are passed over. */
  public void remove(Owner owner, Tier tier, long[] keys, int count) {
    for (int from = 0; from < count; from += CHUNK) {
      synchronized (this) {
        for (int i = from; i < Math.min(count, from + CHUNK); i++) {
          int before = owner.held.get(keys[i]);
          set(owner, keys[i], before, owner.minus(before, tier));
        }
      }
    }
  }

  /** Removes everything that an engine holds in one tier. */
  public void removeTier(Owner owner, Tier tier) {
    long[] keys;
    synchronized (this) {
      keys = owner.held.keys();
    }
    remove(owner, tier, keys, keys.length);
  }

  private void set(Owner owner, long key, int before, int after) {
    if (before == after || closed) {
      return;
    }
    owner.hold(key, before, after);
    if (after == 0) {
      budget.give(1);
    }
    int tiers = owner.tierBits(after);
    if (tiers != owner.tierBits(before)) {
      blocks.put(key, sets.change(blocks.get(key), owner, tiers));
    }
  }

  /**
   * Retracts all that an owner holds: for queries in one step, then block by block.
   *
   * @return the same owner with nothing held, to be used from now on
   */
  public Owner retract(Owner owner) {
    Owner renewed;
    synchronized (this) {
      renewed = owner.renewed(nextId++);
      if (closed) {
        return renewed;
      }
      if (isListed(owner)) {
        list(renewed);
      }
    }
    sweep(owner);
    return renewed;
  }

  /**
   * Hides an engine's rank: queries find it with nothing, whatever it stores and removes. It has to
   * be shown again before it leaves, or before the context is closed, to give back what it holds.
   *
   * @return what is listed in its place, for {@link #show}
   */
  public synchronized Owner hide(Owner owner) {
    Owner standIn = owner.renewed(nextId++);
    if (!closed && isListed(owner)) {
      owner.hiddenAt = ++hides;
      list(standIn);
    }
    return standIn;
  }

  /** Shows an owner as it is now; it may have been renewed since it was hidden. */
  public synchronized void show(Owner standIn, Owner owner) {
    if (!closed && isListed(standIn)) {
      list(owner);
    }
  }

  /** Removes an owner and all that it holds: for queries in one step, then block by block. */
  public void leave(Owner owner) {
    synchronized (this) {
      if (closed || !isListed(owner)) {
        return;
      }
      Owner[] changed = members.clone();
      changed[owner.slot()] = null;
      int length = changed.length;
      while (length > 0 && changed[length - 1] == null) {
        length--;
      }
      members = Arrays.copyOf(changed, length);
    }
    sweep(owner);
  }

  /** Ends the context: nobody holds anything any more, and nothing can be stored again. */
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    for (Owner owner : members) {
      if (owner != null) {
        budget.give(owner.held.size());
      }
    }
    members = new Owner[0];
  }

  public boolean isClosed() {
    return closed;
  }

  private void sweep(Owner owner) {
    long[] keys = owner.held.keys();
    for (int from = 0; from < keys.length; from += CHUNK) {
      synchronized (this) {
        if (closed) {
          // close() gave back only what the members held, and this owner is none any more.
          budget.give(owner.held.size());
          return;
        }
        for (int i = from; i < Math.min(keys.length, from + CHUNK); i++) {
          set(owner, keys[i], owner.held.get(keys[i]), 0);
        }
      }
    }
  }

  /**
   * How long a prefix each engine rank holds.
   *
   * @param length how many blocks the prompt has
   * @param keys their keys, in order; asked for no more of them than can change the answer
   * @param instance only this one's ranks, or empty for all
   */
  public PrefixMatch match(int length, LongSupplier keys, String instance) {
    int hidesBefore = hides;
    PrefixWalk walk = new PrefixWalk(members(instance));
    for (int i = 0; i < length && walk.isOpen(); i++) {
      Holders holders = blocks.get(keys.getAsLong());
      if (holders == Holders.NONE) {
        break;
      }
      walk.next(holders);
    }
    return walk.result(hidesBefore);
  }

  private Owner[] members(String instance) {
    Owner[] current = members;
    if (instance.isEmpty()) {
      return current;
    }
    Owner[] selected = current.clone();
    for (int i = 0; i < selected.length; i++) {
      Owner owner = selected[i];
      if (owner != null && !owner.isShared() && !owner.instance().equals(instance)) {
        selected[i] = null;
      }
    }
    return selected;
  }

  /** How many different blocks are held. */
  public int blockCount() {
    return blocks.size();
  }

  /**
   * A digest of what queries find here: the same in every process that knows the same blocks of the
   * same owners, in whatever order it learnt of them; 0 if nothing is held.
   */
  public synchronized long digest() {
    long digest = 0;
    for (Owner owner : members) {
      digest += owner == null ? 0 : owner.digest();
    }
    return digest;
  }

  /** How many blocks an owner holds. */
  public synchronized int heldBy(Owner owner) {
    return owner.held.size();
  }
}
