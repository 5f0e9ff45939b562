package baton.embeds;

import static org.assertj.core.api.Assertions.assertThat;

import baton.embeds.PayloadMemory.Run;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;

/** Whatever is taken and given back, no unit is in two runs, and all are counted. */
class PayloadMemoryPropertyTest {
  private static final int UNIT = PayloadMemory.UNIT;

  /** A run that is marked with its own number at both ends of each unit. */
  private static final class Marked {
    final Run run;
    final int mark;

    Marked(Run run, int mark) {
      this.run = run;
      this.mark = mark;
      for (int at = 0; at < run.bytes(); at += UNIT) {
        run.slice(at, UNIT).putInt(0, mark).putInt(UNIT - 4, mark);
      }
    }

    void requireIntact() {
      for (int at = 0; at < run.bytes(); at += UNIT) {
        ByteBuffer unit = run.slice(at, UNIT);
        assertThat(unit.getInt(0)).isEqualTo(mark);
        assertThat(unit.getInt(UNIT - 4)).isEqualTo(mark);
      }
    }
  }

  @Property(tries = 30, shrinking = ShrinkingMode.OFF)
  void anyRuns_overlapNoOther_andAreCounted(@ForAll long seed) {
    Random random = new Random(seed);
    PayloadMemory memory = new PayloadMemory();
    List<Marked> taken = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      int dice = random.nextInt(20);
      if (dice < 9 || taken.isEmpty()) {
        int bytes = 1 + random.nextInt(1 << 4 + random.nextInt(19));
        Run run = memory.allocate(bytes);
        assertThat(run.bytes())
            .isBetween(UNIT, (int) Payloads.units(bytes))
            .matches(b -> b % UNIT == 0, "whole units");
        taken.add(new Marked(run, i));
      } else if (dice < 15) {
        Marked freed = taken.remove(random.nextInt(taken.size()));
        freed.requireIntact();
        memory.free(new Run[] {freed.run});
      } else if (dice < 19) {
        Marked longer = taken.remove(random.nextInt(taken.size()));
        longer.requireIntact();
        int bytes = 1 + random.nextInt(longer.run.bytes());
        Run shorter = memory.shorten(longer.run, bytes);
        assertThat(shorter.bytes()).isEqualTo((int) Payloads.units(bytes));
        assertThat(shorter.slice(0, 4).getInt()).isEqualTo(longer.mark);
        taken.add(new Marked(shorter, i));
      } else {
        memory.trim();
      }
      assertThat(memory.used()).isEqualTo(taken.stream().mapToLong(m -> m.run.bytes()).sum());
    }
    taken.forEach(Marked::requireIntact);
    memory.free(taken.stream().map(m -> m.run).toArray(Run[]::new));
    assertThat(memory.used()).isZero();
  }

  /** A first fit has no holes that it does not fill. */
  @Property(tries = 30, shrinking = ShrinkingMode.OFF)
  void freedUnits_ofAnyPattern_areAllTakenBeforeNewOnes(@ForAll long seed) {
    Random random = new Random(seed);
    PayloadMemory memory = new PayloadMemory();
    List<Run> runs = new ArrayList<>();
    for (int i = 0; i < 2000; i++) {
      runs.add(memory.allocate(1 + random.nextInt(6 * UNIT)));
    }
    ByteBuffer last = runs.get(runs.size() - 1).slice(0, 1);
    last.put(0, (byte) 7);
    long holes = 0;
    for (int i = runs.size() - 2; i >= 0; i--) {
      if (random.nextBoolean()) {
        Run freed = runs.remove(i);
        holes += freed.bytes();
        memory.free(new Run[] {freed});
      }
    }

    long before = memory.used();
    while (holes > 0) {
      Run run = memory.allocate(holes);
      assertThat(run.bytes()).isLessThanOrEqualTo((int) holes);
      run.slice(0, run.bytes()).put(new byte[run.bytes()]);
      before += run.bytes();
      holes -= run.bytes();
    }

    assertThat(memory.used()).isEqualTo(before);
    assertThat(last.get(0)).isEqualTo((byte) 7);
  }
}
