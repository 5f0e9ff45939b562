package baton.embeds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Keys are HMAC-SHA256 of the identifier under the salt, and no two scopes have the same. */
class EntryKeyTest {
  private static final String LONE_HIGH = "\ud83c";
  private static final String LONE_LOW = "\udfbc";

  private static String hex(String identifier, String salt) {
    return EntryKey.of(identifier, salt).hex();
  }

  @Test
  void knownAnswer_emptyKey_isTheSpecifications() {
    assertThat(hex("id-1", ""))
        .isEqualTo("d000aac1fb7616876b3e746d389808a5f82950411911525d8b6259afdd2df417");
  }

  @Test
  void noSalt_andTheEmptyOne_areOneScope() {
    assertThat(EntryKey.of("id-1", null)).isEqualTo(EntryKey.of("id-1", ""));
  }

  /** Those of RFC 4231 whose key and data are text. */
  @Test
  void rfc4231_cases1And2_areReproduced() {
    assertThat(hex("Hi There", "\u000b".repeat(20)))
        .isEqualTo("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    assertThat(hex("what do ya want for nothing?", "Jefe"))
        .isEqualTo("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  }

  /** The RFC gives 128 bits of it. */
  @Test
  void rfc4231_case5_isReproducedAsFarAsItGoes() {
    assertThat(hex("Test With Truncation", "\f".repeat(20)))
        .startsWith("a3b6167473100ee06e0c796c2955552b");
  }

  /** Computed with Python's hmac. */
  @Test
  void textBeyondAscii_isTakenAsUtf8() {
    assertThat(hex("ид-ß-漢字-\ud83c\udfbc", "тенант-é-\ud83c\udfbc"))
        .isEqualTo("054285325fdd6fb3f077921818a639e9693138bfdd2b5347c398ad286af0cdf7");
  }

  /**
   * HMAC takes a key of 64 bytes as it is, and hashes a longer one; computed with Python's hmac.
   */
  @ParameterizedTest
  @CsvSource({
    "k, 64, f15219b915344a91279185db12c7b821f7529d83ad3d1e6f33403a275263b2ea",
    "k, 65, e994ecbdff67d0d62aa0caef31070a9a7c0afb07fa4f5e878e33ca8145698f3a",
    "é, 33, 3a09b4982609365f43d0a65e48c35af586b35cfd4174ee693727c4edc261cf91"
  })
  void longSalt_aroundTheBlockOfTheHash_isTakenWhole(String part, int times, String expected) {
    assertThat(hex("id-1", part.repeat(times))).isEqualTo(expected);
  }

  @Test
  void saltAndIdentifier_movedAcrossTheirBorder_areAnotherKey() {
    assertThat(hex("bc", "a")).isNotEqualTo(hex("c", "ab")).isNotEqualTo(hex("a", "bc"));
  }

  @Test
  void equality_ofSameAndOtherKeys_isThatOfTheDigest() {
    EntryKey key = EntryKey.of("id-1", "s");

    assertThat(EntryKey.of("id-1", "s")).isEqualTo(key).hasSameHashCodeAs(key);
    assertThat(EntryKey.of("id-2", "s")).isNotEqualTo(key);
    assertThat(EntryKey.of("id-1", "t")).isNotEqualTo(key);
  }

  /** Padded with zeros, {@code a} and {@code a<NUL>} would be one key. */
  @ParameterizedTest
  @ValueSource(strings = {"\0", "a\0", "\0a", "a\0b"})
  void nulInTheSalt_isRefused(String salt) {
    assertThatThrownBy(() -> EntryKey.of("id-1", salt))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("salt")
        .hasMessageContaining("NUL");
  }

  @ParameterizedTest
  @ValueSource(strings = {LONE_HIGH, LONE_LOW, "a" + LONE_HIGH, LONE_LOW + LONE_HIGH})
  void loneSurrogate_isRefusedAndNotShown(String text) {
    assertThatThrownBy(() -> EntryKey.of(text, null))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("the identifier has half a surrogate pair");
    assertThatThrownBy(() -> EntryKey.of("id-1", text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("the salt has half a surrogate pair");
  }
}
