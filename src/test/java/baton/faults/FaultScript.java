package baton.faults;

import baton.conductor.Conductor;
import baton.faults.FaultyEngine.Answers;
import baton.publisher.RecoverySettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.zeromq.ZContext;

/** Faults in a random order, which one number determines. */
final class FaultScript {
  private static final List<Answers> ALL = List.of(Answers.values());

  /** With these an engine says nothing false, so that its last batch is found in any case. */
  private static final List<Answers> LAME =
      List.of(Answers.SLOW, Answers.SILENT, Answers.NO_END, Answers.HOLES, Answers.LATE);

  private final long seed;
  private final Random random;
  private final List<String> steps = new ArrayList<>();

  FaultScript(long seed) {
    this.seed = seed;
    this.random = new Random(seed);
  }

  /** Fails with the seed and the steps so far. */
  void run() {
    boolean replays = random.nextInt(4) > 0;
    boolean keeps = random.nextInt(8) == 0;
    RecoverySettings r = Witness.RECOVERY;
    var recovery =
        new RecoverySettings(
            r.answerMs(),
            r.recoveryMs(),
            random.nextInt(4) == 0 ? 3 : r.maxHeldMessages(),
            r.maxHeldBytes(),
            r.maxTotalHeldBytes(),
            keeps,
            r.checkMs(),
            0);
    steps.add((replays ? "with replay" : "without replay") + (keeps ? " keep" : "") + recovery);
    try (ZContext context = new ZContext();
        Conductor conductor = Witness.conductor(1, 4, recovery);
        FaultyEngine engine = new FaultyEngine(context, random, replays)) {
      run(engine, new Witness(conductor, engine, "e" + seed, !keeps));
    } catch (AssertionError | RuntimeException e) {
      throw new AssertionError("seed " + seed + ": " + e.getMessage() + "\n" + steps, e);
    }
  }

  private void run(FaultyEngine engine, Witness witness) {
    engine.lose(random.nextInt(6));
    witness.register();
    if (random.nextInt(4) > 0) {
      engine.awaitSubscriber();
    }
    int count = 10 + random.nextInt(16);
    for (int i = 0; i < count; i++) {
      step(engine, witness);
      witness.check();
    }
    boolean lame = random.nextInt(5) == 0;
    Answers manner = lame ? LAME.get(random.nextInt(LAME.size())) : Answers.PROMPT;
    engine.answer(manner);
    boolean last = lame || !engine.replays() || engine.next() == 0 || random.nextBoolean();
    steps.add("end " + manner + (last ? " with a last one" : ""));
    if (last) {
      engine.awaitSubscriber();
      engine.publish();
    }
    // Whose replay never ends stays in doubt, and so does who cannot say that it sent garbage.
    boolean answers = engine.replays() && !lame;
    witness.awaitRest(answers || (manner != Answers.NO_END && !engine.hasSpoiltNumbers()));
  }

  private void step(FaultyEngine engine, Witness witness) {
    int n = 1 + random.nextInt(4);
    switch (random.nextInt(20)) {
      case 0, 1, 2, 3, 4 -> {
        steps.add("publish " + n);
        engine.publish(n);
      }
      case 5, 6 -> {
        steps.add("lose " + n);
        engine.lose(n);
      }
      case 7 -> {
        steps.add("swap");
        engine.swap();
      }
      case 8 -> {
        steps.add("repeat " + n);
        engine.repeat(engine.next() - n);
      }
      case 9 -> {
        steps.add("repeat early " + n);
        engine.repeat(n);
      }
      case 10 -> {
        steps.add("garbage");
        engine.sendGarbage();
      }
      case 11 -> {
        steps.add("evict");
        engine.evictBefore(engine.next() - random.nextInt(8));
      }
      case 12, 13 -> {
        Answers answers = ALL.get(random.nextInt(ALL.size()));
        steps.add("answer " + answers);
        engine.answer(answers);
      }
      case 14 -> {
        boolean received = engine.subscribers() > 0 && witness.awaitReceived();
        steps.add("receive " + received);
      }
      case 15 -> {
        steps.add("live");
        engine.awaitSubscriber();
        witness.await("live", witness::isLive);
      }
      case 16 -> restart(engine, witness);
      case 17 -> {
        boolean heard = isHeard(engine, witness);
        steps.add("break " + heard);
        engine.breakConnections(heard);
        if (random.nextBoolean()) {
          engine.awaitSubscriber();
        }
      }
      default -> {
        steps.add("look");
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(random.nextInt(60));
        witness.await("a while", () -> System.nanoTime() - until > 0);
      }
    }
  }

  private boolean isHeard(FaultyEngine engine, Witness witness) {
    return random.nextBoolean() && engine.subscribers() > 0 && witness.awaitReceived();
  }

  private void restart(FaultyEngine engine, Witness witness) {
    boolean heard = isHeard(engine, witness);
    long before = engine.next();
    engine.kill(heard);
    long unheard =
        switch (random.nextInt(6)) {
          case 0 -> 0;
          case 1 -> before - 1;
          case 2 -> before;
          case 3 -> before + 1;
          case 4 -> before + 3;
          default -> random.nextInt(4);
        };
    steps.add("restart " + heard + " unheard " + unheard + " after " + before);
    engine.lose((int) Math.max(0, unheard));
    engine.start();
    if (random.nextInt(3) > 0) {
      engine.awaitSubscriber();
    }
    engine.publish(random.nextInt(3));
  }
}
