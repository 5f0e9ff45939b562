package baton.publisher;

import static org.assertj.core.api.Assertions.assertThat;

import baton.publisher.Sequence.Verdict;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SequenceTest {
  private final Sequence sequence = new Sequence();

  private void apply(long from, long to) {
    for (long number = from; number <= to; number++) {
      sequence.applied(number, digest(number));
    }
  }

  private static long digest(long number) {
    return number * 31 + 7;
  }

  @Test
  void fresh_beginsAtZero() {
    assertThat(sequence.hasBegun()).isFalse();
    assertThat(sequence.next()).isZero();
    assertThat(sequence.judge(0, 1)).isEqualTo(Verdict.NEXT);
    assertThat(sequence.judge(1, 1)).isEqualTo(Verdict.GAP);
  }

  @Test
  void number_isJudgedByItsDistance() {
    apply(0, 100);
    assertThat(sequence.judge(101, 0)).isEqualTo(Verdict.NEXT);
    assertThat(sequence.judge(102, 0)).isEqualTo(Verdict.GAP);
    assertThat(sequence.judge(100, digest(100))).isEqualTo(Verdict.OLD);
    assertThat(sequence.judge(37, digest(37))).isEqualTo(Verdict.OLD);
    assertThat(sequence.judge(36, digest(36))).isEqualTo(Verdict.CONTRADICTION);
  }

  @Test
  void otherWords_underAKnownNumber_contradict() {
    apply(0, 100);
    assertThat(sequence.judge(100, 0)).isEqualTo(Verdict.CONTRADICTION);
    assertThat(sequence.judge(37, 0)).isEqualTo(Verdict.CONTRADICTION);
    assertThat(sequence.contradicts(100, digest(100))).isFalse();
    assertThat(sequence.contradicts(101, 0)).isFalse();
  }

  @Test
  void skipped_numbersAreOld_andWhatWasSaidBeforeIsForgotten() {
    apply(0, 5);
    sequence.skipTo(10);
    assertThat(sequence.last()).isEqualTo(9);
    assertThat(sequence.judge(8, 1)).isEqualTo(Verdict.OLD);
    assertThat(sequence.judge(5, 0)).isEqualTo(Verdict.OLD);
  }

  @Test
  void greatestNumber_isNoEnd() {
    sequence.applied(Long.MAX_VALUE, 1);
    assertThat(sequence.judge(0, 1)).isEqualTo(Verdict.CONTRADICTION);
    assertThat(sequence.judge(Long.MAX_VALUE, 1)).isEqualTo(Verdict.OLD);
  }

  @Test
  void reset_knowsNothing() {
    apply(0, 5);
    sequence.reset();
    assertThat(sequence.hasBegun()).isFalse();
    assertThat(sequence.contradicts(5, 0)).isFalse();
  }

  @Test
  void digest_tellsPayloadsApart() {
    Set<Long> digests = new HashSet<>();
    for (int i = 0; i < 1000; i++) {
      digests.add(Sequence.digest(("payload " + i).getBytes(StandardCharsets.UTF_8)));
      digests.add(Sequence.digest(new byte[i]));
    }
    assertThat(digests).hasSize(2000);
  }
}
