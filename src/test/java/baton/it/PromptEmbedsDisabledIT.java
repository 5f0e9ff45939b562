package baton.it;

import static baton.it.Embeds.assertMiss;
import static baton.it.Embeds.assertNotStored;
import static baton.it.Embeds.assertRefused;
import static baton.it.Embeds.assertUsable;
import static baton.it.Embeds.payload;
import static org.assertj.core.api.Assertions.assertThat;

import baton.it.Embeds.Stats;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import io.quarkus.test.junit.QuarkusTestProfile;
import io.quarkus.test.junit.TestProfile;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A cache of no size: a client always has to send its payloads along. */
@QuarkusIntegrationTest
@TestProfile(PromptEmbedsDisabledIT.NoCache.class)
class PromptEmbedsDisabledIT {
  /** The size that leaving the variable out is, too. */
  public static final class NoCache implements QuarkusTestProfile {
    @Override
    public Map<String, String> getConfigOverrides() {
      return Map.of("SG_PROMPT_EMBEDS_CACHE_GIB", "0");
    }
  }

  private static void assertRejections(long count) {
    assertThat(Embeds.stats()).isEqualTo(new Stats(0, 0, 0, 0, count, 0, 0.0));
  }

  @AfterEach
  void settle() {
    Embeds.settle();
  }

  @Test
  void put_announced_isAnsweredAtOnceAndCounts() throws IOException {
    assertNotStored(Embeds.put("k", payload(1, 1)), "disabled");
    assertRejections(1);
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", 1000));
      assertNotStored(wire.reply(), "disabled");
      wire.filler(1000);
      assertUsable(wire);
      wire.text(Embeds.put("k", 1000, "Expect: 100-continue"));
      assertNotStored(wire.reply(), "disabled");
    }
    assertRejections(3);
    assertMiss(Embeds.get("k"));
  }

  @Test
  void put_chunked_isAnsweredAtTheFirstByteAndCountsOnce() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(Embeds.request("PUT", "k", "Transfer-Encoding: chunked"));
      wire.chunkedFiller(1);
      assertNotStored(wire.reply(), "disabled");
      wire.chunkedFiller(1_000_000);
      wire.text("0\n\n");
      assertUsable(wire);
    }
    assertRejections(1);
  }

  @Test
  void put_empty_isEmptyAndCountsNothing() throws IOException {
    assertNotStored(Embeds.put("k", new byte[0]), "empty");
    try (Wire wire = new Wire()) {
      wire.text(Embeds.request("PUT", "k", "Transfer-Encoding: chunked") + "0\n\n");
      assertNotStored(wire.reply(), "empty");
    }
    assertRejections(0);
  }

  @Test
  void lookup_any_isAMissThatIsNotCounted() {
    assertMiss(Embeds.get("k"));
    assertThat(Embeds.head("k").status()).isEqualTo(404);
    assertThat(Embeds.delete("k").status()).isEqualTo(204);
    assertRejections(0);
  }

  @Test
  void canHold_any_isFalse() {
    for (long bytes : new long[] {0, 1, Embeds.LONGEST}) {
      assertThat(Embeds.canHold(bytes)).isFalse();
    }
  }

  @Test
  void names_bad_areRefusedAllTheSame() {
    assertRefused(Embeds.put("%00", payload(1, 1)), 400, "invalid_value", "identifier");
    assertRefused(Embeds.get("%00"), 400, "invalid_value", "identifier");
    assertRefused(
        Embeds.put("k", payload(1, 1), "X-Cache-Salt", "@"), 400, "invalid_value", "X-Cache-Salt");
    assertRejections(0);
  }

  @Test
  void meters_ofNoCache_areZero() {
    assertThat(Embeds.meter("capacity_bytes")).isZero();
    assertThat(Embeds.meter("size")).isZero();
    assertThat(Embeds.meter("gets_total", ",result=miss")).isZero();
  }
}
