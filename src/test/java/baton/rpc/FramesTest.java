package baton.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import baton.rpc.MalformedMessage.Kind;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Headers and RPC errors. */
class FramesTest {
  private static final HexFormat HEX = HexFormat.of();

  @Test
  void unsignedFields_decoded_notNegative() {
    byte[] request = HEX.parseHex("15000000" + "ff".repeat(16));
    byte[] response = HEX.parseHex("1500ff00" + "ff".repeat(12));

    assertThat(RequestHeader.decode(request, 0, 20))
        .isEqualTo(new RequestHeader(-1, -1, 0xffff_ffffL, 0xffff_ffffL));
    assertThat(ResponseHeader.decode(response, 0, 16))
        .isEqualTo(new ResponseHeader(255, -1, 0xffff_ffffL, 0xffff_ffffL));
  }

  @ParameterizedTest
  @CsvSource({
    "16000000, 'magic byte 22, not 21'",
    "15010000, 'version 1, not 0'",
    "15ff0000, 'version 255, not 0'",
    "15000100, 'serialize type 1, not 0'",
    "47455420, 'magic byte 71, not 21'"
  })
  void requestOfAnotherProtocol_refused(String start, String message) {
    byte[] header = HEX.parseHex(start + "00".repeat(16));
    assertThatThrownBy(() -> RequestHeader.decode(header, 0, 20))
        .isInstanceOfSatisfying(
            MalformedMessage.class, e -> assertThat(e.kind()).isEqualTo(Kind.HEADER))
        .hasMessage(message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"14000000", "15010000"})
  void responseOfAnotherProtocol_refused(String start) {
    byte[] header = HEX.parseHex(start + "00".repeat(12));
    assertThatThrownBy(() -> ResponseHeader.decode(header, 0, 16))
        .isInstanceOf(MalformedMessage.class);
  }

  @Test
  void anyBytes_decoded_headerOrMalformed() {
    Random random = new Random(6);
    for (int i = 0; i < 20_000; i++) {
      byte[] bytes = new byte[random.nextInt(24)];
      random.nextBytes(bytes);
      if (i % 2 == 0 && bytes.length > 2) {
        Arrays.fill(bytes, 0, 3, (byte) 0);
        bytes[0] = RequestHeader.MAGIC;
      }
      boolean whole = bytes.length >= 20;
      try {
        RequestHeader.decode(bytes, 0, bytes.length);
        assertThat(whole).isTrue();
      } catch (MalformedMessage e) {
        assertThat(whole && i % 2 == 0).isFalse();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 4, 10, 11, 254})
  void codeThatFits_inTheHeader_bodyIsTheText(int code) {
    byte[] frame = Responses.encodeError(9, new RpcError(code, "so"));

    assertThat(frame).isEqualTo(errorFrame(code, "76facf9d" + "02736f"));
    assertThat(Responses.decodeError(code, frame, 16, frame.length - 16))
        .isEqualTo(new RpcError(code, "so"));
  }

  @ParameterizedTest
  @CsvSource({"255,ff00", "256,0001", "1000,e803", "65535,ffff"})
  void codeThatDoesNotFit_inTheBody_besideTheText(int code, String bytes) {
    byte[] frame = Responses.encodeError(9, new RpcError(code, "so"));

    assertThat(frame).isEqualTo(errorFrame(255, "4ce62b37" + bytes + "02736f"));
    assertThat(Responses.decodeError(255, frame, 16, frame.length - 16))
        .isEqualTo(new RpcError(code, "so"));
  }

  private static byte[] errorFrame(int headerCode, String body) {
    String code = HEX.toHexDigits((byte) headerCode);
    String length = HEX.toHexDigits((byte) (body.length() / 2));
    return HEX.parseHex("1500" + code + "0009000000" + length + "00000000000000" + body);
  }

  @Test
  void errorWithoutACode_refused() {
    byte[] body = HEX.parseHex("4ce62b37" + "0000" + "00");
    assertThatThrownBy(() -> Responses.decodeError(255, body, 0, body.length))
        .isInstanceOf(MalformedMessage.class)
        .hasMessage("an RPC error of code 0");
    assertThatThrownBy(() -> new RpcError(0, "")).isInstanceOf(IllegalArgumentException.class);
  }
}
