package baton.it;

import static baton.it.Embeds.CAPACITY;
import static baton.it.Embeds.assertHeld;
import static baton.it.Embeds.assertMiss;
import static baton.it.Embeds.assertPayload;
import static baton.it.Embeds.assertRefused;
import static baton.it.Embeds.assertStored;
import static baton.it.Embeds.assertUsable;
import static baton.it.Embeds.stats;
import static org.assertj.core.api.Assertions.assertThat;

import baton.it.Api.Reply;
import baton.it.Embeds.Stats;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Identifiers and salts: which are the same, which are not, and which are refused. */
@QuarkusIntegrationTest
class PromptEmbedsNamesIT {
  private static final Stats NOTHING = new Stats(CAPACITY, 0, 0, 0, 0, 0, 0.0);

  @AfterEach
  void settle() {
    Embeds.settle();
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  /** As it would be sent in a header. */
  private static String latin1(String salt) {
    return new String(salt.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
  }

  private static Reply sent(String request) throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(request);
      Reply reply = wire.reply();
      assertUsable(wire);
      return reply;
    }
  }

  // Identifiers

  static Stream<String> identifiers() {
    return Stream.of(
        "a",
        "x".repeat(512),
        "%78".repeat(512),
        "%20",
        "%2F",
        "a%2Fb%2F..%2Fc",
        "%25",
        "%2500",
        "+",
        ";a=b;c",
        "%2E%2Fa",
        "%22%5C%7B%7D%3C%3E%5E%60%7C",
        "sha256:0123456789abcdef",
        "!$&'()*,=@~-._");
  }

  @ParameterizedTest
  @MethodSource("identifiers")
  void identifier_printableAscii_isHeldUnderItsOwnName(String identifier) {
    assertStored(Embeds.put(identifier, ascii("its own")));
    assertHeld(identifier, ascii("its own"));
    assertThat(Embeds.head(identifier).status()).isEqualTo(200);
    assertMiss(Embeds.get("other"));
    assertThat(Embeds.delete(identifier).status()).isEqualTo(204);
    assertMiss(Embeds.get(identifier));
  }

  @Test
  void identifier_everyPrintableCharacter_isAnotherOne() {
    for (char c = ' '; c <= '~'; c++) {
      assertStored(Embeds.put("a%%%02Xb".formatted((int) c), ascii("of " + (int) c)));
    }
    assertThat(stats().entries()).isEqualTo(95);
    for (char c = ' '; c <= '~'; c++) {
      assertHeld("a%%%02xb".formatted((int) c), ascii("of " + (int) c));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "A, %41",
    "%2F, %2f",
    "%2E, .",
    "a+b, a%2Bb",
    "a~b, a%7Eb",
    "a%20b, a%20%62",
    "a;b, a%3Bb",
    "a?b, a?c"
  })
  void identifier_otherSpelling_isTheSame(String one, String other) {
    assertStored(Embeds.put(one, ascii("same")));
    assertHeld(other, ascii("same"));
    assertThat(Embeds.delete(other).status()).isEqualTo(204);
    assertMiss(Embeds.get(one));
  }

  @ParameterizedTest
  @CsvSource({
    "a, A",
    "a+b, a%20b",
    "a%2Fb, a%252Fb",
    "a, a%20",
    "a, a;b",
    "a;b, a;c",
    "%25, %2525",
    "a, a.",
    "a, %20a"
  })
  void identifier_alike_isAnotherOne(String one, String other) {
    assertStored(Embeds.put(one, ascii("one")));
    assertMiss(Embeds.get(other));
    assertStored(Embeds.put(other, ascii("other")));
    assertHeld(one, ascii("one"));
    assertHeld(other, ascii("other"));
  }

  static Stream<String> badIdentifiers() {
    return Stream.of(
        "",
        "x".repeat(513),
        "%78".repeat(513),
        "%00",
        "a%00",
        "%1F",
        "%7F",
        "%80",
        "%FF",
        "%c3%a4",
        "\u00e4",
        latin1("\u00e4"),
        "a%0Ab",
        "a/b",
        "a/",
        "/",
        "a/../b");
  }

  @ParameterizedTest
  @MethodSource("badIdentifiers")
  void identifier_bad_isRefusedByEveryMethod(String identifier) throws IOException {
    Reply put = sent(Embeds.put(identifier, 3) + "abc");
    assertRefused(put, 400, "invalid_value", "identifier");
    for (String method : List.of("GET", "DELETE")) {
      assertRefused(sent(Embeds.request(method, identifier)), 400, "invalid_value", "identifier");
    }
    try (Wire wire = new Wire()) {
      wire.text(Embeds.request("HEAD", identifier));
      assertThat(Embeds.noStore(wire.head()).status()).isEqualTo(400);
    }
    assertThat(stats()).isEqualTo(NOTHING);
  }

  @ParameterizedTest
  @ValueSource(strings = {"%", "a%", "%4", "%4g", "%g4", "%zz", "%%41", "%-1", "%u0041", "\\", "{"})
  void identifier_noUriAtAll_isRefused(String identifier) throws IOException {
    for (String method : List.of("PUT", "GET", "DELETE")) {
      String request = Embeds.request(method, identifier, "Content-Length: 3") + "abc";
      assertThat(sent(request).status()).isEqualTo(400);
    }
    assertThat(stats()).isEqualTo(NOTHING);
  }

  // Salts

  static Stream<String> salts() {
    return Stream.of(
        "a",
        "a b",
        "A",
        "tenant-1:blue",
        "x".repeat(128),
        "~!#$%^&*()",
        "%40",
        "\u00e4",
        "\u00e4".repeat(128),
        "\ud83d\ude00".repeat(128),
        "\u65e5\u672c");
  }

  @Test
  void salt_eachOne_isAScopeOfItsOwn() throws IOException {
    List<String> scopes = new ArrayList<>(salts().map(PromptEmbedsNamesIT::latin1).toList());
    // One byte more, one fewer: none is another's prefix to the cache.
    scopes.addAll(List.of("aa", "x".repeat(64), "x".repeat(65), "x".repeat(127)));
    assertStored(Embeds.put("k", ascii("without")));
    Map<String, String> held = new TreeMap<>();
    for (String salt : scopes) {
      String header = "X-Cache-Salt: " + salt;
      assertMiss(sent(Embeds.request("GET", "k", header)));
      String payload = "of scope " + held.size();
      assertStored(sent(Embeds.put("k", payload.length(), header) + payload));
      held.put(salt, payload);
    }
    assertThat(stats().entries()).isEqualTo(scopes.size() + 1);
    for (String salt : scopes) {
      String header = "x-cache-salt: " + salt;
      assertPayload(sent(Embeds.request("GET", "k", header)), ascii(held.get(salt)));
    }
    assertThat(sent(Embeds.request("DELETE", "k", "X-Cache-Salt: a")).status()).isEqualTo(204);
    assertMiss(Embeds.get("k", "X-Cache-Salt", "a"));
    assertHeld("k", ascii("without"));
    assertHeld("k", ascii(held.get("A")), "X-Cache-Salt", "A");
  }

  static Stream<String> badSalts() {
    return Stream.of(
        "",
        "   ",
        "x".repeat(129),
        latin1("\u00e4".repeat(129)),
        latin1("\ud83d\ude00".repeat(129)),
        "a@b",
        "@",
        "a/b",
        "a\\b",
        "a\tb",
        latin1("a\u0085b"),
        "\u00e4",
        "\u00ff",
        "\u00c0\u0080",
        "\u00ed\u00a0\u0080",
        "\u00c3");
  }

  @ParameterizedTest
  @MethodSource("badSalts")
  void salt_bad_isRefusedByEveryMethod(String salt) throws IOException {
    assertSaltRefused("X-Cache-Salt: " + salt);
  }

  @Test
  void salt_twice_isRefusedByEveryMethod() throws IOException {
    assertSaltRefused("X-Cache-Salt: a\nX-Cache-Salt: b");
    assertSaltRefused("X-Cache-Salt: a\nX-Cache-Salt: a");
    assertSaltRefused("X-Cache-Salt: a\nX-Cache-Salt:");
  }

  private static void assertSaltRefused(String header) throws IOException {
    Reply put = sent(Embeds.put("k", 3, header) + "abc");
    assertRefused(put, 400, "invalid_value", "X-Cache-Salt");
    for (String method : List.of("GET", "DELETE")) {
      assertRefused(
          sent(Embeds.request(method, "k", header)), 400, "invalid_value", "X-Cache-Salt");
    }
    assertThat(stats()).isEqualTo(NOTHING);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a\0b", "a\0", "a\u007fb", "a\u0001b"})
  void salt_noHeaderAtAll_isRefused(String salt) throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(Embeds.put("k", 3, "X-Cache-Salt: " + salt) + "abc");
      assertThat(wire.reply().status()).isEqualTo(400);
    }
    assertThat(stats()).isEqualTo(NOTHING);
  }

  // What nobody may see

  @Test
  void identifierAndSalt_whateverHappens_areShownNowhere() throws IOException {
    String identifier = "telltale-name";
    String salt = "X-Cache-Salt: telltale-salt";
    StringBuilder shown = new StringBuilder();
    for (String method : List.of("PUT", "GET", "DELETE", "POST", "OPTIONS", "FOO")) {
      for (String spelling :
          List.of(identifier, identifier + "/", identifier + "%00", identifier + "%zz")) {
        shown.append(sent(Embeds.request(method, spelling, salt, "Content-Length: 3") + "abc"));
        shown.append(sent(Embeds.request(method, spelling, salt + "@", "Content-Length: 0")));
      }
    }
    assertThat(shown + Api.get("/q/metrics").text()).doesNotContain("telltale");
  }
}
