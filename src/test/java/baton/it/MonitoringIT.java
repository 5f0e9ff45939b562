package baton.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the dashboard and the alerts in {@code k8s/overlays/monitoring} ask for is published. */
@QuarkusIntegrationTest
class MonitoringIT {
  private static final Path FOLDER = Path.of("k8s/overlays/monitoring");

  private static final Set<String> OF_PROMETHEUS = Set.of("up");
  private static final Set<String> LABELS_OF_PROMETHEUS = Set.of("job", "namespace", "pod");
  private static final Set<String> OPERATORS = Set.of("and", "or", "unless", "bool");

  private static final Pattern GROUPING = Pattern.compile("\\b(?:by|without)\\s*\\(([^)]*)\\)");
  private static final Pattern SELECTOR =
      Pattern.compile("(?<![\\w.:])([a-zA-Z_:][\\w:]*+)(?!\\s*\\()(?:\\{([^}]*)})?");
  private static final Pattern LABEL = Pattern.compile("(\\w+)\\s*(?:=~|!~|!=|=)\\s*\"([^\"]*)\"");

  /** Names of metrics, their labels and these labels' values. */
  private final Map<String, Map<String, Set<String>>> published = new HashMap<>();

  @BeforeEach
  void readMetrics() {
    // A request's own meter is there once the first has been answered.
    Api.get("/services");
    Pattern sample = Pattern.compile("^(\\w+)(?:\\{(.*)})? \\S+$", Pattern.MULTILINE);
    sample
        .matcher(Api.get("/q/metrics").text())
        .results()
        .forEach(
            found -> {
              Map<String, Set<String>> labels =
                  published.computeIfAbsent(found.group(1), name -> new HashMap<>());
              labels(found.group(2))
                  .forEach(
                      label ->
                          labels
                              .computeIfAbsent(label.group(1), name -> new HashSet<>())
                              .add(label.group(2)));
            });
    assertThat(published).hasSizeGreaterThan(20);
  }

  private static List<MatchResult> labels(String text) {
    return LABEL.matcher(text == null ? "" : text).results().toList();
  }

  @Test
  void alerts_askForWhatIsPublished() throws IOException {
    JsonNode rules =
        new ObjectMapper(new YAMLFactory())
            .readTree(FOLDER.resolve("prometheusrule.yaml").toFile());
    assertPublished(rules);
  }

  @Test
  void dashboard_asksForWhatIsPublished() throws IOException {
    assertPublished(new ObjectMapper().readTree(FOLDER.resolve("baton.json").toFile()));
  }

  @Test
  void question_ofAnotherNameLabelOrValue_isNoticed() {
    assertThat(missing("sum by (pod) (rate(baton_gaps_totl[5m])) > 0"))
        .containsExactly("baton_gaps_totl");
    assertThat(missing("baton_publishers{stat=\"lost\"} / baton_blocks"))
        .containsExactly("baton_publishers{stat}");
    assertThat(missing("baton_publishers{pod=\"a\", state=~\"lost|lsot\"}"))
        .containsExactly("baton_publishers{state=lsot}");
    assertThat(missing("sum by (kind, reason) (baton_events_total)"))
        .containsExactly("by (reason)");
    assertThat(missing("max(up{job=\"baton\"}) unless 1e3 < baton_blocks")).isEmpty();
  }

  private void assertPublished(JsonNode document) {
    List<String> expressions = document.findValuesAsText("expr");
    assertThat(expressions).hasSizeGreaterThan(8);
    for (String expression : expressions) {
      assertThat(missing(expression)).as(expression).isEmpty();
    }
  }

  /** What an expression of PromQL names and nobody publishes. */
  private Set<String> missing(String expression) {
    Set<String> missing = new TreeSet<>();
    Set<String> known = new HashSet<>(LABELS_OF_PROMETHEUS);
    known.add("le");
    String rest = GROUPING.matcher(expression).replaceAll("").replaceAll("\\[[^]]*]", "");
    Matcher selector = SELECTOR.matcher(rest);
    while (selector.find()) {
      String name = selector.group(1);
      Map<String, Set<String>> labels = published.get(name);
      if (OF_PROMETHEUS.contains(name) || OPERATORS.contains(name)) {
        continue;
      }
      if (labels == null) {
        missing.add(name);
        // Nothing is known of its labels.
        return missing;
      }
      known.addAll(labels.keySet());
      for (MatchResult label : labels(selector.group(2))) {
        if (!LABELS_OF_PROMETHEUS.contains(label.group(1))) {
          missing.addAll(missing(name, label.group(1), label.group(2), labels));
        }
      }
    }
    for (MatchResult grouping : GROUPING.matcher(expression).results().toList()) {
      for (String label : grouping.group(1).split(",")) {
        if (!known.contains(label.strip())) {
          missing.add("by (" + label.strip() + ")");
        }
      }
    }
    return missing;
  }

  private static List<String> missing(
      String name, String label, String value, Map<String, Set<String>> labels) {
    if (!labels.containsKey(label)) {
      return List.of(name + "{" + label + "}");
    }
    List<String> missing = new ArrayList<>();
    // Other patterns than "a|b" are not looked into.
    if (value.matches("[\\w|]+")) {
      for (String one : value.split("\\|")) {
        if (!labels.get(label).contains(one)) {
          missing.add(name + "{" + label + "=" + one + "}");
        }
      }
    }
    return missing;
  }
}
