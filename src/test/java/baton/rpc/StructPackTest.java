package baton.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import baton.rpc.MalformedMessage.Kind;
import baton.rpc.Wire.CacheHit;
import baton.rpc.Wire.QueryRequest;
import baton.rpc.Wire.QueryResult;
import baton.rpc.Wire.UnregisterArgs;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The encoding's edges, one by one. */
class StructPackTest {
  private static final HexFormat HEX = HexFormat.of();
  private static final CacheHit NO_HIT = new CacheHit(0, Map.of(), Map.of(), 0, 0, 0, 0);

  @ParameterizedTest
  @CsvSource({"0,1,4", "255,1,4", "256,2,5", "65535,2,5", "65536,4,5", "1000000,4,5"})
  void tokens_encoded_smallestWidthForEverySize(int count, int width, int front) {
    int[] tokens = new Random(count).ints(count).toArray();
    byte[] frame =
        Requests.encodeQuery(7, new QueryRequest("", "m", "", 16, tokens, null, "filter"));

    int strings = 3 * width + 1;
    int optionals = 1 + 1 + width + 6;
    assertThat(frame).hasSize(20 + front + strings + 8 + width + 4 * count + optionals);
    QueryRequest decoded = Requests.decodeQuery(frame, 20, frame.length - 20);
    assertThat(decoded.tokenIds()).isEqualTo(tokens);
    assertThat(decoded.instanceFilter()).isEqualTo("filter");
  }

  @ParameterizedTest
  @CsvSource({"255,4", "256,5", "65535,5", "65536,5"})
  void string_encoded_widthOfItsUtf8(int bytes, int front) {
    // two bytes a letter but for the last: the width goes by bytes, not by chars
    String text = "\u00e4".repeat(bytes / 2) + "z".repeat(bytes % 2);
    byte[] frame = Requests.encodeUnregister(0, new UnregisterArgs(text, "", 1));

    int width = bytes < 256 ? 1 : bytes < 65536 ? 2 : 4;
    assertThat(frame).hasSize(20 + front + 2 * width + bytes + 4);
    assertThat(Requests.decodeUnregister(frame, 20, frame.length - 20))
        .isEqualTo(new UnregisterArgs(text, "", 1));
  }

  @Test
  void millionTokens_decoded_onlyTheArrayIsAllocated() {
    int[] tokens = new Random(5).ints(1_000_000).toArray();
    byte[] frame = Requests.encodeQuery(0, new QueryRequest("", "m", "", 16, tokens, "s", null));

    long before = allocated();
    QueryRequest decoded = Requests.decodeQuery(frame, 20, frame.length - 20);
    assertThat(allocated() - before).isLessThan(4_000_000 + 65_536);
    assertThat(decoded.tokenIds()).isEqualTo(tokens);
  }

  /** Four bytes and eight bytes of a count, without an element behind it. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "10 ffffff7f",
        "10 00000080",
        "10 ffffffff",
        "10 01000000",
        "18 ffffff7f00000000",
        "18 0000000001000000",
        "18 ffffffffffffff7f",
        "18 0000000000000080",
        "18 ffffffffffffffff",
        "18 0100000000000000"
      })
  void countBeyondTheEnd_refused_beforeAnythingIsAllocated(String metaAndCount) {
    String meta = metaAndCount.substring(0, 2);
    String count = metaAndCount.substring(3);
    String none = "0".repeat(count.length());
    byte[] tokens = HEX.parseHex("1d1a00f9" + meta + none.repeat(3) + "00".repeat(8) + count);
    byte[] string = HEX.parseHex("1bca8199" + meta + count);
    byte[] services = HEX.parseHex("f9427866" + meta + count);
    byte[] instances = HEX.parseHex("cdd2d5ad" + meta + "01" + count);

    long before = allocated();
    requireMalformed(Kind.BODY, () -> Requests.decodeQuery(tokens, 0, tokens.length));
    requireMalformed(Kind.BODY, () -> Requests.decodeUnregister(string, 0, string.length));
    requireMalformed(Kind.BODY, () -> Responses.decodeListServices(services, 0, services.length));
    requireMalformed(Kind.BODY, () -> Responses.decodeQuery(instances, 0, instances.length));
    assertThat(allocated() - before).isLessThan(1 << 20);
  }

  @Test
  void bytesBeforeAndBehindThePart_notLookedAt() {
    byte[] frame = Requests.encodeUnregister(0, new UnregisterArgs("a", "b", 3));
    byte[] around = new byte[frame.length + 30];
    Arrays.fill(around, (byte) 0xff);
    System.arraycopy(frame, 20, around, 25, frame.length - 20);

    assertThat(Requests.decodeUnregister(around, 25, frame.length - 20))
        .isEqualTo(new UnregisterArgs("a", "b", 3));
    requireMalformed(Kind.BODY, () -> Requests.decodeUnregister(around, 25, frame.length - 21));
    assertThatThrownBy(() -> Requests.decodeUnregister(around, 40, around.length))
        .isInstanceOf(IndexOutOfBoundsException.class);
  }

  /** The frame has told the length already; C++ never sends it and does not check it. */
  @ParameterizedTest
  @ValueSource(strings = {"01 9999", "02 99999999", "03 9999999999999999", "e3 0000000000000000"})
  void totalLength_skipped(String metaAndLength) {
    byte[] body = HEX.parseHex("1bca8199" + metaAndLength.replace(" ", "") + "0161016203000000");
    assertThat(Requests.decodeUnregister(body, 0, body.length))
        .isEqualTo(new UnregisterArgs("a", "b", 3));
  }

  @ParameterizedTest
  @ValueSource(strings = {"02", "7f", "80", "ff"})
  void flagOtherThan0And1_refused(String flag) {
    byte[] optional = HEX.parseHex("1c1a00f9000000" + "00".repeat(8) + "00" + flag + "00000000");
    byte[] expected = HEX.parseHex("5c3854f3" + flag + "00000000");
    byte[] bool = HEX.parseHex("a80190d80100" + flag);

    requireMalformed(Kind.BODY, () -> Requests.decodeQuery(optional, 0, optional.length));
    requireMalformed(Kind.BODY, () -> Responses.decodeUnregister(expected, 0, expected.length));
    requireMalformed(Kind.BODY, () -> Responses.decodeRegister(bool, 0, bool.length));
  }

  /** A stray byte, an overlong slash, half a surrogate pair, above U+10FFFF, a cut off letter. */
  @ParameterizedTest
  @ValueSource(strings = {"80", "ff", "c0af", "eda080", "f4908080", "e282", "efbfbd80"})
  void textThatIsNotUtf8_refused(String bytes) {
    String size = HEX.toHexDigits((byte) (bytes.length() / 2));
    byte[] body = HEX.parseHex("1aca8199" + size + bytes + "0000000000");

    requireMalformed(Kind.TEXT, () -> Requests.decodeUnregister(body, 0, body.length));
  }

  @Test
  void replacementCharacter_sentAsSuch_accepted() {
    byte[] frame = Requests.encodeUnregister(0, new UnregisterArgs("\uFFFD", "\u0000", 0));
    assertThat(Requests.decodeUnregister(frame, 20, frame.length - 20).instanceId())
        .isEqualTo("\uFFFD");
  }

  @Test
  void equalKeys_decoded_firstStays() {
    String hit = "0000" + "00".repeat(32);
    String body =
        "ccd2d5ad"
            + "01"
            + "02"
            + ("0161" + "0100000000000000" + hit)
            + ("0161" + "02" + "00".repeat(7) + hit);
    byte[] bytes = HEX.parseHex(body);

    assertThat(Responses.decodeQuery(bytes, 0, bytes.length).value().instances())
        .containsOnlyKeys("a")
        .hasEntrySatisfying("a", a -> assertThat(a.longestMatched()).isEqualTo(1));
  }

  @Test
  void mapKeys_encoded_inTheOrderOfTheirBytes() {
    // U+FF5E sorts before U+1F600 by bytes and by code points, behind it by Java's chars
    List<String> ascending = List.of("", "Z", "a", "aa", "b", "\u00e4", "\uFF5E", "\uD83D\uDE00");
    Map<String, CacheHit> descending = new LinkedHashMap<>();
    for (int i = ascending.size() - 1; i >= 0; i--) {
      descending.put(ascending.get(i), NO_HIT);
    }

    byte[] frame = Responses.encodeQuery(0, Expected.of(new QueryResult(descending)));

    assertThat(Responses.decodeQuery(frame, 16, frame.length - 16).value().instances().keySet())
        .containsExactlyElementsOf(ascending);
  }

  @Test
  void errorOfCode0_decoded_isStillAnError() {
    byte[] frame = Responses.encodeUnregister(0, Expected.error(0));
    assertThat(Responses.decodeUnregister(frame, 16, frame.length - 16))
        .isEqualTo(Expected.error(0))
        .matches(e -> !e.hasValue());
  }

  private static void requireMalformed(Kind kind, ThrowingCallable read) {
    assertThatThrownBy(read)
        .isInstanceOfSatisfying(MalformedMessage.class, e -> assertThat(e.kind()).isEqualTo(kind));
  }

  private static long allocated() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    return threads.getThreadAllocatedBytes(Thread.currentThread().getId());
  }
}
