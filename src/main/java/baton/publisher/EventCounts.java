package baton.publisher;

import java.util.concurrent.atomic.LongAdder;

/**
 * What came in on one stream, or on all streams of a publisher type, since the start. Only grows.
 */
public final class EventCounts {
  private final EventCounts total;
  private final LongAdder messages = new LongAdder();
  private final LongAdder duplicates = new LongAdder();
  private final LongAdder gaps = new LongAdder();
  private final LongAdder missing = new LongAdder();
  private final LongAdder replays = new LongAdder();
  private final LongAdder replayed = new LongAdder();
  private final LongAdder losses = new LongAdder();
  private final LongAdder restarts = new LongAdder();
  private final LongAdder[] applied = adders(EventKind.values().length);
  private final LongAdder[] refused = adders(Refusal.values().length);

  EventCounts() {
    this(null);
  }

  /**
   * @param total counts the same too; null for none
   */
  EventCounts(EventCounts total) {
    this.total = total;
  }

  private static LongAdder[] adders(int count) {
    LongAdder[] adders = new LongAdder[count];
    for (int i = 0; i < count; i++) {
      adders[i] = new LongAdder();
    }
    return adders;
  }

  void countMessage() {
    messages.increment();
    if (total != null) {
      total.countMessage();
    }
  }

  void countDuplicate() {
    duplicates.increment();
    if (total != null) {
      total.countDuplicate();
    }
  }

  void countGap(long numbers) {
    gaps.increment();
    missing.add(numbers);
    if (total != null) {
      total.countGap(numbers);
    }
  }

  void countReplay() {
    replays.increment();
    if (total != null) {
      total.countReplay();
    }
  }

  void countReplayed() {
    replayed.increment();
    if (total != null) {
      total.countReplayed();
    }
  }

  void countLoss() {
    losses.increment();
    if (total != null) {
      total.countLoss();
    }
  }

  void countRestart() {
    restarts.increment();
    if (total != null) {
      total.countRestart();
    }
  }

  void countApplied(EventKind kind) {
    applied[kind.ordinal()].increment();
    if (total != null) {
      total.countApplied(kind);
    }
  }

  void countRefused(Refusal reason) {
    refused[reason.ordinal()].increment();
    if (total != null) {
      total.countRefused(reason);
    }
  }

  /** Messages received, refused and duplicate ones included; those of replays are not. */
  public long messages() {
    return messages.sum();
  }

  /** Messages dropped because they had been applied, or are of a connection that is over. */
  public long duplicates() {
    return duplicates.sum();
  }

  /** Jumps in the numbering. */
  public long gaps() {
    return gaps.sum();
  }

  /** Numbers that these jumps passed over. */
  public long missing() {
    return missing.sum();
  }

  /** Requests for what was missed. */
  public long replays() {
    return replays.sum();
  }

  /** Messages applied that such requests brought. */
  public long replayed() {
    return replayed.sum();
  }

  /**
   * Gaps that could not be filled; each retracted all that its publisher owned, or put it in doubt.
   */
  public long losses() {
    return losses.sum();
  }

  /**
   * Publishers found to have started again, or to be on a new connection that cannot be verified.
   */
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
