package baton.it;

import static baton.it.Embeds.LONGEST;
import static baton.it.Embeds.MIB;
import static baton.it.Embeds.assertHeld;
import static baton.it.Embeds.assertNotStored;
import static baton.it.Embeds.assertRefused;
import static baton.it.Embeds.assertStored;
import static baton.it.Embeds.assertUsable;
import static baton.it.Embeds.payload;
import static org.assertj.core.api.Assertions.assertThat;

import baton.it.Api.Reply;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import io.quarkus.test.junit.QuarkusTestProfile;
import io.quarkus.test.junit.TestProfile;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How many payloads, and how many bytes of them, may be on their way in at the same time. */
@QuarkusIntegrationTest
@TestProfile(UploadLimitsIT.TwoOfOneMib.class)
class UploadLimitsIT {
  /** Two payloads, and one mebibyte of all of them. */
  public static final class TwoOfOneMib implements QuarkusTestProfile {
    @Override
    public Map<String, String> getConfigOverrides() {
      return Map.of(
          "baton.prompt-embeds.max-uploads", "2", "baton.prompt-embeds.max-upload-bytes", "" + MIB);
    }
  }

  private static final String CHUNKED = "Transfer-Encoding: chunked";

  /** After each test, as many and as long payloads as before are accepted. */
  @AfterEach
  void allIsAcceptedAgain() throws IOException {
    Embeds.settle();
    try (Wire one = held("one", MIB / 2);
        Wire two = held("two", MIB / 2)) {
      finish(one, MIB / 2);
      finish(two, MIB / 2);
    }
    assertStored(Embeds.put("alone", payload(3 * MIB, 1)));
    Embeds.settle();
  }

  /** An upload that has begun and sends nothing. */
  private static Wire held(String identifier, int length) throws IOException {
    long before = Embeds.uploads();
    Wire wire = new Wire();
    wire.text(Embeds.put(identifier, length));
    Router.eventually(() -> assertThat(Embeds.uploads()).isEqualTo(before + 1));
    return wire;
  }

  private static void finish(Wire upload, int length) throws IOException {
    upload.filler(length);
    assertStored(upload.reply());
  }

  private static void assertBusy(Reply reply) {
    assertRefused(reply, 429, "busy", null);
    assertThat(reply.header("Retry-After")).contains("1");
  }

  @Test
  void put_asManyAsMayAreOnTheirWay_isBusyUntilOneIsDone() throws IOException {
    try (Wire one = held("one", 10);
        Wire two = held("two", 10);
        Wire three = new Wire()) {
      three.text(Embeds.put("three", 10));
      assertBusy(three.reply());
      three.filler(10);
      assertUsable(three);
      three.text(Embeds.request("PUT", "three", CHUNKED));
      assertBusy(three.reply());
      three.text("3\nabc\n0\n\n");
      assertUsable(three);
      three.text(Embeds.put("three", 10, "Expect: 100-continue"));
      assertBusy(three.reply());
      three.filler(10);

      finish(one, 10);
      three.text(Embeds.put("three", 3) + "abc");
      assertStored(three.reply());
      finish(two, 10);
    }
    assertThat(Embeds.stats().entries()).isEqualTo(3);
    assertThat(Embeds.stats().oversize()).isZero();
  }

  @Test
  void put_whatTakesNoMemory_isNeverBusy() throws IOException {
    assertStored(Embeds.put("held", payload(100, 1)));
    try (Wire one = held("one", 10);
        Wire two = held("two", 10);
        Wire three = new Wire()) {
      three.text(Embeds.put("three", 0));
      assertNotStored(three.reply(), "empty");
      three.text(Embeds.put("three", LONGEST + 1));
      assertNotStored(three.reply(), "oversize");
      assertHeld("held", payload(100, 1));
      finish(one, 10);
      finish(two, 10);
    }
  }

  @Test
  void put_clientsThatBreakOff_leaveTheirPlaces() throws IOException {
    for (int i = 0; i < 3; i++) {
      try (Wire one = held("one", MIB / 2);
          Wire two = held("two", MIB / 2)) {
        one.filler(1000);
        two.reset();
      }
      Router.eventually(() -> assertThat(Embeds.uploads()).isZero());
      assertThat(Embeds.uploadBytes()).isZero();
    }
  }

  @Test
  void put_moreBytesThanAreLeft_isBusyUntilTheyAreGivenBack() throws IOException {
    try (Wire one = held("one", MIB - 1000);
        Wire two = new Wire()) {
      two.text(Embeds.put("two", 1001));
      assertBusy(two.reply());
      two.filler(1001);
      assertUsable(two);
      two.text(Embeds.put("two", 1000));
      two.filler(1000);
      assertStored(two.reply());
      finish(one, MIB - 1000);
      two.text(Embeds.put("two", 1001));
      two.filler(1001);
      assertStored(two.reply());
    }
  }

  @Test
  void put_chunkedBeyondWhatIsLeft_isBusyAndKeepsNothing() throws IOException {
    try (Wire one = held("one", MIB / 2);
        Wire two = new Wire()) {
      two.text(Embeds.request("PUT", "two", CHUNKED));
      two.chunkedFiller(MIB / 2);
      Router.eventually(() -> assertThat(Embeds.uploadBytes()).isEqualTo(MIB));
      two.chunkedFiller(1);
      assertBusy(two.reply());
      Router.eventually(() -> assertThat(Embeds.uploadBytes()).isEqualTo(MIB / 2));
      assertThat(Embeds.memory()).isZero();
      two.text("0\n\n");
      assertUsable(two);
      finish(one, MIB / 2);
    }
    assertThat(Embeds.stats().entries()).isEqualTo(1);
    assertThat(Embeds.stats().oversize()).isZero();
  }

  @Test
  void put_aloneAndLongerThanTheLimit_isAcceptedAndOthersWait() throws IOException {
    try (Wire one = held("one", 5 * MIB)) {
      assertBusy(Embeds.put("two", payload(1, 1)));
      finish(one, 5 * MIB);
    }
    assertStored(Embeds.putChunked("three", payload(5 * MIB, 3)));
    assertHeld("three", payload(5 * MIB, 3));
  }

  @Test
  void put_whileASlowReaderHasMoreThanTheLimit_isBusyUntilItIsDone() throws IOException {
    byte[] slow = payload(20 * MIB, 1);
    assertStored(Embeds.put("slow", slow));
    try (Wire reader = new Wire("127.0.0.1", 64 * 1024)) {
      reader.text(Embeds.request("GET", "slow"));
      assertThat(reader.head().status()).isEqualTo(200);
      assertStored(Embeds.put("new", payload(1, 1)));
      assertThat(Embeds.delete("slow").status()).isEqualTo(204);
      assertBusy(Embeds.put("new", payload(1, 1)));
      Embeds.assertSame(reader.read(slow.length), slow);
    }
    Router.eventually(() -> assertStored(Embeds.put("new", payload(1, 1))));
  }
}
