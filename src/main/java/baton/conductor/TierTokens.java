package baton.conductor;

/** Leading tokens of a prompt that can be reached at each tier or before it. */
public record TierTokens(long device, long cpuLocal, long cpuShare, long disk) {
  static final TierTokens NONE = new TierTokens(0, 0, 0, 0);

  TierTokens max(TierTokens other) {
    return new TierTokens(
        Math.max(device, other.device),
        Math.max(cpuLocal, other.cpuLocal),
        Math.max(cpuShare, other.cpuShare),
        Math.max(disk, other.disk));
  }
}
