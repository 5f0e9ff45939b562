package baton.faults;

import static org.assertj.core.api.Assertions.assertThat;

import baton.conductor.Conductor;
import baton.faults.FaultyEngine.Answers;
import baton.hash.HashProfile;
import baton.publisher.EngineSink;
import baton.publisher.EventCounts;
import baton.publisher.Medium;
import baton.publisher.PublisherType;
import baton.publisher.Receivers;
import baton.publisher.RecoverySettings;
import baton.publisher.Refusal;
import baton.publisher.Subscription;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.zeromq.ZContext;

/** What others met, and what must not happen: one engine, or many, and one fault each. */
class RecoveryCasesTest {
  private static final Logger LOG = Logger.getLogger("baton");

  /** A stalled subscriber's seconds; more: {@code -DargLine=-Dbaton.fault-stall-s=10}. */
  private static final int STALL_S = Integer.getInteger("baton.fault-stall-s", 3);

  /** An engine and a network that have a bad day, but nobody hurries. */
  private static final RecoverySettings PATIENT =
      new RecoverySettings(5_000, 20_000, 100_000, 1 << 26, 1 << 28, false, 200, 0);

  private final ZContext context = new ZContext();
  private final List<FaultyEngine> engines = new ArrayList<>();
  private final List<Conductor> conductors = new ArrayList<>();

  @BeforeAll
  static void quiet() {
    LOG.setLevel(Level.SEVERE);
  }

  @AfterAll
  static void loud() {
    LOG.setLevel(null);
  }

  @AfterEach
  void close() {
    conductors.forEach(Conductor::close);
    engines.forEach(FaultyEngine::close);
    context.close();
  }

  private FaultyEngine engine(boolean replays) {
    FaultyEngine engine = new FaultyEngine(context, new Random(engines.size()), replays);
    engines.add(engine);
    return engine;
  }

  private Conductor conductor(RecoverySettings recovery) {
    Conductor conductor = Witness.conductor(2, 300, recovery);
    conductors.add(conductor);
    return conductor;
  }

  /** Registered with a conductor of its own, and connected. */
  private Witness follow(FaultyEngine engine, RecoverySettings recovery) {
    Witness witness = new Witness(conductor(recovery), engine, "e", !recovery.keepOnLoss());
    witness.register();
    engine.awaitSubscriber();
    witness.await("live", witness::isLive);
    return witness;
  }

  private Witness follow(FaultyEngine engine) {
    return follow(engine, Witness.RECOVERY);
  }

  private static void assertComplete(Witness witness) {
    assertThat(witness.isMarked()).as(witness.toString()).isFalse();
    assertThat(witness.counts().losses()).as(witness.toString()).isZero();
  }

  private static double secondsSince(long nanos) {
    return (System.nanoTime() - nanos) / 1e9;
  }

  /** Cases 21 and 22. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void engine_startedAgainEmpty_hasNoOldBlocksAfterItsFirstMessage(boolean replays) {
    FaultyEngine engine = engine(replays);
    Witness witness = follow(engine);
    engine.publish(10);
    witness.awaitAgreement();

    engine.kill(witness.awaitReceived());
    engine.start();
    engine.awaitSubscriber();
    long first = System.nanoTime();
    engine.publish();
    witness.awaitAgreement();

    assertThat(secondsSince(first)).isLessThan(1);
    assertThat(witness.counts().restarts()).isEqualTo(1);
    assertComplete(witness);
  }

  /** It had counted to 9 before. */
  @ParameterizedTest
  @CsvSource({"true,5", "true,10", "true,12", "false,5", "false,10", "false,12"})
  void engine_startedAgain_unheardForAWhile_isNotTakenForTheOldOne(boolean replays, int unheard) {
    FaultyEngine engine = engine(replays);
    Witness witness = follow(engine);
    engine.publish(10);
    witness.awaitAgreement();

    engine.kill(witness.awaitReceived());
    engine.lose(unheard);
    engine.start();
    engine.awaitSubscriber();
    engine.publish();
    witness.awaitRest(true);

    if (replays) {
      witness.awaitAgreement();
      assertComplete(witness);
      assertThat(witness.counts().restarts()).isEqualTo(1);
    } else {
      assertThat(witness.status().partialSince()).isEqualTo(unheard);
    }
  }

  /** Case 24. */
  @Test
  void engine_firstHeardLate_isAskedForItsBeginning() {
    FaultyEngine engine = engine(true);
    engine.lose(57);
    Witness witness = follow(engine);
    engine.publish();
    witness.awaitAgreement();
    assertComplete(witness);
    assertThat(witness.status().lastSequence()).isEqualTo(57);
  }

  /** Case 24. */
  @Test
  void engine_thatHasForgottenItsBeginning_isPartial() {
    FaultyEngine engine = engine(true);
    engine.lose(57);
    engine.evictBefore(40);
    Witness witness = follow(engine);
    engine.publish();
    witness.awaitRest(true);
    assertThat(witness.status().partialSince()).isEqualTo(40);
  }

  /** Cases 26 and 30. */
  @Test
  void gap_isFilledInOneRecovery_andNumbersNeverGoBack() {
    FaultyEngine engine = engine(true);
    Witness witness = follow(engine);
    engine.publish(6);
    witness.awaitAgreement();
    engine.lose(3);
    engine.publish();
    witness.awaitAgreement();
    engine.publish();
    witness.awaitAgreement();

    assertThat(witness.status().lastSequence()).isEqualTo(10);
    assertThat(witness.counts().gaps()).isEqualTo(1);
    assertThat(witness.counts().missing()).isEqualTo(3);
    assertThat(witness.counts().replayed()).isEqualTo(4);
    assertComplete(witness);
  }

  /** Case 29. */
  @Test
  void slowReplay_amidManyLiveMessages_losesNone() {
    FaultyEngine engine = engine(true);
    Witness witness = follow(engine, PATIENT);
    engine.publish(10);
    witness.awaitAgreement();
    engine.answer(Answers.SLOW);
    engine.lose(30);
    for (int i = 0; i < 200; i++) {
      engine.publish(100);
      engine.serve();
    }
    engine.await("the end", () -> witness.status().lastSequence() == 20_039 && witness.isLive());
    witness.awaitAgreement();

    assertThat(witness.counts().gaps()).isEqualTo(1);
    assertThat(witness.counts().messages()).isEqualTo(20_010);
    assertComplete(witness);
  }

  /** Case 31. */
  @Test
  void gap_thatCannotBeFilled_isCountedAndShown() {
    FaultyEngine engine = engine(false);
    Witness witness = follow(engine);
    engine.publish(11);
    witness.awaitAgreement();
    engine.lose(2);
    engine.publish();
    witness.awaitRest(true);

    assertThat(witness.counts().gaps()).isEqualTo(1);
    assertThat(witness.counts().missing()).isEqualTo(2);
    assertThat(witness.counts().losses()).isEqualTo(1);
    assertThat(witness.status().partialSince()).isEqualTo(13);
  }

  /** Case 33. */
  @Test
  void message_sentBeforeTheSubscriptionArrives_isRecovered() {
    FaultyEngine engine = engine(true);
    Witness witness = new Witness(conductor(Witness.RECOVERY), engine, "e", true).register();
    engine.publish();
    witness.await("the first one", () -> witness.isLive() && witness.agrees());
    witness.await("its number", () -> witness.status().lastSequence() == 0);
    assertComplete(witness);
  }

  /** Case 35. */
  @Test
  void burst_thatOverflowsTheEnginesQueue_isRecovered() {
    FaultyEngine engine = engine(true);
    engine.sendHighWaterMark(10);
    Witness witness = follow(engine, PATIENT);
    engine.history().uncertain();
    engine.publish(2_000);
    engine.await("the end", () -> witness.status().lastSequence() == 1_999 && witness.isLive());
    witness.awaitAgreement();

    assertThat(witness.counts().messages()).isLessThan(2_000);
    assertComplete(witness);
  }

  /** Has what a stream says, and can be held up by it. */
  private static final class StallingSink implements EngineSink {
    private final Set<Block> blocks = new HashSet<>();
    private volatile CountDownLatch stall = new CountDownLatch(0);

    @Override
    public int stored(Medium medium, long[] keys, int count) {
      try {
        stall.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      synchronized (this) {
        for (int i = 0; i < count; i++) {
          blocks.add(new Block(keys[i], medium == Medium.DEVICE));
        }
      }
      return 0;
    }

    @Override
    public synchronized void removed(Medium medium, long[] keys, int count) {
      for (int i = 0; i < count; i++) {
        blocks.remove(new Block(keys[i], medium == Medium.DEVICE));
      }
    }

    @Override
    public synchronized void cleared(Medium medium) {
      blocks.clear();
    }

    @Override
    public synchronized void retract() {
      blocks.clear();
    }

    @Override
    public void hide() {}

    @Override
    public void show() {}

    synchronized boolean has(Set<Block> all) {
      return blocks.equals(all);
    }
  }

  /** Case 38. */
  @Test
  void subscriber_thatStandsStillUnderLoad_catchesUp() throws Exception {
    FaultyEngine engine = engine(true);
    engine.sendHighWaterMark(100);
    StallingSink sink = new StallingSink();
    var settings = new Receivers.Settings(1, 1, 10, 100, 1 << 20, PATIENT);
    try (Receivers receivers = new Receivers(settings)) {
      Subscription subscription =
          receivers.followEngine(
              "e",
              engine.endpoint(),
              engine.replayEndpoint(),
              PublisherType.VLLM,
              Batch.BLOCK_SIZE,
              "",
              0,
              new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be"),
              sink);
      engine.awaitSubscriber();
      engine.publish();
      engine.await("the first one", () -> sink.has(engine.history().held()));

      sink.stall = new CountDownLatch(1);
      long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(STALL_S);
      engine.await(
          "time",
          () -> {
            if (engine.next() < 30_000) {
              engine.publish(50);
            }
            return System.nanoTime() - until > 0;
          });
      sink.stall.countDown();

      engine.await("all that was missed", () -> sink.has(engine.history().held()));
      assertThat(subscription.lastSequence()).isEqualTo(engine.next() - 1);
      EventCounts counts = subscription.status().counts();
      assertThat(counts.messages()).isLessThan(engine.next());
      assertThat(counts.losses()).isZero();
    }
  }

  /** Case 40. */
  @Test
  void message_thatComesLate_changesNothing() {
    FaultyEngine engine = engine(true);
    Witness witness = follow(engine);
    engine.publish(21);
    witness.awaitAgreement();
    engine.repeat(18);
    witness.await("the late one", () -> witness.counts().duplicates() == 1);
    assertThat(witness.agrees()).isTrue();
    assertThat(witness.status().lastSequence()).isEqualTo(20);
    assertThat(witness.counts().restarts()).isZero();
    assertComplete(witness);
  }

  @Test
  void engine_withALongPast_isSoonKnown() {
    FaultyEngine engine = engine(true);
    engine.lose(9_000);
    Witness witness = new Witness(conductor(PATIENT), engine, "e", true);
    long start = System.nanoTime();
    witness.register();
    engine.await("its past", () -> witness.status().lastSequence() == 8_999 && witness.isLive());
    // Two seconds, on a machine that has nothing else to do.
    assertThat(secondsSince(start)).isLessThan(10);
    witness.awaitAgreement();
    assertComplete(witness);
  }

  @Test
  void twoHundredEngines_startedAgainAtOnce_areAllKnown() {
    Conductor conductor = conductor(PATIENT);
    List<Witness> witnesses = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      FaultyEngine engine = engine(true);
      engine.lose(5);
      witnesses.add(new Witness(conductor, engine, "e" + i, true).register());
    }
    awaitAll(witnesses);
    engines.forEach(
        engine -> {
          engine.kill(false);
          engine.lose(5);
          engine.start();
        });
    Witness.await(
        () -> "all to be connected",
        () -> {
          engines.forEach(FaultyEngine::serve);
          return engines.stream().allMatch(e -> e.subscribers() > 0);
        });
    engines.forEach(FaultyEngine::publish);
    awaitAll(witnesses);
    witnesses.forEach(RecoveryCasesTest::assertComplete);
    witnesses.forEach(w -> assertThat(w.counts().restarts()).isEqualTo(1));
  }

  private static void awaitAll(List<Witness> witnesses) {
    Witness.await(
        () -> "all to be known",
        () -> {
          witnesses.forEach(Witness::check);
          return witnesses.stream().allMatch(w -> w.isLive() && w.agrees());
        });
  }

  @Test
  void garbage_ofOneEngine_doesNotDisturbAnother() {
    // The same thread reads both.
    Conductor conductor = Witness.conductor(1, 4, Witness.RECOVERY);
    conductors.add(conductor);
    FaultyEngine mad = engine(true);
    FaultyEngine sane = engine(true);
    Witness ofMad = new Witness(conductor, mad, "mad", true).register();
    Witness ofSane = new Witness(conductor, sane, "sane", true).register();
    awaitAll(List.of(ofMad, ofSane));
    mad.awaitSubscriber();
    sane.awaitSubscriber();
    for (int i = 0; i < 300; i++) {
      for (int j = 0; j < 30; j++) {
        mad.sendGarbage();
      }
      mad.serve();
      sane.publish();
      ofSane.check();
    }
    ofSane.awaitAgreement();
    assertThat(ofSane.counts().messages()).isEqualTo(300);
    assertThat(ofSane.counts().gaps()).isZero();
    assertComplete(ofSane);

    mad.publish(3);
    ofMad.awaitRest(true);
    assertThat(ofMad.counts().refused(Refusal.BAD_FRAMES)).isPositive();
  }

  @Test
  void engine_lostForTooLong_hasNothing() {
    RecoverySettings recovery =
        new RecoverySettings(150, 600, 10_000, 1 << 24, 1 << 26, false, 200, 300);
    FaultyEngine engine = engine(true);
    Witness witness = follow(engine, recovery);
    engine.publish(10);
    witness.awaitAgreement();
    engine.breakConnections(witness.awaitReceived());
    witness.awaitAgreement();

    engine.kill(true);
    Witness.await(witness::toString, witness::claimsNothing);
    assertThat(witness.status().state()).isEqualTo(Subscription.State.LOST);

    engine.start();
    engine.publish(3);
    witness.awaitAgreement();
  }

  @Test
  void blocks_keptInSpiteOfALoss_areSuspect() {
    RecoverySettings recovery =
        new RecoverySettings(150, 600, 10_000, 1 << 24, 1 << 26, true, 200, 0);
    FaultyEngine engine = engine(false);
    Witness witness = follow(engine, recovery);
    engine.publish();
    witness.awaitAgreement();
    Set<Block> kept = Set.copyOf(engine.history().held());
    engine.lose();
    engine.publish();
    witness.await("the gap", () -> witness.status().suspect());
    witness.await("the last one", () -> witness.status().lastSequence() == 2);
    assertThat(witness.counts().losses()).isEqualTo(1);
    assertThat(kept).anyMatch(witness::claims);

    engine.clear();
    witness.await("all clear", () -> !witness.status().suspect());
    witness.awaitAgreement();
    assertThat(witness.isMarked()).isFalse();
  }

  @Test
  void tooMuch_receivedDuringARecovery_endsItWithALoss() {
    RecoverySettings recovery =
        new RecoverySettings(150, 20_000, 5, 1 << 24, 1 << 26, false, 200, 0);
    FaultyEngine engine = engine(true);
    Witness witness = follow(engine, recovery);
    engine.publish(3);
    witness.awaitAgreement();
    engine.answer(Answers.SILENT);
    engine.lose();
    engine.publish(20);
    witness.awaitRest(true);
    assertThat(witness.counts().losses()).isPositive();
    assertThat(witness.status().partialSince()).isPositive();
    assertThat(witness.status().heldBytes()).isZero();

    engine.answer(Answers.PROMPT);
    engine.clear();
    witness.awaitAgreement();
    assertThat(witness.isMarked()).isFalse();
  }

  @Test
  void engine_thatAnswersTooLate_isCompleteInTheEnd() {
    FaultyEngine engine = engine(true);
    engine.answer(Answers.SILENT);
    engine.lose(5);
    Witness witness = follow(engine);
    assertThat(witness.counts().losses()).isEqualTo(1);
    assertThat(witness.isMarked()).isTrue();

    engine.answer(Answers.PROMPT);
    witness.awaitAgreement();
    assertThat(witness.isMarked()).isFalse();
  }

  /** Its answer is older than the first message, so it does not tell that anything is lost. */
  @Test
  void engine_askedBeforeItPublishes_isAskedAgain() {
    FaultyEngine engine = engine(true);
    engine.answer(Answers.SLOW);
    Witness witness = new Witness(conductor(PATIENT), engine, "e", true).register();
    engine.await("the question", () -> engine.requests() == 1 && engine.subscribers() > 0);
    engine.lose();
    engine.publish();
    witness.awaitAgreement();
    assertComplete(witness);
  }

  @Test
  void counts_addUpToWhatWasApplied() {
    FaultyEngine engine = engine(true);
    Witness witness = follow(engine, PATIENT);
    for (int i = 0; i < 30; i++) {
      engine.publish(3);
      engine.lose(i % 3);
      if (i % 5 == 0) {
        engine.repeatLast();
      }
      if (i % 7 == 0) {
        engine.sendFrames(0, new byte[3]);
      }
      if (i % 10 == 0) {
        witness.awaitAgreement();
        engine.breakConnections(witness.awaitReceived());
        engine.awaitSubscriber();
      }
    }
    engine.publish();
    witness.awaitAgreement();
    witness.awaitReceived();
    EventCounts counts = witness.counts();
    assertThat(
            counts.messages()
                + counts.replayed()
                - counts.duplicates()
                - counts.refused(Refusal.BAD_FRAMES))
        .as(witness.toString())
        .isEqualTo(engine.next());
    assertComplete(witness);
  }
}
