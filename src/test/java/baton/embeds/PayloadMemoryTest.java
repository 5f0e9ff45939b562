package baton.embeds;

import static org.assertj.core.api.Assertions.assertThat;

import baton.embeds.PayloadMemory.Run;
import org.junit.jupiter.api.Test;

/** Memory that is given back is taken again before any other: what was written in it is found. */
class PayloadMemoryTest {
  private static final int SLAB = 16 << 20;

  private final PayloadMemory memory = new PayloadMemory();

  private Run marked(int bytes, int mark) {
    Run run = memory.allocate(bytes);
    run.slice(0, 4).putInt(mark);
    return run;
  }

  private void free(Run... runs) {
    memory.free(runs);
  }

  private int nextMark() {
    return memory.allocate(1).slice(0, 4).getInt();
  }

  @Test
  void newMemory_isZero() {
    assertThat(nextMark()).isZero();
  }

  @Test
  void freedRun_inAnEarlierSlab_isTakenBeforeTheLaterOnes() {
    Run first = marked(SLAB, 1);
    marked(SLAB, 2);
    marked(1, 3);

    free(first);

    assertThat(nextMark()).isEqualTo(1);
  }

  @Test
  void freedRuns_inSeveralSlabs_areTakenFromTheFirstOn() {
    Run first = marked(SLAB, 1);
    Run second = marked(SLAB, 2);
    marked(1, 3);
    free(second, first);

    assertThat(memory.allocate(SLAB).slice(0, 4).getInt()).isEqualTo(1);
    assertThat(nextMark()).isEqualTo(2);
  }

  @Test
  void endOfAShortenedRun_isTakenNext() {
    Run run = memory.allocate(3 * PayloadMemory.UNIT);
    run.slice(PayloadMemory.UNIT, 4).putInt(7);
    memory.allocate(1);

    memory.shorten(run, PayloadMemory.UNIT);

    assertThat(nextMark()).isEqualTo(7);
  }

  @Test
  void run_isNoLongerThanASlab() {
    assertThat(memory.allocate(3L * SLAB).bytes()).isEqualTo(SLAB);
  }

  @Test
  void trim_forgetsTheEmptySlabsAtTheEnd() {
    Run last = marked(SLAB, 1);
    free(last);

    memory.trim();

    assertThat(nextMark()).isZero();
  }

  @Test
  void trim_keepsASlabOfWhichSomethingIsTaken() {
    Run freed = marked(1, 1);
    marked(1, 2);
    free(freed);

    memory.trim();

    assertThat(nextMark()).isEqualTo(1);
  }

  @Test
  void trim_keepsAnEmptySlabBeforeOneOfWhichSomethingIsTaken() {
    Run first = marked(SLAB, 1);
    marked(1, 2);
    free(first);

    memory.trim();

    assertThat(nextMark()).isEqualTo(1);
  }
}
