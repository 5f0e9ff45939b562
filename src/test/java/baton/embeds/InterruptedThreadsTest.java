package baton.embeds;

import static org.assertj.core.api.Assertions.assertThat;

import baton.embeds.PayloadMemory.Run;
import java.util.concurrent.FutureTask;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The JDK closes a file's channel when the thread that uses it is interrupted: that must not be the
 * end of the cache's memory.
 */
@Timeout(60)
class InterruptedThreadsTest {
  private static final int SLAB = 16 << 20;

  @Test
  void put_byAnInterruptedThread_storesAndLeavesItInterrupted() {
    PromptEmbedsCache cache = new PromptEmbedsCache(100L << 20);

    Thread.currentThread().interrupt();
    boolean stored = cache.put("a", Payloads.buffer(1, 1000), null);
    boolean interrupted = Thread.interrupted();

    assertThat(stored).isTrue();
    assertThat(interrupted).isTrue();
    assertThat(cache.put("b", Payloads.buffer(2, 2 * SLAB), null)).isTrue();
    assertThat(Payloads.read(cache, "a", null)).isEqualTo(Payloads.bytes(1, 1000));
    assertThat(Payloads.read(cache, "b", null)).isEqualTo(Payloads.bytes(2, 2 * SLAB));
  }

  @Test
  void memory_askedForWhileTheThreadIsBeingInterrupted_isGiven() throws Exception {
    PayloadMemory memory = new PayloadMemory();
    FutureTask<Long> taking =
        new FutureTask<>(
            () -> {
              for (int i = 0; i < 1000; i++) {
                Run run = memory.allocate(1);
                run.slice(0, 1).put((byte) i);
                memory.free(new Run[] {run});
                memory.trim();
              }
              return memory.used();
            });
    Thread thread = new Thread(taking);
    thread.start();
    while (thread.isAlive()) {
      thread.interrupt();
      LockSupport.parkNanos(1000);
    }

    assertThat(taking.get()).isZero();
    assertThat(memory.allocate(SLAB).bytes()).isEqualTo(SLAB);
  }
}
