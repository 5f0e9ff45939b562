package baton.embeds;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * An entry's key: HMAC-SHA256 (RFC 2104) of the identifier under the salt, both in UTF-8. Neither
 * can be told from it.
 */
record EntryKey(long first, long second, long third, long fourth) {
  private static final String ALGORITHM = "HmacSHA256";

  /** The JDK takes no empty key; RFC 2104 pads keys with zeros, so this is the same one. */
  private static final byte[] EMPTY_KEY = new byte[1];

  static EntryKey of(String identifier, String cacheSalt) {
    byte[] salt = utf8("salt", cacheSalt == null ? "" : cacheSalt);
    for (byte b : salt) {
      if (b == 0) {
        // Padded with zeros, a salt that ends with one would be another's scope.
        throw new IllegalArgumentException("the salt has a NUL");
      }
    }
    byte[] message = utf8("identifier", identifier);
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(salt.length == 0 ? EMPTY_KEY : salt, ALGORITHM));
      ByteBuffer digest = ByteBuffer.wrap(mac.doFinal(message));
      return new EntryKey(digest.getLong(), digest.getLong(), digest.getLong(), digest.getLong());
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("this JDK has no " + ALGORITHM, e);
    }
  }

  private static byte[] utf8(String what, String text) {
    try {
      ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      byte[] exact = new byte[bytes.remaining()];
      bytes.get(exact);
      return exact;
    } catch (CharacterCodingException e) {
      // An encoder that does not complain would make one key of many such texts.
      throw new IllegalArgumentException("the " + what + " has half a surrogate pair", e);
    }
  }

  String hex() {
    HexFormat hex = HexFormat.of();
    return hex.toHexDigits(first)
        + hex.toHexDigits(second)
        + hex.toHexDigits(third)
        + hex.toHexDigits(fourth);
  }

  /** The digest's bits are as good as any hash of them. */
  @Override
  public int hashCode() {
    return (int) first;
  }
}
