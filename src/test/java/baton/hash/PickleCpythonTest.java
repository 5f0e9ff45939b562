package baton.hash;

import static org.assertj.core.api.Assertions.assertThat;

import baton.Vectors;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Our pickles against a real CPython's, above all where frames end. The answers and their formulas
 * come from {@code vectors/pickle_cpython.py}.
 */
class PickleCpythonTest {
  private static final String FILE = "pickle_cpython.json";

  private static List<Arguments> cases() {
    return Vectors.cases(FILE);
  }

  private static Stream<Arguments> seeds() {
    return Vectors.stream(Vectors.read(FILE).get("seeds"))
        .map(s -> Arguments.of(s.get("seed").asText(), s.get("pickle_hex").asText()));
  }

  private static int[] tokens(JsonNode formula) {
    int[] tokens = new int[formula.get("count").intValue()];
    long a = formula.get("a").longValue();
    long b = formula.get("b").longValue();
    for (int i = 0; i < tokens.length; i++) {
      tokens[i] =
          Math.toIntExact(
              formula.get("offset").longValue() + (a * i + b) % formula.get("modulus").longValue());
    }
    return tokens;
  }

  private static byte[][] texts(JsonNode formula) {
    return Vectors.stream(formula.get("texts"))
        .map(t -> HashProfile.utf8(t.get("unit").asText().repeat(t.get("times").intValue())))
        .toArray(byte[][]::new);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("cases")
  void pickle_ofABlock_isWhatCpythonWrites(String name, JsonNode formula) {
    byte[] parent = BlockChain.sha256().digest(HashProfile.utf8(name));
    int[] tokens = tokens(formula);
    PickleEncoding encoding = new PickleEncoding();

    encoding.block(parent, tokens, 0, tokens.length, texts(formula));

    assertThat(encoding.size()).isEqualTo(formula.get("length").intValue());
    byte[] written = Arrays.copyOf(encoding.buffer(), encoding.size());
    assertThat(HexFormat.of().formatHex(BlockChain.sha256().digest(written)))
        .isEqualTo(formula.get("sha256").asText());
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("seeds")
  void pickle_ofASeed_isWhatCpythonWrites(String seed, String hex) {
    PickleEncoding encoding = new PickleEncoding();

    encoding.root(seed);

    assertThat(Arrays.copyOf(encoding.buffer(), encoding.size()))
        .isEqualTo(HexFormat.of().parseHex(hex));
  }
}
