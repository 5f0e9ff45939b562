package baton.publisher;

import static org.assertj.core.api.Assertions.assertThat;

import baton.Vectors;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Recorded payloads of all three dialects, and exactly what each must do. */
class EventVectorsTest {
  private static final Map<String, Medium> TIERS =
      Map.of(
          "device", Medium.DEVICE,
          "cpu_local", Medium.CPU,
          "cpu_share", Medium.CPU,
          "disk", Medium.DISK);

  private static List<Arguments> cases() {
    return Vectors.cases("events.json");
  }

  private static List<String> expected(JsonNode effect) {
    List<String> lines = new ArrayList<>();
    for (String kind : List.of("stored", "removed")) {
      if (effect.has(kind)) {
        effect
            .get(kind)
            .properties()
            .forEach(
                tier ->
                    lines.add(
                        kind
                            + ' '
                            + TIERS.get(tier.getKey())
                            + ' '
                            + Vectors.stream(tier.getValue()).map(JsonNode::asText).toList()));
      }
    }
    if (effect.path("cleared").asBoolean()) {
      lines.add("cleared all");
    }
    return lines;
  }

  /** What a decoder said, with the keys of one kind and medium in one line. */
  private static List<String> joined(List<String> heard) {
    List<String> lines = new ArrayList<>();
    for (String line : heard) {
      String last = lines.isEmpty() ? "" : lines.get(lines.size() - 1);
      String start = line.substring(0, line.indexOf('[') + 1);
      if (!start.isEmpty() && last.startsWith(start)) {
        lines.set(
            lines.size() - 1,
            last.substring(0, last.length() - 1) + ", " + line.substring(start.length()));
      } else {
        lines.add(line);
      }
    }
    return lines;
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("cases")
  void payload_ofACase_hasExactlyItsEffect(String name, JsonNode vector) {
    JsonNode effect = vector.get("effect");
    TestStream stream = TestStream.of(vector.get("type").asText());

    Refusal refusal =
        stream.decoder().decode(HexFormat.of().parseHex(vector.get("payload_hex").asText()));

    assertThat(joined(stream.heard())).isEqualTo(expected(effect));
    assertThat(refusal != null).isEqualTo(effect.path("refused_batch").asInt() == 1);
    assertThat(stream.refused().values().stream().mapToLong(Long::longValue).sum())
        .isEqualTo(effect.path("refused").asLong());
    assertThat(stream.counts().applied(EventKind.STORED) > 0).isEqualTo(effect.has("stored"));
    assertThat(stream.counts().applied(EventKind.REMOVED) > 0).isEqualTo(effect.has("removed"));
    assertThat(stream.counts().applied(EventKind.CLEARED) > 0).isEqualTo(effect.has("cleared"));
  }
}
