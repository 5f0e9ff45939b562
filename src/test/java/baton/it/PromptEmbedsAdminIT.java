package baton.it;

import static baton.it.Embeds.CAPACITY;
import static baton.it.Embeds.LONGEST;
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

import baton.it.Api.Reply;
import baton.it.Embeds.Stats;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What operators ask and do about the cache, and its meters. */
@QuarkusIntegrationTest
class PromptEmbedsAdminIT {
  private static final String CAN_HOLD = "/admin/prompt_embeds/can_hold";
  private static final String STATS = "/admin/prompt_embeds/stats";
  private static final String CLEAR = "/admin/prompt_embeds/clear";

  @AfterEach
  void settle() {
    Embeds.settle();
  }

  @ParameterizedTest
  @CsvSource({
    "0, false",
    "1, true",
    "01, true",
    "%31, true",
    LONGEST + ", true",
    LONGEST + 1 + ", false",
    CAPACITY + ", false",
    "9223372036854775807, false",
    "9223372036854775808, false",
    "18446744073709551617, false",
    "1000000000000000000000000000000, false"
  })
  void canHold_size_isWhetherAPutWouldStore(String bytes, boolean expected) {
    assertStored(Embeds.put("k", payload(1, 1)));
    Stats before = stats();
    Reply reply = Embeds.noStore(Api.get(CAN_HOLD + "?bytes=" + bytes));
    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.text()).isEqualTo("{\"can_hold\":" + expected + "}");
    assertThat(stats()).isEqualTo(before);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "?bytes=",
        "?bytes=-1",
        "?bytes=1.5",
        "?bytes=1e3",
        "?bytes=%2B1",
        "?bytes=1%20",
        "?bytes=0x1",
        "?bytes=many",
        "?bytes=%D9%A1",
        "?bytes=1&bytes=1"
      })
  void canHold_noSize_isRefused(String query) {
    assertRefused(Api.get(CAN_HOLD + query), 400, "invalid_type", "bytes");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "?", "?byte=1"})
  void canHold_missing_isRefused(String query) {
    assertRefused(Api.get(CAN_HOLD + query), 400, "missing", "bytes");
  }

  @Test
  void stats_afterSomeUse_areTheContractsToTheField() throws IOException {
    assertStored(Embeds.put("k", payload(1000, 1)));
    assertMiss(Embeds.get("other"));
    for (int i = 0; i < 3; i++) {
      assertThat(Embeds.head("k").status()).isEqualTo(200);
    }
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", LONGEST + 1));
      assertNotStored(wire.reply(), "oversize");
    }
    String expected =
        """
        {"capacity_bytes":67108864,"entries":1,"hit_ratio":0.75,"hits":3,"lookups":4,
         "oversize_rejections":1,"used_bytes":1512}
        """;
    for (String media : List.of(Api.JSON, Api.MSGPACK)) {
      Reply reply = Embeds.noStore(Api.get(STATS, "Accept", media));
      assertThat(reply.status()).isEqualTo(200);
      assertThat(reply.type()).isEqualTo(media);
      assertThat(reply.body()).isEqualTo(Api.tree(expected));
    }
  }

  @Test
  void admin_onlyHtmlIsWanted_isRefused() {
    assertRefused(Api.get(STATS, "Accept", "text/html"), 406, "not_acceptable", null);
    assertRefused(
        Api.get(CAN_HOLD + "?bytes=1", "Accept", "text/html"), 406, "not_acceptable", null);
  }

  @Test
  void clear_held_dropsAllAndStartsTheStatisticsAnew() throws IOException {
    byte[] payload = payload(1000, 1);
    assertStored(Embeds.put("a", payload));
    assertStored(Embeds.put("a", payload, "X-Cache-Salt", "s"));
    assertHeld("a", payload);
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", LONGEST + 1, "Expect: 100-continue"));
      assertNotStored(wire.reply(), "oversize");
    }

    Reply reply = Embeds.noStore(Api.send("POST", CLEAR, new byte[0]));
    assertThat(reply.status()).isEqualTo(204);
    assertThat(reply.text()).isEmpty();
    assertThat(stats()).isEqualTo(new Stats(CAPACITY, 0, 0, 0, 0, 0, 0.0));
    assertMiss(Embeds.get("a"));
    assertMiss(Embeds.get("a", "X-Cache-Salt", "s"));
    assertStored(Embeds.put("a", payload));
    assertHeld("a", payload);
  }

  @Test
  void meters_acrossAClear_countOn() throws IOException {
    Map<String, Long> expected = meters();
    byte[] large = payload(40 * Embeds.MIB, 1);
    assertStored(Embeds.put("a", large));
    assertStored(Embeds.put("b", large));
    assertThat(Embeds.head("b").status()).isEqualTo(200);
    assertMiss(Embeds.get("a"));
    assertMiss(Embeds.get("a"));
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", LONGEST + 1));
      assertNotStored(wire.reply(), "oversize");
    }
    expected.merge("hits", 1L, Long::sum);
    expected.merge("misses", 2L, Long::sum);
    expected.merge("puts_total", 2L, Long::sum);
    expected.merge("evictions_total", 1L, Long::sum);
    expected.merge("oversize_total", 1L, Long::sum);
    expected.put("size", 1L);
    expected.put("used_bytes", (long) large.length + OVERHEAD);
    assertThat(meters()).isEqualTo(expected);
    assertThat(Embeds.meter("capacity_bytes")).isEqualTo(CAPACITY);

    Embeds.clear();
    expected.put("size", 0L);
    expected.put("used_bytes", 0L);
    assertThat(meters()).isEqualTo(expected);
    assertStored(Embeds.put("a", payload(1, 1)));
    expected.merge("puts_total", 1L, Long::sum);
    expected.put("size", 1L);
    expected.put("used_bytes", 1L + OVERHEAD);
    assertThat(meters()).isEqualTo(expected);
  }

  private static Map<String, Long> meters() {
    Map<String, Long> meters = new LinkedHashMap<>();
    meters.put("hits", Embeds.meter("gets_total", ",result=hit"));
    meters.put("misses", Embeds.meter("gets_total", ",result=miss"));
    for (String name :
        List.of("puts_total", "evictions_total", "oversize_total", "size", "used_bytes")) {
      meters.put(name, Embeds.meter(name));
    }
    return meters;
  }

  @ParameterizedTest
  @CsvSource({
    "POST, " + STATS + ", 'GET, HEAD, OPTIONS'",
    "PUT, " + CAN_HOLD + ", 'GET, HEAD, OPTIONS'",
    "GET, " + CLEAR + ", 'POST, OPTIONS'",
    "DELETE, " + CLEAR + "/, 'POST, OPTIONS'"
  })
  void method_wrong_tellsWhichAreRight(String method, String path, String allow) {
    Reply reply = Api.send(method, path, null);
    assertRefused(reply, 405, "method_not_allowed", null);
    assertThat(reply.header("Allow")).contains(allow);
  }

  @Test
  void clear_withABody_leavesTheConnectionUsable() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text("POST " + CLEAR + " HTTP/1.1\nHost: baton\nContent-Length: 100000\n\n");
      wire.filler(100_000);
      assertThat(wire.reply().status()).isEqualTo(204);
      assertUsable(wire);
    }
  }
}
