package baton.hash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

class HashProfileTest {
  private static final Set<String> SUPPORTED =
      Set.of(
          "vllm_v1 sha256 low64_be",
          "vllm_v1 sha256_cbor low64_be",
          "sglang sha256_raw first64_be",
          "sglang_bigram sha256_raw first64_be");

  private static List<Arguments> combinations(boolean supported) {
    List<Arguments> all = new ArrayList<>();
    for (String strategy :
        List.of("vllm_v1", "sglang", "sglang_bigram", "vllm", "VLLM_V1", "vllm_v1 ", "")) {
      for (String algorithm :
          List.of(
              "sha256",
              "sha256_cbor",
              "sha256_raw",
              "xxhash",
              "xxhash_cbor",
              "builtin",
              "SHA256",
              "")) {
        for (String projection : List.of("low64_be", "first64_be", "low64_le", "")) {
          if (SUPPORTED.contains(strategy + ' ' + algorithm + ' ' + projection) == supported) {
            all.add(Arguments.of(strategy, algorithm, projection));
          }
        }
      }
    }
    return all;
  }

  private static List<Arguments> supported() {
    return combinations(true);
  }

  private static List<Arguments> refused() {
    return combinations(false);
  }

  private static HashProfile vllm(String seed) {
    return new HashProfile("vllm_v1", "sha256_cbor", seed, "low64_be");
  }

  @ParameterizedTest
  @MethodSource("supported")
  void profile_ofASupportedCombination_isAccepted(
      String strategy, String algorithm, String projection) {
    HashProfile profile = new HashProfile(strategy, algorithm, "0", projection);

    assertThat(profile.isVllm()).isEqualTo(strategy.equals("vllm_v1"));
    assertThat(profile.strategy()).isEqualTo(strategy);
    assertThat(profile.algorithm()).isEqualTo(algorithm);
    assertThat(profile.indexProjection()).isEqualTo(projection);
  }

  @ParameterizedTest
  @MethodSource("refused")
  void profile_ofAnotherCombination_isRefusedNamingTheFirstFieldAtFault(
      String strategy, String algorithm, String projection) {
    boolean knownStrategy = SUPPORTED.stream().anyMatch(s -> s.startsWith(strategy + ' '));
    boolean knownAlgorithm =
        SUPPORTED.stream().anyMatch(s -> s.startsWith(strategy + ' ' + algorithm + ' '));
    String field = !knownStrategy ? "strategy" : !knownAlgorithm ? "algorithm" : "index_projection";
    String value = !knownStrategy ? strategy : !knownAlgorithm ? algorithm : projection;

    assertThatExceptionOfType(InvalidHashProfile.class)
        .isThrownBy(() -> new HashProfile(strategy, algorithm, "0", projection))
        .withMessageContaining(field)
        .withMessageContaining('"' + value + '"')
        .matches(e -> e.field().equals(field))
        .matches(InvalidHashProfile::isUnsupported);
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "00", "42", "4294967295", "0004294967295", "random"})
  void seed_ofVllm_isKeptAsWritten(String seed) {
    assertThat(vllm(seed).pythonHashSeed()).isEqualTo(seed);
  }

  @ParameterizedTest
  @NullSource
  @ValueSource(
      strings = {
        "",
        " ",
        "-1",
        "+1",
        "１",
        "٣",
        "1 ",
        " 1",
        "1.0",
        "1e3",
        "0x10",
        "1_000",
        "4294967296",
        "18446744073709551616",
        "99999999999999999999999999999999",
        "Random",
        "RANDOM",
        "random ",
        "none"
      })
  void seed_ofVllmThatPythonWouldRefuse_isRefusedNamingTheSeed(String seed) {
    assertThatExceptionOfType(InvalidHashProfile.class)
        .isThrownBy(() -> vllm(seed))
        .withMessageContaining("python_hash_seed")
        .matches(e -> e.field().equals("python_hash_seed"))
        .matches(e -> !e.isUnsupported());
  }

  // cases.md, row 80
  @Test
  void seed_zeroAndDoubleZero_areDifferentSeeds() {
    assertThat(vllm("0").rootDigest()).startsWith("4e1195df");
    assertThat(vllm("00").rootDigest()).startsWith("8d912e4e");
    assertThat(vllm("0")).isNotEqualTo(vllm("00"));
    assertThat(Chains.keys(vllm("00"), new int[] {1, 2, 3, 4}, 4))
        .isNotEqualTo(Chains.keys(vllm("0"), new int[] {1, 2, 3, 4}, 4));
  }

  @Test
  void seed_random_isHashedAsThatText() {
    assertThat(vllm("random").rootDigest()).isNotEqualTo(vllm("0").rootDigest()).hasSize(64);
  }

  @ParameterizedTest
  @NullSource
  @ValueSource(strings = {"", "0", "00", "7", "random", "any text", "-1"})
  void seed_ofSglang_isNormalisedToZero(String seed) {
    HashProfile profile = new HashProfile("sglang", "sha256_raw", seed, "first64_be");

    assertThat(profile.pythonHashSeed()).isEqualTo("0");
    assertThat(profile).isEqualTo(Chains.SGLANG);
    assertThat(profile.rootDigest()).isEqualTo("0".repeat(64));
  }

  @Test
  void message_aboutALongValue_quotesOnlyItsStart() {
    assertThatThrownBy(() -> vllm("9".repeat(100_000)))
        .message()
        .hasSizeLessThan(200)
        .contains("9".repeat(64) + "…");
  }

  @Test
  void projection_ofDigestBytes_isTheLastEightForVllmAndTheFirstEightForSglang() {
    byte[] frame = new byte[40];
    frame[4] = 1;
    frame[35] = 2;

    assertThat(Chains.CBOR.project(frame, 4, 32)).isEqualTo(2);
    assertThat(Chains.PICKLE.project(frame, 4, 32)).isEqualTo(2);
    assertThat(Chains.SGLANG.project(frame, 4, 32)).isEqualTo(1L << 56);
    assertThat(Chains.BIGRAM.project(frame, 4, 32)).isEqualTo(1L << 56);
    assertThat(Chains.CBOR.project(frame, 4, 8)).isEqualTo(Chains.SGLANG.project(frame, 4, 8));
  }

  @ParameterizedTest
  @CsvSource({"0, 0, 0", "1, 1, 0", "2, 2, 1", "10, 10, 9"})
  void positions_ofAPrompt_areItsTokensOrItsPairs(int tokens, int plain, int pairs) {
    assertThat(Chains.CBOR.positions(tokens)).isEqualTo(plain);
    assertThat(Chains.SGLANG.positions(tokens)).isEqualTo(plain);
    assertThat(Chains.BIGRAM.positions(tokens)).isEqualTo(pairs);
  }
}
