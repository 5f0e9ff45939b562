package baton.publisher;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class HeldTest {
  private static final byte[] PAYLOAD = new byte[36];

  /** With what it costs besides. */
  private static final long BYTES = 100;

  private final AtomicLong total = new AtomicLong();

  private Held held(int messages, long bytes, long totalBytes) {
    return new Held(new Held.Limits(messages, bytes, totalBytes, total));
  }

  private static boolean add(Held held, long number) {
    return held.add(number, 0, PAYLOAD, null);
  }

  @Test
  void messages_comeInTheOrderInWhichTheyWereAdded() {
    Held held = held(10, 10 * BYTES, 10 * BYTES);
    add(held, 7);
    add(held, 5);
    assertThat(held.added()).isEqualTo(2);
    assertThat(held.highest()).isEqualTo(7);
    assertThat(held.poll().number()).isEqualTo(7);
    assertThat(held.first().number()).isEqualTo(5);
    assertThat(held.poll().order()).isEqualTo(1);
    assertThat(held.poll()).isNull();
    assertThat(held.added()).isEqualTo(2);
    assertThat(held.isEmpty()).isTrue();
  }

  @Test
  void limits_areOfMessagesAndOfBytes() {
    Held few = held(2, 10 * BYTES, 10 * BYTES);
    assertThat(add(few, 1) && add(few, 2)).isTrue();
    assertThat(add(few, 3)).isFalse();
    Held small = held(10, 2 * BYTES, 10 * BYTES);
    assertThat(add(small, 1) && add(small, 2)).isTrue();
    assertThat(add(small, 3)).isFalse();
    assertThat(small.bytes()).isEqualTo(2 * BYTES);
  }

  @Test
  void total_isShared() {
    Held one = held(10, 10 * BYTES, 3 * BYTES);
    Held other = held(10, 10 * BYTES, 3 * BYTES);
    assertThat(add(one, 1) && add(one, 2) && add(other, 1)).isTrue();
    assertThat(add(other, 2)).isFalse();
    assertThat(total).hasValue(3 * BYTES);

    one.putBack(one.poll());
    assertThat(total).hasValue(3 * BYTES);
    one.poll();
    assertThat(add(other, 2)).isTrue();
    one.clear();
    other.clear();
    assertThat(total).hasValue(0);
    assertThat(other.bytes()).isZero();
  }

  @Test
  void highest_isOfThoseSinceItWasEmpty() {
    Held held = held(10, 10 * BYTES, 10 * BYTES);
    add(held, 9);
    held.clear();
    add(held, 3);
    add(held, 2);
    assertThat(held.highest()).isEqualTo(3);
  }
}
