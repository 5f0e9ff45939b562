package baton.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A size of the cache that is none: the process ends at once and says why. */
class StartRefusalIT {
  private static final String VARIABLE = "SG_PROMPT_EMBEDS_CACHE_GIB";

  @TempDir static Path outputs;

  /** All of them start at the same time, so that the last need not wait for the first. */
  private static final Map<String, Process> PROCESSES = new LinkedHashMap<>();

  static Stream<String> sizes() {
    return Stream.of("nan", "inf", "-1", "1d", "", "1e-20", "1000000");
  }

  @BeforeAll
  static void start() throws IOException {
    for (String size : sizes().toList()) {
      ProcessBuilder process = new ProcessBuilder(command());
      process.environment().put(VARIABLE, size);
      process.redirectErrorStream(true).redirectOutput(output(size).toFile());
      PROCESSES.put(size, process.start());
    }
  }

  @AfterAll
  static void stop() {
    PROCESSES.values().forEach(Process::destroyForcibly);
  }

  private static Path output(String size) {
    return outputs.resolve("of" + size);
  }

  /** What starts the artifact that was built, which the other tests have started for them. */
  private static List<String> command() throws IOException {
    Path target = Path.of(System.getProperty("native.image.path")).getParent();
    Properties artifact = new Properties();
    try (InputStream in = Files.newInputStream(target.resolve("quarkus-artifact.properties"))) {
      artifact.load(in);
    }
    String path = target.resolve(artifact.getProperty("path")).toString();
    List<String> command = new ArrayList<>();
    boolean binary = artifact.getProperty("type").startsWith("native");
    command.add(binary ? path : Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Dquarkus.http.port=0");
    command.add("-Dbaton.rpc.port=0");
    if (!binary) {
      command.addAll(List.of("-jar", path));
    }
    return command;
  }

  @ParameterizedTest
  @MethodSource("sizes")
  void start_sizeIsNone_endsAndNamesVariableAndValue(String size) throws Exception {
    Process process = PROCESSES.get(size);
    assertThat(process.waitFor(Api.PATIENCE.toSeconds(), TimeUnit.SECONDS)).as("ended").isTrue();
    String output = Files.readString(output(size));
    assertThat(process.exitValue()).as(output).isEqualTo(1);
    assertThat(output)
        .contains(VARIABLE + "=\"" + size + "\"")
        .doesNotContain("listens", "\tat ", "java.lang");
  }
}
