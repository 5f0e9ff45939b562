package baton.k8s;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** The kustomize inside of kubectl (Debian: kubernetes-client), which needs no cluster. */
final class Kubectl {
  private static final Path ROOT = Path.of("k8s");
  private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());

  /** Rendered once, read anew for each test. */
  private static final Map<String, String> RENDERED = new ConcurrentHashMap<>();

  private Kubectl() {}

  /** Skips the test where there is none, or fails it with {@code -Drequire-kubectl}. */
  static void require() {
    String missing = "no kubectl here";
    boolean found =
        Stream.of(System.getenv("PATH").split(":"))
            .anyMatch(folder -> Files.isExecutable(Path.of(folder, "kubectl")));
    if (!found && Boolean.getBoolean("require-kubectl")) {
      fail(missing);
    }
    Assumptions.assumeTrue(found, missing);
  }

  /** Everything that can be applied: the base and the overlays. */
  static List<String> applicable() {
    try (Stream<Path> overlays = Files.list(ROOT.resolve("overlays"))) {
      return Stream.concat(Stream.of("base"), overlays.map(o -> "overlays/" + o.getFileName()))
          .sorted()
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The documents of an overlay. Those of one that brings no pods come beside the base's. */
  static List<JsonNode> render(String overlay) {
    List<JsonNode> documents = documents(overlay);
    if (documents.stream().noneMatch(document -> Rules.pod(document) != null)) {
      documents.addAll(documents("base"));
    }
    return documents;
  }

  private static List<JsonNode> documents(String overlay) {
    String text = RENDERED.computeIfAbsent(overlay, Kubectl::kustomize);
    try {
      return YAML.readerFor(JsonNode.class).<JsonNode>readValues(text).readAll();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String kustomize(String overlay) {
    try {
      Path errors = Files.createTempFile("kubectl", ".err");
      Process process =
          new ProcessBuilder("kubectl", "kustomize", ROOT.resolve(overlay).toString())
              .redirectError(errors.toFile())
              .start();
      String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(process.waitFor()).as("%s: %s", overlay, Files.readString(errors)).isZero();
      Files.delete(errors);
      return text;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
