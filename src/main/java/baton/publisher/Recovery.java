package baton.publisher;

import baton.publisher.Sequence.Verdict;
import java.util.concurrent.TimeUnit;
import zmq.io.Metadata;

/**
 * Asks an engine for what was missed, and holds back what comes in meanwhile. Used by the
 * receiver's thread.
 *
 * <p>Nothing is believed unless it fits: what is asked for begins with the last message that was
 * applied, and if the engine says something else under that number, or has never come so far, it is
 * another one, which has started since. A live message that was there before the question must be
 * in the answer, else it is another engine's too. What the engine no longer has is lost.
 *
 * <p>A quiet recovery only looks whether there is anything to recover; it does not stop the stream.
 */
final class Recovery {
  /**
   * An engine sends its answer in one go, and ZMQ drops what its queue has no room for, the end
   * mark included. So after a pause the rest is asked for again.
   */
  private static final int PAUSE_MS = 100;

  private enum Phase {
    /** Whatever came before the question has to be read first. */
    SETTLING,
    ASKING,
    /** All is there; what was held back is being applied. */
    CATCHING_UP
  }

  private final Subscription stream;
  private final RecoverySettings settings;
  private final Held held;
  private Phase phase = Phase.SETTLING;
  private boolean quiet;
  private boolean ended;

  /** How often the stream had been connected when this began, or began anew. */
  private int connections;

  /** A connection that another has followed: what is still to come of it has no value. */
  private Metadata stale;

  /** The connection of what is held. */
  private Metadata current;

  private long deadline;
  private Replay replay;
  private long progress;
  private long nextAsked;
  private long heldAsked;
  private boolean verified;

  /** Live messages were thrown away since it was asked; the answer may be older than they. */
  private boolean cleared;

  Recovery(Subscription stream, RecoverySettings settings, Held held, boolean quiet) {
    this.stream = stream;
    this.settings = settings;
    this.held = held;
    this.quiet = quiet;
  }

  /**
   * @param reconnected whether the stream's last message came on a connection that is over
   */
  void begin(boolean reconnected) {
    connections = stream.connections();
    stale = reconnected ? stream.connection() : null;
    beginCycle();
    tick();
  }

  private void beginCycle() {
    closeReplay();
    phase = Phase.SETTLING;
    deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(settings.recoveryMs());
    progress = System.nanoTime();
  }

  boolean isQuiet() {
    return quiet;
  }

  /** Takes a live message, to be applied when it is its turn. */
  void hold(long number, long digest, byte[] payload, Metadata from) {
    if (from == stale) {
      stream.counts().countDuplicate();
      return;
    }
    if (current != null && from != current) {
      startOver(current);
    }
    current = from;
    if (!held.add(number, digest, payload, from)) {
      if (!held.isEmpty() && number <= held.highest()) {
        stream.counts().countDuplicate();
        return;
      }
      // Without this one, what is held would be shown as if nothing newer had come.
      held.clear();
      held.add(number, digest, payload, from);
      giveUp("too much came in meanwhile");
    }
  }

  /** The stream has a connection again; this began before it. */
  void connected() {
    if (connections != stream.connections()) {
      startOver(current != null ? current : stream.connection());
      current = null;
    }
  }

  private void startOver(Metadata over) {
    stale = over;
    connections = stream.connections();
    while (!held.isEmpty()) {
      dropFirst();
    }
    beginCycle();
  }

  /** All that had come in when this began has been read. */
  void settled() {
    if (phase == Phase.SETTLING) {
      ask();
    }
  }

  private void ask() {
    closeReplay();
    phase = Phase.ASKING;
    Sequence sequence = stream.sequence();
    verified = !sequence.hasBegun();
    nextAsked = sequence.next();
    heldAsked = held.added();
    cleared = false;
    progress = System.nanoTime();
    stream.counts().countReplay();
    // Beginning with the last one that was applied, to see whether it is still the same engine.
    replay = stream.openReplay(Math.max(0, sequence.last()));
  }

  /**
   * Goes on with what has come.
   *
   * @return whether more may be waiting
   */
  boolean drain(int limit) {
    if (phase == Phase.CATCHING_UP) {
      return catchUp(2 * limit);
    }
    for (int i = 0; i < limit; i++) {
      Replay.Answer answer = phase == Phase.ASKING && replay != null ? replay.receive() : null;
      if (answer == null) {
        return phase == Phase.CATCHING_UP;
      }
      take(answer);
      if (ended) {
        return false;
      }
    }
    return true;
  }

  private void take(Replay.Answer answer) {
    if (answer.isMalformed()) {
      stream.refuse(Refusal.BAD_FRAMES);
      return;
    }
    progress = System.nanoTime();
    if (answer.isEnd()) {
      takeEnd();
    } else {
      takeMessage(answer.number(), answer.payload());
    }
  }

  private void takeMessage(long number, byte[] payload) {
    Sequence sequence = stream.sequence();
    long digest = Sequence.digest(payload);
    if (sequence.contradicts(number, digest)) {
      foundAnotherEngine();
      return;
    }
    if (number < sequence.next()) {
      verified |= number == sequence.last();
      return;
    }
    becomeLoud();
    if (!verified || number > sequence.next()) {
      if (verified && sequence.next() > nextAsked) {
        // The answer has lost some on its way; they may come when asked for again.
        ask();
        return;
      }
      stream.missed(number);
      verified = true;
    } else if (!sequence.hasBegun()) {
      stream.begin(number);
    }
    boolean joined = joins(number, digest);
    stream.counts().countReplayed();
    stream.apply(number, digest, payload);
    if (joined) {
      beginToCatchUp();
    }
  }

  /** Whether the live stream holds this message too, so that all that follows is there. */
  private boolean joins(long number, long digest) {
    while (!held.isEmpty() && held.first().number() < number) {
      dropFirst();
    }
    if (held.isEmpty() || held.first().number() > number) {
      return false;
    }
    if (held.first().digest() != digest) {
      held.clear();
      cleared = true;
      return false;
    }
    dropFirst();
    return true;
  }

  /** It has come by another way too, or is of no value any more. */
  private void dropFirst() {
    held.poll();
    stream.counts().countDuplicate();
  }

  private void takeEnd() {
    Sequence sequence = stream.sequence();
    if (!verified) {
      foundAnotherEngine();
      return;
    }
    if (cleared) {
      ask();
      return;
    }
    while (!held.isEmpty() && held.first().number() < sequence.next()) {
      dropFirst();
    }
    if (!held.isEmpty()
        && (held.first().number() > sequence.next() || held.first().order() < heldAsked)) {
      if (sequence.next() > nextAsked || held.first().order() >= heldAsked) {
        // Some got lost on their way, or were published after it had answered.
        ask();
        return;
      }
      // Published before it was asked, and yet unknown to the engine.
      while (!held.isEmpty() && held.first().order() < heldAsked) {
        held.poll();
      }
      stream.lost("the engine no longer has what is missing");
    }
    beginToCatchUp();
  }

  private void foundAnotherEngine() {
    becomeLoud();
    stream.restarted("it says something else than before under the same number");
    ask();
  }

  private void becomeLoud() {
    if (quiet) {
      quiet = false;
      stream.counts().countGap(0);
      stream.recovering();
    }
  }

  private void beginToCatchUp() {
    closeReplay();
    phase = Phase.CATCHING_UP;
    if (quiet || held.isEmpty()) {
      end();
    }
  }

  private boolean catchUp(int limit) {
    for (int i = 0; i < limit; i++) {
      Held.Message message = held.poll();
      if (message == null) {
        end();
        return false;
      }
      Verdict verdict = stream.sequence().judge(message.number(), message.digest());
      if (!stream.sequence().hasBegun()) {
        stream.begin(message.number());
        verdict = Verdict.NEXT;
      }
      switch (verdict) {
        case NEXT -> stream.apply(message.number(), message.digest(), message.payload());
        case OLD -> stream.counts().countDuplicate();
        case GAP -> {
          stream.gap(message.number());
          held.putBack(message);
          beginCycle();
          return true;
        }
        case CONTRADICTION -> {
          held.putBack(message);
          stream.restarted("its numbers start again");
          beginCycle();
          return true;
        }
      }
    }
    return true;
  }

  private void giveUp(String why) {
    stream.lost(why);
    beginToCatchUp();
  }

  private void end() {
    ended = true;
    closeReplay();
    stream.recovered(current, connections);
  }

  /** Ends it without a result. */
  void cancel() {
    ended = true;
    held.clear();
    closeReplay();
  }

  /** Looks at the clock, until this has ended. */
  private void tick() {
    if (ended) {
      return;
    }
    long now = System.nanoTime();
    if (phase != Phase.CATCHING_UP) {
      boolean silent = now - progress > TimeUnit.MILLISECONDS.toNanos(patienceMs());
      if (quiet && silent) {
        // Nothing says that anything is missing.
        end();
        return;
      }
      if (now > deadline) {
        giveUp("the engine did not answer in time");
        stream.wake();
      } else if (silent) {
        ask();
      }
    }
    int period = Math.min(settings.answerMs(), settings.recoveryMs()) / 4;
    stream.after(Math.max(1, Math.min(period, PAUSE_MS)), this::tick);
  }

  private int patienceMs() {
    boolean answering = phase == Phase.ASKING && stream.sequence().next() > nextAsked;
    return answering ? Math.min(PAUSE_MS, settings.answerMs()) : settings.answerMs();
  }

  private void closeReplay() {
    if (replay != null) {
      replay.close();
      replay = null;
    }
  }
}
