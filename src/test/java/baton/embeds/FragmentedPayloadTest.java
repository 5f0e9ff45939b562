package baton.embeds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import java.nio.ByteBuffer;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/**
 * A large payload that found no room but single units between others: looking for each piece from
 * the first run on took the one who sends it, a thread of many connections, some twenty seconds.
 */
class FragmentedPayloadTest {
  private static final int BYTES = 16 << 20;
  private static final int UNITS = BYTES / PayloadMemory.UNIT;

  @Test
  void payloadOfAHundredThousandRuns_readPieceByPiece_isReadAtOnce() {
    PromptEmbedsCache cache = new PromptEmbedsCache(1L << 30);
    ByteBuffer unit = ByteBuffer.allocate(PayloadMemory.UNIT);
    for (int i = 0; i < 2 * UNITS; i++) {
      cache.put("id-" + i, unit.clear(), null);
    }
    for (int i = 0; i < 2 * UNITS; i += 2) {
      cache.remove("id-" + i, null);
    }
    cache.put("large", Payloads.buffer(1, BYTES), null);

    byte[] back = assertTimeout(Duration.ofSeconds(5), () -> Payloads.read(cache, "large", null));

    assertThat(back).isEqualTo(Payloads.bytes(1, BYTES));
    try (Payload payload = cache.get("large", null)) {
      assertThat(payload.slice(PayloadMemory.UNIT, BYTES).remaining())
          .isEqualTo(PayloadMemory.UNIT);
    }
  }
}
