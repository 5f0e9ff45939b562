package baton.publisher;

import java.util.concurrent.atomic.LongAdder;

/** What came in on all streams of one publisher type since the start. Only grows. */
public final class EventCounts {
  private final LongAdder messages = new LongAdder();
  private final LongAdder duplicates = new LongAdder();
  private final LongAdder gaps = new LongAdder();
  private final LongAdder restarts = new LongAdder();
  private final LongAdder[] applied = adders(EventKind.values().length);
  private final LongAdder[] refused = adders(Refusal.values().length);

  private static LongAdder[] adders(int count) {
    LongAdder[] adders = new LongAdder[count];
    for (int i = 0; i < count; i++) {
      adders[i] = new LongAdder();
    }
    return adders;
  }

  void countMessage() {
    messages.increment();
  }

  void countDuplicate() {
    duplicates.increment();
  }

  void countGap() {
    gaps.increment();
  }

  void countRestart() {
    restarts.increment();
  }

  void countApplied(EventKind kind) {
    applied[kind.ordinal()].increment();
  }

  void countRefused(Refusal reason) {
    refused[reason.ordinal()].increment();
  }

  /** Messages received, refused and duplicate ones included. */
  public long messages() {
    return messages.sum();
  }

  /** Messages dropped because their number was not above the last one. */
  public long duplicates() {
    return duplicates.sum();
  }

  /** Jumps in the numbering, each of which retracted all that its publisher owned. */
  public long gaps() {
    return gaps.sum();
  }

  /** Publishers found to count from a lower number after a new connection. */
  public long restarts() {
    return restarts.sum();
  }

  public long applied(EventKind kind) {
    return applied[kind.ordinal()].sum();
  }

  public long refused(Refusal reason) {
    return refused[reason.ordinal()].sum();
  }
}
