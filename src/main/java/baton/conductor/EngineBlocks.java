package baton.conductor;

import baton.index.ContextIndex;
import baton.index.Owner;
import baton.index.Tier;
import baton.publisher.EngineSink;
import baton.publisher.Medium;

/** Files one engine rank's events in its context. Used by the publisher's thread. */
final class EngineBlocks implements EngineSink {
  private final ContextIndex index;
  private Owner owner;

  /** Listed in the owner's place while that is hidden; else null. */
  private Owner standIn;

  EngineBlocks(ContextIndex index, String instanceId, int rank) {
    this.index = index;
    this.owner = index.joinEngine(instanceId, rank);
  }

  @Override
  public int stored(Medium medium, long[] keys, int count) {
    return index.store(owner, tier(medium), keys, count);
  }

  @Override
  public void removed(Medium medium, long[] keys, int count) {
    index.remove(owner, tier(medium), keys, count);
  }

  @Override
  public void cleared(Medium medium) {
    if (medium == null) {
      retract();
    } else {
      index.removeTier(owner, tier(medium));
    }
  }

  @Override
  public void retract() {
    owner = index.retract(owner);
  }

  @Override
  public void hide() {
    if (standIn == null) {
      standIn = index.hide(owner);
    }
  }

  @Override
  public void show() {
    if (standIn != null) {
      index.show(standIn, owner);
      standIn = null;
    }
  }

  /** Called when the publisher's thread is done with it. */
  void leave() {
    show();
    index.leave(owner);
  }

  private static Tier tier(Medium medium) {
    return switch (medium) {
      case DEVICE -> Tier.DEVICE;
      case CPU -> Tier.CPU_LOCAL;
      case DISK -> Tier.DISK;
    };
  }
}
