package baton.embeds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What the cache charges is what it takes: a process that keeps one grows by its used bytes, within
 * a tenth, after ten times its capacity has passed through.
 *
 * <p>The Java heap gets about twice what the entries take of it, some 200 bytes each: a collector
 * lets garbage grow up to the limit it is given, and with a large one it would be the garbage that
 * is measured. Payloads of 1 KiB have the smaller cache, because as many bytes of them take ten
 * times as long.
 */
@EnabledOnOs(OS.LINUX)
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class PromptEmbedsCacheMemoryTest {
  private static final long KIB = 1 << 10;
  private static final long MIB = 1 << 20;

  @ParameterizedTest(name = "{0} MiB of payloads of {2} to {3} KiB")
  @CsvSource({
    "256, -Xmx64m, 1, 1",
    "1024, -Xmx64m, 100, 100",
    "1024, -Xmx64m, 51200, 51200",
    "1024, -Xmx64m, 1, 200"
  })
  void process_afterTenTimesTheCapacity_hasGrownByTheUsedBytes(
      long capacityMib, String heap, long smallestKib, long largestKib) throws Exception {
    long[] output = run(heap, capacityMib * MIB, smallestKib * KIB, largestKib * KIB);
    long used = output[0];
    long grown = output[1];
    System.out.printf(
        "%d to %d KiB: %d entries use %.1f MiB; units %.1f MiB, live heap %.1f MiB; RSS grew by"
            + " %.1f MiB: %+.1f %%%n",
        smallestKib,
        largestKib,
        output[2],
        (double) used / MIB,
        (double) output[3] / MIB,
        (double) output[4] / MIB,
        (double) grown / MIB,
        100.0 * (grown - used) / used);

    assertThat(used).isCloseTo(capacityMib * MIB, Percentage.withPercentage(5));
    assertThat((double) grown / used).isCloseTo(1.0, within(0.1));
  }

  private static long[] run(String heap, long... arguments) throws IOException {
    ProcessBuilder java =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            heap,
            "-cp",
            System.getProperty("java.class.path"),
            MemoryProgram.class.getName());
    Arrays.stream(arguments).mapToObj(Long::toString).forEach(java.command()::add);
    Process process = java.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return Arrays.stream(output.trim().split(" ")).mapToLong(Long::parseLong).toArray();
  }
}
