package baton.http;

import io.vertx.core.http.HttpServerRequest;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;

/**
 * The identifier and the salt that a request names.
 *
 * @param identifier 1 to 512 characters of printable ASCII
 * @param salt null if there is none
 */
record PayloadName(String identifier, String salt) {
  private static final String PREFIX = "/prompt_embeds/";
  private static final int MAX_IDENTIFIER = 512;
  private static final int MAX_SALT = 128;

  /**
   * @throws BadRequest if one of them is none that the contract allows
   */
  static PayloadName of(HttpServerRequest request) {
    // As it was sent: two spellings that routing takes for one are two identifiers.
    String path = request.path();
    String segment = path.substring(path.indexOf(PREFIX) + PREFIX.length());
    return new PayloadName(identifier(segment), salt(request.headers().getAll("X-Cache-Salt")));
  }

  static String identifier(String segment) {
    ByteArrayOutputStream decoded = new ByteArrayOutputStream(segment.length());
    for (int i = 0; i < segment.length(); i++) {
      char c = segment.charAt(i);
      if (c == '/') {
        throw badIdentifier("has a slash; write it as %2F");
      }
      if (c == '%') {
        decoded.write(escaped(segment, i));
        i += 2;
      } else {
        decoded.write(c <= 0xFF ? c : 0xFF);
      }
    }
    for (byte b : decoded.toByteArray()) {
      if (b < ' ' || b > '~') {
        throw badIdentifier("has a character that is not printable ASCII");
      }
    }
    if (decoded.size() == 0 || decoded.size() > MAX_IDENTIFIER) {
      throw badIdentifier("must have 1 to " + MAX_IDENTIFIER + " characters");
    }
    return decoded.toString(StandardCharsets.US_ASCII);
  }

  private static int escaped(String segment, int percent) {
    if (percent + 2 >= segment.length()
        || !HexFormat.isHexDigit(segment.charAt(percent + 1))
        || !HexFormat.isHexDigit(segment.charAt(percent + 2))) {
      throw badIdentifier("has a % without two hexadecimal digits");
    }
    return HexFormat.fromHexDigits(segment, percent + 1, percent + 3);
  }

  static String salt(List<String> headers) {
    if (headers.isEmpty()) {
      return null;
    }
    if (headers.size() > 1) {
      throw badSalt("is there more than once");
    }
    String salt = utf8(headers.get(0));
    int length = salt.codePointCount(0, salt.length());
    if (length == 0 || length > MAX_SALT) {
      throw badSalt("must have 1 to " + MAX_SALT + " characters; leave it out for none");
    }
    if (salt.chars().anyMatch(c -> Character.isISOControl(c) || "@/\\".indexOf(c) >= 0)) {
      throw badSalt("has a character that is not allowed: @, /, \\ or a control character");
    }
    return salt;
  }

  /** A header's characters are the bytes that were sent. */
  private static String utf8(String header) {
    try {
      ByteBuffer bytes = ByteBuffer.wrap(header.getBytes(StandardCharsets.ISO_8859_1));
      return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
    } catch (CharacterCodingException e) {
      throw badSalt("is not UTF-8");
    }
  }

  private static BadRequest badIdentifier(String problem) {
    return BadRequest.field("invalid_value", "identifier", problem);
  }

  private static BadRequest badSalt(String problem) {
    return BadRequest.field("invalid_value", "X-Cache-Salt", problem);
  }
}
