package baton.index;

/**
 * The owners of one block, each with the tiers in which it has it: an immutable set, one object for
 * all blocks of a context that are held alike. Sorted by the owners' ids.
 */
final class Holders {
  static final Holders NONE = new Holders(new Owner[0], new byte[0], 0);

  final Owner[] owners;
  final byte[] tiers;
  final long hash;

  /** How many blocks are held so; kept by {@link HolderSets}. */
  int blocks;

  // The last change asked of this set: chains of blocks ask for the same one again and again.
  Owner changedOwner;
  int changedTiers;
  Holders changed;

  Holders(Owner[] owners, byte[] tiers, long hash) {
    this.owners = owners;
    this.tiers = tiers;
    this.hash = hash;
  }

  int size() {
    return owners.length;
  }

  /** The owner's index, or {@code -(insertion point) - 1}. */
  int find(Owner owner) {
    int low = 0;
    int high = owners.length - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int order = Integer.compare(owners[middle].id(), owner.id());
      if (order == 0) {
        return middle;
      }
      if (order < 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -low - 1;
  }

  static long element(Owner owner, int tierBits) {
    return tierBits == 0 ? 0 : LongIntMap.mix(LongIntMap.mix(owner.id() * 16L + tierBits) + 1);
  }
}
