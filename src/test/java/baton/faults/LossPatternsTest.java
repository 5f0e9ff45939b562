package baton.faults;

import static org.assertj.core.api.Assertions.assertThat;

import baton.conductor.Conductor;
import baton.publisher.RecoverySettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.zeromq.ZContext;

/** Every way to lose up to three of twelve messages. */
class LossPatternsTest {
  private static final int MESSAGES = 12;
  private static final int LOST = 3;
  private static final int AT_ONCE = 60;

  /** One thread serves many engines. */
  private static final RecoverySettings PATIENT =
      new RecoverySettings(5_000, 20_000, 10_000, 1 << 24, 1 << 26, false, 200, 0);

  private static final Logger LOG = Logger.getLogger("baton");

  @BeforeAll
  static void quiet() {
    LOG.setLevel(Level.SEVERE);
  }

  @AfterAll
  static void loud() {
    LOG.setLevel(null);
  }

  /** An engine, and what of its messages is lost. */
  private record Case(FaultyEngine engine, Witness witness, int lost) {
    boolean loses(int message) {
      return (lost >> message & 1) != 0;
    }

    void publish() {
      engine.awaitSubscriber();
      for (int i = 0; i < MESSAGES; i++) {
        if (loses(i)) {
          engine.lose();
        } else {
          engine.publish();
        }
      }
    }

    boolean losesTheLast() {
      return loses(MESSAGES - 1);
    }

    @Override
    public String toString() {
      return "lost " + Integer.toBinaryString(lost) + ", the first one rightmost: " + witness;
    }
  }

  private static List<Integer> patterns() {
    List<Integer> patterns = new ArrayList<>();
    for (int lost = 0; lost < 1 << MESSAGES; lost++) {
      if (Integer.bitCount(lost) <= LOST) {
        patterns.add(lost);
      }
    }
    return patterns;
  }

  @Test
  void patterns_areAll() {
    assertThat(patterns()).hasSize(1 + 12 + 66 + 220);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void everyLoss_isMadeGood_orSeen(boolean replays) {
    List<Integer> patterns = patterns();
    for (int from = 0; from < patterns.size(); from += AT_ONCE) {
      run(patterns.subList(from, Math.min(patterns.size(), from + AT_ONCE)), replays);
    }
  }

  private static void run(List<Integer> patterns, boolean replays) {
    List<Case> cases = new ArrayList<>();
    try (ZContext context = new ZContext();
        Conductor conductor = Witness.conductor(2, AT_ONCE, PATIENT)) {
      for (int lost : patterns) {
        FaultyEngine engine = new FaultyEngine(context, new Random(lost), replays);
        Witness witness = new Witness(conductor, engine, "lost-" + lost, true).register();
        cases.add(new Case(engine, witness, lost));
      }
      Witness.await(() -> "subscribers", () -> serveAll(cases));
      cases.forEach(Case::publish);
      List<Case> unsettled = new ArrayList<>(cases);
      Witness.await(
          () -> "all to be known: " + unsettled,
          () -> {
            cases.forEach(c -> c.engine().serve());
            unsettled.forEach(c -> c.witness().check());
            unsettled.removeIf(c -> replays ? isKnown(c) : isKnownOrSeen(c));
            return unsettled.isEmpty();
          });
    }
  }

  private static boolean serveAll(List<Case> cases) {
    cases.forEach(c -> c.engine().serve());
    return cases.stream().allMatch(c -> c.engine().subscribers() > 0);
  }

  private static boolean isKnown(Case c) {
    Witness witness = c.witness();
    return witness.isLive() && witness.agrees() && !witness.isMarked();
  }

  /** Who cannot ask knows nothing of a loss until something comes after it. */
  private static boolean isKnownOrSeen(Case c) {
    Witness witness = c.witness();
    long arrived = MESSAGES - Integer.bitCount(c.lost());
    return witness.isLive()
        && witness.counts().messages() == arrived
        && (witness.agrees() || witness.isMarked() || c.losesTheLast());
  }
}
