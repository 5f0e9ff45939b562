package baton.index;

import java.util.Arrays;

/**
 * The distinct {@link Holders} of one context. A set is kept while some block is held so, and
 * forgotten with the last. Guarded by the context's lock.
 */
final class HolderSets {
  private static final int MIN_SLOTS = 16;

  private Holders[] table = new Holders[MIN_SLOTS];
  private int size;

  int size() {
    return size;
  }

  /**
   * Moves one block from a set to the one that differs by this owner's tiers.
   *
   * @param tierBits the owner's tiers from now on, 0 for none
   */
  Holders change(Holders from, Owner owner, int tierBits) {
    Holders to = changed(from, owner, tierBits);
    if (to != Holders.NONE) {
      to.blocks++;
    }
    if (from != Holders.NONE && --from.blocks == 0) {
      forget(from);
    }
    return to;
  }

  private Holders changed(Holders from, Owner owner, int tierBits) {
    // NONE is shared by all contexts, so it must not remember a change.
    boolean remembers = from != Holders.NONE;
    if (remembers
        && from.changedOwner == owner
        && from.changedTiers == tierBits
        && from.changed.blocks > 0) {
      return from.changed;
    }
    int index = from.find(owner);
    int before = index < 0 ? 0 : from.tiers[index];
    if (before == tierBits) {
      return from;
    }
    if (tierBits == 0 && from.size() == 1) {
      return Holders.NONE;
    }
    long hash = from.hash ^ Holders.element(owner, before) ^ Holders.element(owner, tierBits);
    int slot = slot(hash);
    for (; table[slot] != null; slot = (slot + 1) & (table.length - 1)) {
      if (table[slot].hash == hash && isChange(table[slot], from, index, owner, tierBits)) {
        return remember(from, owner, tierBits, table[slot], remembers);
      }
    }
    Holders made = make(from, index, owner, tierBits, hash);
    table[slot] = made;
    if (++size > table.length / 4 * 3) {
      resize(table.length * 2);
    }
    return remember(from, owner, tierBits, made, remembers);
  }

  private static Holders remember(
      Holders from, Owner owner, int tierBits, Holders to, boolean remembers) {
    if (remembers) {
      from.changedOwner = owner;
      from.changedTiers = tierBits;
      from.changed = to;
    }
    return to;
  }

  private static boolean isChange(
      Holders candidate, Holders from, int index, Owner owner, int tierBits) {
    int cut = index < 0 ? -index - 1 : index;
    int kept = tierBits == 0 ? 0 : 1;
    int restFrom = index < 0 ? cut : cut + 1;
    int rest = from.size() - restFrom;
    return candidate.size() == cut + kept + rest
        && (kept == 0 || (candidate.owners[cut] == owner && candidate.tiers[cut] == tierBits))
        && Arrays.equals(candidate.owners, 0, cut, from.owners, 0, cut)
        && Arrays.equals(candidate.tiers, 0, cut, from.tiers, 0, cut)
        && Arrays.equals(
            candidate.owners, cut + kept, candidate.size(), from.owners, restFrom, from.size())
        && Arrays.equals(
            candidate.tiers, cut + kept, candidate.size(), from.tiers, restFrom, from.size());
  }

  private static Holders make(Holders from, int index, Owner owner, int tierBits, long hash) {
    int cut = index < 0 ? -index - 1 : index;
    int kept = tierBits == 0 ? 0 : 1;
    int restFrom = index < 0 ? cut : cut + 1;
    int rest = from.size() - restFrom;
    Owner[] owners = Arrays.copyOf(from.owners, cut + kept + rest);
    byte[] tiers = Arrays.copyOf(from.tiers, cut + kept + rest);
    if (kept == 1) {
      owners[cut] = owner;
      tiers[cut] = (byte) tierBits;
    }
    System.arraycopy(from.owners, restFrom, owners, cut + kept, rest);
    System.arraycopy(from.tiers, restFrom, tiers, cut + kept, rest);
    return new Holders(owners, tiers, hash);
  }

  private void forget(Holders holders) {
    int mask = table.length - 1;
    int hole = slot(holders.hash);
    while (table[hole] != holders) {
      hole = (hole + 1) & mask;
    }
    for (int i = (hole + 1) & mask; table[i] != null; i = (i + 1) & mask) {
      int home = slot(table[i].hash);
      if (((i - home) & mask) >= ((i - hole) & mask)) {
        table[hole] = table[i];
        hole = i;
      }
    }
    table[hole] = null;
    // A remembered neighbour would keep a chain of forgotten sets alive.
    holders.changed = null;
    holders.changedOwner = null;
    if (--size < table.length / 8 && table.length > MIN_SLOTS) {
      resize(table.length / 2);
    }
  }

  private void resize(int slots) {
    Holders[] old = table;
    table = new Holders[slots];
    for (Holders holders : old) {
      if (holders != null) {
        int slot = slot(holders.hash);
        while (table[slot] != null) {
          slot = (slot + 1) & (slots - 1);
        }
        table[slot] = holders;
      }
    }
  }

  private int slot(long hash) {
    return (int) (hash ^ hash >>> 29) & (table.length - 1);
  }
}
