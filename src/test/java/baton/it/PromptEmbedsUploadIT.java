package baton.it;

import static baton.it.Embeds.CAPACITY;
import static baton.it.Embeds.LONGEST;
import static baton.it.Embeds.MIB;
import static baton.it.Embeds.OVERHEAD;
import static baton.it.Embeds.assertHeld;
import static baton.it.Embeds.assertMiss;
import static baton.it.Embeds.assertNotStored;
import static baton.it.Embeds.assertRefused;
import static baton.it.Embeds.assertStored;
import static baton.it.Embeds.assertUsable;
import static baton.it.Embeds.payload;
import static baton.it.Embeds.stats;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import baton.it.Embeds.Stats;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Payloads on their way in: empty, too long, cut off, or not what they should be. */
@QuarkusIntegrationTest
class PromptEmbedsUploadIT {
  private static final String CHUNKED = "Transfer-Encoding: chunked";
  private static final String EXPECT = "Expect: 100-continue";

  /** Held under {@code k} all the time, whatever becomes of its would-be successors. */
  private static final byte[] OLD = "old".getBytes(StandardCharsets.US_ASCII);

  private static final Stats ONLY_OLD = new Stats(CAPACITY, 1, 0, 0, 0, OLD.length + OVERHEAD, 0.0);
  private static final Stats ONE_REJECTED =
      new Stats(CAPACITY, 1, 0, 0, 1, OLD.length + OVERHEAD, 0.0);

  @BeforeEach
  void putOld() {
    assertStored(Embeds.put("k", OLD));
  }

  @AfterEach
  void settle() {
    Embeds.settle();
  }

  /** Nothing but {@link #OLD} takes memory, and nobody's payload is on its way. */
  private static void awaitOnlyOld(Stats stats) {
    Embeds.awaitMemory(Embeds.UNIT);
    assertThat(stats()).isEqualTo(stats);
    assertHeld("k", OLD);
  }

  // Empty

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Content-Length: 0\n\n",
        "Transfer-Encoding: chunked\n\n0\n\n",
        "X: no body\n\n",
        "Content-Length: 0\nExpect: 100-continue\n\n"
      })
  void put_empty_isNotStoredAndChangesNothing(String rest) throws IOException {
    try (Wire wire = new Wire()) {
      wire.text("PUT /prompt_embeds/k HTTP/1.1\nHost: baton\n" + rest);
      if (rest.contains("Expect")) {
        assertThat(wire.head().status()).isEqualTo(100);
      }
      assertNotStored(wire.reply(), "empty");
      assertUsable(wire);
    }
    awaitOnlyOld(ONLY_OLD);
  }

  // Too long

  @Test
  void put_announcedTooLong_isAnsweredAtOnceAndTheConnectionGoesOn() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", LONGEST + 1));
      assertNotStored(wire.reply(), "oversize");
      awaitOnlyOld(ONE_REJECTED);
      wire.filler(LONGEST + 1);
      assertUsable(wire);
    }
    assertThat(stats().oversize()).isEqualTo(1);
  }

  @Test
  void put_announcedEndless_isAnsweredAndInTheEndCutOff() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", 1L << 39));
      assertNotStored(wire.reply(), "oversize");
      assertThatThrownBy(() -> wire.filler(1L << 39)).isInstanceOf(IOException.class);
    }
    awaitOnlyOld(ONE_REJECTED);
  }

  @Test
  void put_chunkedTooLong_isAnsweredAtTheLimitAndTheConnectionGoesOn() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(Embeds.request("PUT", "k", CHUNKED));
      wire.chunkedFiller(LONGEST + 1);
      assertNotStored(wire.reply(), "oversize");
      awaitOnlyOld(ONE_REJECTED);
      wire.chunkedFiller(MIB);
      wire.text("0\n\n");
      assertUsable(wire);
    }
    assertThat(stats().oversize()).isEqualTo(1);
  }

  @Test
  void put_longestThereCanBe_isStored() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("long", LONGEST));
      wire.filler(LONGEST);
      assertStored(wire.reply());
      assertThat(stats()).isEqualTo(new Stats(CAPACITY, 1, 0, 0, 0, CAPACITY, 0.0));
      wire.text(Embeds.request("PUT", "long", CHUNKED));
      wire.chunkedFiller(LONGEST);
      wire.text("0\n\n");
      assertStored(wire.reply());
    }
    assertThat(stats()).isEqualTo(new Stats(CAPACITY, 1, 0, 0, 0, CAPACITY, 0.0));
    assertThat(Embeds.memory()).isEqualTo(LONGEST);
  }

  // Expect: 100-continue

  @Test
  void expect_canBeHeld_isAskedFor() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("new", 3, EXPECT));
      assertThat(wire.head().status()).isEqualTo(100);
      wire.text("abc");
      assertStored(wire.reply());
      assertUsable(wire);
    }
    assertHeld("new", "abc".getBytes(StandardCharsets.US_ASCII));
  }

  @Test
  void expect_cannotBeHeld_isAnsweredWithoutAsking() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", LONGEST + 1, EXPECT));
      assertNotStored(wire.reply(), "oversize");
    }
    awaitOnlyOld(ONE_REJECTED);
  }

  @Test
  void expect_refused_isAnsweredWithoutAsking() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("%00", 3, EXPECT));
      assertRefused(wire.reply(), 400, "invalid_value", "identifier");
    }
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", 3, EXPECT, "Content-Type: text/html"));
      assertRefused(wire.reply(), 415, "unsupported_content_type", null);
    }
    awaitOnlyOld(ONLY_OLD);
  }

  // In pieces

  @Test
  void put_manyTinyChunks_comesBackByteForByte() throws IOException {
    byte[] payload = payload(2000, 1);
    StringBuilder chunks = new StringBuilder();
    for (byte b : payload) {
      chunks.append("1\n").append((char) b).append('\n');
    }
    try (Wire wire = new Wire()) {
      wire.text(Embeds.request("PUT", "k", CHUNKED) + chunks + "0\nTrailer: x\n\n");
      assertStored(wire.reply());
      assertUsable(wire);
    }
    assertHeld("k", payload);
  }

  @Test
  void put_byteAfterByte_comesBackByteForByte() throws IOException {
    byte[] payload = payload(100, 1);
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", payload.length));
      for (byte b : payload) {
        wire.bytes(new byte[] {b});
      }
      assertStored(wire.reply());
    }
    assertHeld("k", payload);
  }

  // Cut off

  @ParameterizedTest
  @CsvSource({"true, true", "true, false", "false, true", "false, false"})
  void put_clientBreaksOff_storesNothingAndFreesMemory(boolean announced, boolean reset)
      throws IOException {
    int sent = 5 * MIB;
    try (Wire wire = new Wire()) {
      if (announced) {
        wire.text(Embeds.put("k", sent + 1));
        wire.filler(sent);
      } else {
        wire.text(Embeds.request("PUT", "k", CHUNKED));
        wire.chunkedFiller(sent);
      }
      Router.eventually(() -> assertThat(Embeds.memory()).isGreaterThan(sent));
      assertThat(Embeds.uploads()).isEqualTo(1);
      assertThat(Embeds.uploadBytes()).isEqualTo(announced ? sent + 1 : sent);
      assertThat(stats()).isEqualTo(ONLY_OLD);
      if (reset) {
        wire.reset();
      }
    }
    awaitOnlyOld(ONLY_OLD);
  }

  @Test
  void put_clientBreaksOffAfterTheReply_isStored() throws IOException {
    byte[] payload = payload(100_000, 1);
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", payload.length));
      wire.bytes(payload);
      assertThat(wire.head().status()).isEqualTo(200);
      wire.reset();
    }
    assertHeld("k", payload);
  }

  @Test
  void put_badChunk_storesNothing() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(Embeds.request("PUT", "k", CHUNKED) + "3\nabc\nzz\nabc\n0\n\n");
      wire.read(Integer.MAX_VALUE);
    }
    awaitOnlyOld(ONLY_OLD);
  }

  @Test
  void put_moreThanAnnounced_storesWhatWasAnnounced() throws IOException {
    byte[] payload = payload(1000, 1);
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", payload.length));
      wire.bytes(payload);
      wire.text("and more\n\n");
      assertStored(wire.reply());
      assertThat(wire.head().status()).as("of what is no request").isEqualTo(400);
    }
    assertHeld("k", payload);
    assertThat(stats().entries()).isEqualTo(1);
  }

  @Test
  void put_lengthAndChunked_isRefused() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", 3, CHUNKED) + "3\nabc\n0\n\n");
      assertThat(wire.reply().status()).isEqualTo(400);
    }
    awaitOnlyOld(ONLY_OLD);
  }

  // Not ASCII

  @ParameterizedTest
  @CsvSource({
    "1, 0",
    "8, 7",
    "9, 8",
    "1000, 0",
    "1000, 499",
    "1003, 1002",
    "5000000, 0",
    "5000000, 2500001",
    "5000000, 4999999"
  })
  void put_byteThatIsNotAscii_isRefusedAndTheConnectionGoesOn(int length, int position)
      throws IOException {
    byte[] payload = payload(length, 1);
    try (Wire wire = new Wire()) {
      for (int bad : new int[] {0x80, 0xFF}) {
        payload[position] = (byte) bad;
        wire.text(Embeds.put("k", length));
        wire.bytes(payload);
        assertRefused(wire.reply(), 400, "invalid_value", "body");
        assertUsable(wire);
        wire.text(Embeds.request("PUT", "k", CHUNKED) + Integer.toHexString(length) + "\n");
        wire.bytes(payload);
        wire.text("\n0\n\n");
        assertRefused(wire.reply(), 400, "invalid_value", "body");
        assertUsable(wire);
      }
    }
    awaitOnlyOld(ONLY_OLD);
  }

  @Test
  void put_notAsciiInALaterPiece_isRefusedBeforeTheRestCame() throws IOException {
    byte[] payload = payload(3 * MIB, 1);
    payload[2 * MIB] = (byte) 0xC3;
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", payload.length));
      wire.bytes(Arrays.copyOf(payload, 2 * MIB));
      Router.eventually(() -> assertThat(Embeds.memory()).isGreaterThan(2 * MIB));
      wire.bytes(Arrays.copyOfRange(payload, 2 * MIB, 2 * MIB + 1));
      assertRefused(wire.reply(), 400, "invalid_value", "body");
      awaitOnlyOld(ONLY_OLD);
      wire.bytes(Arrays.copyOfRange(payload, 2 * MIB + 1, payload.length));
      assertUsable(wire);
    }
    assertMiss(Embeds.get("other"));
  }
}
