package baton.index;

/**
 * Where a block lies, from the nearest to the farthest; each tier's count includes those before it.
 */
public enum Tier {
  /** The engine's accelerator memory. */
  DEVICE,
  /** The engine's own host memory. */
  CPU_LOCAL,
  /** A host memory pool that every engine can read. */
  CPU_SHARE,
  /** Shared disk objects, and the engine's own disk blocks. */
  DISK;

  static final int COUNT = 4;

  int bit() {
    return 1 << ordinal();
  }
}
