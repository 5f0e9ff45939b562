package baton.faults;

import baton.conductor.Conductor;
import baton.conductor.ContextKey;
import baton.conductor.HashQuery;
import baton.conductor.Publisher;
import baton.conductor.PublisherKey;
import baton.conductor.PublisherStatus;
import baton.conductor.TierTokens;
import baton.hash.HashProfile;
import baton.publisher.EventCounts;
import baton.publisher.PublisherType;
import baton.publisher.Receivers;
import baton.publisher.RecoverySettings;
import baton.publisher.StreamStatus;
import baton.publisher.Subscription;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Asks a conductor what one engine holds, and compares that with what the engine says of itself.
 * Used by the engine's thread.
 */
final class Witness {
  private static final HashProfile PROFILE =
      new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be");
  private static final ContextKey CONTEXT = new ContextKey("default", "m", "", Batch.BLOCK_SIZE);
  private static final long PATIENCE_S = 30;

  /** If these have not brought it, nothing will. */
  private static final int ENOUGH_REPLAYS = 4;

  /** Impatient, so that scripts are short. */
  static final RecoverySettings RECOVERY =
      new RecoverySettings(150, 600, 10_000, 1 << 24, 1 << 26, false, 200, 0);

  private final Conductor conductor;
  private final FaultyEngine engine;
  private final String instance;

  /** False if false claims are to be expected: when a loss does not remove the blocks. */
  private final boolean strict;

  Witness(Conductor conductor, FaultyEngine engine, String instance, boolean strict) {
    this.conductor = conductor;
    this.engine = engine;
    this.instance = instance;
    this.strict = strict;
  }

  static Conductor conductor(int threads, int publishers, RecoverySettings recovery) {
    var settings = new Receivers.Settings(threads, 1, publishers, 1000, 1 << 20, recovery);
    var limits = new Conductor.Limits(publishers, 1_000_000, List.of("*"));
    return new Conductor(new Receivers(settings), limits);
  }

  /** Registers the engine. */
  Witness register() {
    conductor.register(
        new Publisher(
            engine.endpoint(),
            engine.replayEndpoint(),
            PublisherType.VLLM,
            CONTEXT.modelName(),
            CONTEXT.loraName(),
            CONTEXT.tenantId(),
            instance,
            CONTEXT.blockSize(),
            0,
            null,
            PROFILE));
    return this;
  }

  void unregister() {
    conductor.unregister(new PublisherKey(instance, CONTEXT.tenantId(), 0));
  }

  StreamStatus status() {
    return conductor.statuses().stream()
        .filter(s -> s.publisher().instanceId().equals(instance))
        .map(PublisherStatus::stream)
        .findFirst()
        .orElseThrow();
  }

  EventCounts counts() {
    return status().counts();
  }

  boolean isLive() {
    return status().state() == Subscription.State.LIVE;
  }

  boolean isMarked() {
    StreamStatus status = status();
    return status.partialSince() >= 0
        || status.suspect()
        || status.state() != Subscription.State.LIVE;
  }

  private TierTokens tokens(long key) {
    var hit = conductor.query(new HashQuery(CONTEXT, new long[] {key}, instance)).instances();
    return hit.get(instance).best();
  }

  boolean claims(Block block) {
    TierTokens tokens = tokens(block.key());
    return block.onDevice() ? tokens.device() > 0 : tokens.device() == 0 && tokens.cpuLocal() > 0;
  }

  /** What is claimed: of a block in both memories only the faster. */
  private Set<Block> claimed() {
    Set<Long> keys = new HashSet<>();
    engine.history().all().forEach(b -> keys.add(b.key()));
    Set<Block> claimed = new HashSet<>();
    for (long key : keys) {
      TierTokens tokens = tokens(key);
      if (tokens.disk() > 0) {
        claimed.add(new Block(key, tokens.device() > 0));
      }
    }
    return claimed;
  }

  boolean claimsNothing() {
    return claimed().isEmpty();
  }

  /** Whether the answer is what the engine has. */
  boolean agrees() {
    History history = engine.history();
    Set<Block> visible = new HashSet<>(history.held());
    visible.removeIf(b -> !b.onDevice() && history.held().contains(new Block(b.key(), true)));
    return claimed().equals(visible);
  }

  /** Serves the engine, and looks for false claims. */
  void check() {
    engine.serve();
    History history = engine.history();
    // The last one that was counted may be in work still.
    history.heard(counts().messages() - 1);
    Set<Block> markers = claimed();
    markers.forEach(history::claimed);
    if (strict) {
      for (Block block : claimed()) {
        String refutation = history.refute(block);
        if (refutation != null) {
          throw new AssertionError("false claim: " + refutation + "; " + this);
        }
      }
    }
  }

  /** Waits for something, and looks for false claims meanwhile. */
  void await(String what, BooleanSupplier condition) {
    await(
        () -> what + "; " + this,
        () -> {
          check();
          return condition.getAsBoolean();
        });
  }

  static void await(Supplier<String> what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("in vain waited for " + what.get());
      }
      try {
        TimeUnit.MILLISECONDS.sleep(1);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AssertionError("interrupted", e);
      }
    }
  }

  /** Waits until all that was sent has been received, if it is known what will arrive. */
  boolean awaitReceived() {
    History history = engine.history();
    if (!history.isCertain()) {
      return false;
    }
    await("all to be received", () -> counts().messages() == history.sent());
    return true;
  }

  /** Waits until the answer is what the engine has. */
  void awaitAgreement() {
    await("agreement", () -> isLive() && agrees());
  }

  /**
   * Waits until all is known that can be known, or the engine is marked.
   *
   * @param lastIsKnown whether its last batch at least must become known
   */
  void awaitRest(boolean lastIsKnown) {
    Block last = new Block(engine.history().nextMarker().key() - 1, true);
    long enough = counts().replays() + ENOUGH_REPLAYS;
    await(
        "rest",
        () ->
            (isLive() && claims(last) && (agrees() || isMarked()))
                || (!lastIsKnown
                    && isMarked()
                    && (!engine.replays() || counts().replays() >= enough)));
  }

  @Override
  public String toString() {
    StreamStatus status = status();
    EventCounts counts = status.counts();
    History history = engine.history();
    Set<Block> surplus = claimed();
    surplus.removeAll(history.held());
    return ("%s %s last=%d partial=%d suspect=%b messages=%d of %d dup=%d gaps=%d missing=%d"
            + " replays=%d replayed=%d losses=%d restarts=%d requests=%d next=%d claims=%d"
            + " held=%d surplus=%s")
        .formatted(
            instance,
            status.state(),
            status.lastSequence(),
            status.partialSince(),
            status.suspect(),
            counts.messages(),
            history.sent(),
            counts.duplicates(),
            counts.gaps(),
            counts.missing(),
            counts.replays(),
            counts.replayed(),
            counts.losses(),
            counts.restarts(),
            engine.requests(),
            engine.next(),
            claimed().size(),
            history.held().size(),
            surplus);
  }
}
