package baton.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@code SG_PROMPT_EMBEDS_CACHE_GIB} may be. */
class CacheSizeTest {
  private static final long GIB = 1L << 30;
  private static final long MEMORY = 16 * GIB;

  private static CacheSize size(String gib) {
    return CacheSize.of(gib, 0, MEMORY);
  }

  private static AbstractThrowableAssert<?, ? extends Throwable> assertWrong(String gib) {
    return assertThatThrownBy(() -> size(gib))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("SG_PROMPT_EMBEDS_CACHE_GIB=\"" + gib + "\"");
  }

  @ParameterizedTest
  @NullSource
  @ValueSource(strings = {"0", "0.0", "-0", "+0", "00", "0e5", "0e-5", "0e999999999"})
  void unsetOrZero_disables(String gib) {
    assertThat(size(gib)).isEqualTo(new CacheSize(0, 0));
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1073741824",
    "+2, 2147483648",
    "02, 2147483648",
    "1.0, 1073741824",
    "0.5, 536870912",
    ".5, 536870912",
    "1., 1073741824",
    "1e-3, 1073741",
    "1E-3, 1073741",
    "1.5e1, 16106127360",
    "0.000000001, 1"
  })
  void positiveNumber_isGibibytesRoundedDownToBytes(String gib, long bytes) {
    assertThat(CacheSize.of(gib, GIB, MEMORY)).isEqualTo(new CacheSize(bytes, GIB));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        " 1",
        "1 ",
        "1\n",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "1d",
        "1f",
        "1L",
        "0x1p3",
        "0x10",
        "1_000",
        "1,5",
        "1GiB",
        "1 000",
        "one",
        "e3",
        "1e",
        "--1",
        "1.2.3",
        "."
      })
  void notADecimalNumber_isRefused(String gib) {
    assertWrong(gib).hasMessageContaining("is not a number");
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "-0.5", "-1e-20", "-1e999999999"})
  void belowZero_isRefused(String gib) {
    assertWrong(gib).hasMessageContaining("below 0");
  }

  @ParameterizedTest
  @ValueSource(strings = {"1e-20", "0.0000000009", "1e-999999999"})
  void positiveButLessThanAByte_isRefusedRatherThanTakenForZero(String gib) {
    assertWrong(gib).hasMessageContaining("less than one byte");
  }

  @Test
  void moreThanTheMachineHas_isRefused() {
    assertWrong("16.1")
        .hasMessageContaining("is more than there is here")
        .hasMessageContaining("16.00 GiB");
    assertWrong("1e30").hasMessageContaining("is more than there is here");
    assertWrong("17179869184").hasMessageContaining("is more than there is here");
  }

  @ParameterizedTest
  @ValueSource(strings = {"1e999999999", "1e2147483647", "1e2147483648", "1e-2147483647"})
  void hugeExponent_isRefusedAtOnce(String gib) {
    assertTimeoutPreemptively(Duration.ofSeconds(5), () -> assertWrong(gib));
  }

  @Test
  void withUploads_moreThanTheMachineHas_isRefused() {
    assertThatThrownBy(() -> CacheSize.of("12.5", 4 * GIB, MEMORY))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("SG_PROMPT_EMBEDS_CACHE_GIB=\"12.5\"")
        .hasMessageContaining("4.00 GiB")
        .hasMessageContaining("baton.prompt-embeds.max-upload-bytes")
        .hasMessageContaining("16.00 GiB");
    assertWrong("15.5").hasMessageContaining("1.00 GiB").hasMessageContaining("16.00 GiB");
  }

  @Test
  void withUploads_allThatTheMachineHas_isTaken() {
    assertThat(CacheSize.of("12", 4 * GIB, MEMORY)).isEqualTo(new CacheSize(12 * GIB, 4 * GIB));
    assertThat(size("15")).isEqualTo(new CacheSize(15 * GIB, GIB));
  }

  @Test
  void uploadsNotConfigured_areAGibibyteOrTheCachesSize() {
    assertThat(size("3").uploadBytes()).isEqualTo(GIB);
    assertThat(size("0.25").uploadBytes()).isEqualTo(GIB / 4);
  }

  @Test
  void disabledCache_withUploadsBeyondMemory_isNoError() {
    assertThat(CacheSize.of("0", 2 * MEMORY, MEMORY).bytes()).isZero();
  }

  @Test
  void longValue_inTheMessage_isCutShort() {
    assertThatThrownBy(() -> size("x".repeat(100_000)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("SG_PROMPT_EMBEDS_CACHE_GIB=\"" + "x".repeat(64) + "…\"")
        .message()
        .hasSizeLessThan(200);
  }
}
