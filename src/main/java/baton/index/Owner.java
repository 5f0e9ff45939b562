package baton.index;

/**
 * One holder of blocks in one context: an engine's rank, or a part of a shared pool. What it holds
 * is guarded by its context's lock.
 *
 * <p>An engine's rank either has a block in a tier or not. A pool part counts the objects that
 * carry the block, up to 65,535, because a block is gone only with the last of them.
 */
public final class Owner {
  private static final int MAX_OBJECTS = 0xffff;

  /** All pool parts have the same: which of them has a block makes no difference to queries. */
  private static final long POOL_SEED = 0;

  private final int id;
  private final int slot;
  private final String instance;
  private final int rank;
  private final long seed;
  final LongIntMap held = new LongIntMap();

  /** The sum of a hash of each held block and its value: no matter in what order they came. */
  private long digest;

  /** The count of its context's hidings when it was last hidden; 0 if it never was. */
  volatile int hiddenAt;

  private Owner(int id, int slot, String instance, int rank, long seed) {
    this.id = id;
    this.slot = slot;
    this.instance = instance;
    this.rank = rank;
    this.seed = seed;
  }

  static Owner engine(int id, int slot, String instance, int rank) {
    return new Owner(id, slot, instance, rank, seed(instance, rank));
  }

  static Owner pool(int id, int slot) {
    return new Owner(id, slot, null, -1, POOL_SEED);
  }

  /** The same owner with nothing held, under another id. */
  Owner renewed(int newId) {
    return new Owner(newId, slot, instance, rank, seed);
  }

  private static long seed(String instance, int rank) {
    long seed = scrambled(rank + 1L);
    for (int i = 0; i < instance.length(); i++) {
      seed = scrambled(seed + instance.charAt(i) + 1);
    }
    return seed;
  }

  /** Changes what is held of a block; 0 is nothing. */
  void hold(long key, int before, int after) {
    held.put(key, after);
    digest += element(key, after) - element(key, before);
  }

  private long element(long key, int value) {
    return value == 0 ? 0 : scrambled(scrambled(key + seed) + value);
  }

  long digest() {
    return digest;
  }

  /** The finalizer of MurmurHash3: sums of its values tell sets of keys apart. */
  private static long scrambled(long value) {
    long h = value;
    h = (h ^ h >>> 33) * 0xff51afd7ed558ccdL;
    h = (h ^ h >>> 33) * 0xc4ceb9fe1a85ec53L;
    return h ^ h >>> 33;
  }

  /** Unique in its context for ever; the order of holder sets. */
  int id() {
    return id;
  }

  /** Its place in the context's list; given to another owner once this one has left. */
  int slot() {
    return slot;
  }

  /** True for a part of a shared pool, whose blocks count for every instance. */
  public boolean isShared() {
    return instance == null;
  }

  /** The engine instance, null for a pool part. */
  public String instance() {
    return instance;
  }

  public int rank() {
    return rank;
  }

  /** What a held value is after one more copy in a tier; the same value if nothing changes. */
  int plus(int value, Tier tier) {
    if (!isShared()) {
      return value | tier.bit();
    }
    int shift = shift(tier);
    return (value >>> shift & MAX_OBJECTS) == MAX_OBJECTS ? value : value + (1 << shift);
  }

  /** What a held value is after one copy less in a tier; the same value if there was none. */
  int minus(int value, Tier tier) {
    if (!isShared()) {
      return value & ~tier.bit();
    }
    int shift = shift(tier);
    return (value >>> shift & MAX_OBJECTS) == 0 ? value : value - (1 << shift);
  }

  /** The tiers, as bits, in which a held value has the block. */
  int tierBits(int value) {
    if (!isShared()) {
      return value;
    }
    return ((value & MAX_OBJECTS) == 0 ? 0 : Tier.CPU_SHARE.bit())
        | (value >>> 16 == 0 ? 0 : Tier.DISK.bit());
  }

  private static int shift(Tier tier) {
    return tier == Tier.CPU_SHARE ? 0 : 16;
  }
}
