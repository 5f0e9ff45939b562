package baton.index;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A limit that several owners share: how many blocks they may hold together, a block counting once
 * for each owner, whatever its tiers; or how many objects of pools are known.
 */
public final class Budget {
  private final long limit;
  private final AtomicLong used = new AtomicLong();

  public Budget(long limit) {
    this.limit = limit;
  }

  /** Takes one, if there is one. */
  public boolean take() {
    long before = used.get();
    while (before < limit) {
      long witness = used.compareAndExchange(before, before + 1);
      if (witness == before) {
        return true;
      }
      before = witness;
    }
    return false;
  }

  public void give(int count) {
    used.addAndGet(-count);
  }

  public long used() {
    return used.get();
  }

  public long limit() {
    return limit;
  }
}
