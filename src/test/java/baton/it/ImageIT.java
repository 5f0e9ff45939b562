package baton.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The JVM image, as the build leaves it in a tarball. Layers of a base, if it has any, are not
 * looked into. There is none when the native binary is built.
 */
@DisabledIfSystemProperty(named = "image.skip", matches = "true")
class ImageIT {
  private static final Path TAR = Path.of(System.getProperty("image.tar"));
  private static final Path APP = TAR.resolveSibling("quarkus-app");
  private static final ObjectMapper JSON = new ObjectMapper();

  /** A file or folder of a layer. */
  private record Item(TarArchiveEntry entry, byte[] bytes) {}

  private static JsonNode image;
  private static JsonNode config;
  private static List<Map<String, Item>> layers;

  @BeforeAll
  static void read() throws IOException {
    Map<String, Item> outer = items(Files.newInputStream(TAR));
    JsonNode manifest = JSON.readTree(outer.get("manifest.json").bytes()).get(0);
    image = JSON.readTree(outer.get(manifest.get("Config").asText()).bytes());
    config = image.get("config");
    JsonNode names = manifest.get("Layers");
    layers = new ArrayList<>();
    for (int i = names.size() - 3; i < names.size(); i++) {
      byte[] zipped = outer.get(names.get(i).asText()).bytes();
      layers.add(items(new GZIPInputStream(new ByteArrayInputStream(zipped))));
    }
  }

  private static Map<String, Item> items(InputStream stream) throws IOException {
    Map<String, Item> items = new LinkedHashMap<>();
    try (TarArchiveInputStream tar = new TarArchiveInputStream(stream)) {
      for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
        items.put(entry.getName(), new Item(entry, tar.readAllBytes()));
      }
    }
    return items;
  }

  private static Set<String> files(Map<String, Item> layer) {
    return layer.entrySet().stream()
        .filter(item -> item.getValue().entry().isFile())
        .map(Map.Entry::getKey)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The files of the build in the folder, as they are named in the image. */
  private static Set<String> built(String folder) throws IOException {
    try (Stream<Path> files = Files.walk(APP.resolve(folder))) {
      return files
          .filter(Files::isRegularFile)
          .map(file -> "baton/" + APP.relativize(file))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  private static Map<String, ZipEntry> entries(byte[] jar) throws IOException {
    Map<String, ZipEntry> entries = new LinkedHashMap<>();
    try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(jar))) {
      for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
        entries.put(entry.getName(), entry);
      }
    }
    return entries;
  }

  private static byte[] applicationJar() {
    return layers.get(2).get("baton/app/baton.jar").bytes();
  }

  private static List<String> texts(JsonNode list) {
    return JSON.convertValue(
        list, JSON.getTypeFactory().constructCollectionType(List.class, String.class));
  }

  @Test
  void process_isJavaItself_withoutRights() {
    assertThat(texts(config.get("Entrypoint")))
        .startsWith("java")
        .endsWith("-jar", "/baton/quarkus-run.jar");
    assertThat(config.path("Cmd")).isEmpty();
    assertThat(config.get("User").asText()).isEqualTo("10001:10001");
    assertThat(config.get("ExposedPorts").fieldNames())
        .toIterable()
        .containsExactlyInAnyOrder("13333/tcp", "13334/tcp");
  }

  @Test
  void layers_areLibrariesThenFrameworkThenApplication() throws IOException {
    assertThat(files(layers.get(0))).isEqualTo(built("lib")).hasSizeGreaterThan(50);
    Set<String> framework = built("quarkus");
    framework.add("baton/quarkus-run.jar");
    assertThat(files(layers.get(1))).isEqualTo(framework);
    assertThat(files(layers.get(2))).containsExactly("baton/app/baton.jar");
  }

  @Test
  void libraries_areNoneOfTheTests_andHoldNoClassOfBaton() throws IOException {
    assertThat(files(layers.get(0)))
        .noneMatch(name -> name.matches(".*(junit|assertj|jqwik|awaitility|fabric8|knative).*"));
    for (String name : files(layers.get(0))) {
      assertThat(entries(layers.get(0).get(name).bytes()).keySet())
          .as(name)
          .noneMatch(entry -> entry.startsWith("baton/"));
    }
  }

  @Test
  void application_isWhatWasCompiledFromItsSources() throws IOException {
    Path classes = TAR.resolveSibling("classes");
    try (Stream<Path> files = Files.walk(classes)) {
      Set<String> compiled =
          files
              .filter(Files::isRegularFile)
              .map(file -> classes.relativize(file).toString())
              .collect(Collectors.toSet());
      Map<String, ZipEntry> entries = entries(applicationJar());
      assertThat(entries.keySet())
          .filteredOn(name -> !name.endsWith("/") && !name.equals("META-INF/MANIFEST.MF"))
          .isNotEmpty()
          .isSubsetOf(compiled)
          .contains("baton/http/ConductorResource.class");
    }
  }

  @Test
  void image_holdsNoSecret() {
    assertThat(texts(config.path("Env")))
        .noneMatch(variable -> variable.matches("(?i).*(token|secret|password).*"));
    for (Map<String, Item> layer : layers) {
      assertThat(files(layer)).allMatch(name -> name.matches("baton/.*\\.(jar|dat)"));
    }
  }

  @Test
  void times_areThoseOfNoBuild() throws IOException {
    assertThat(image.get("created").asText()).isEqualTo("1970-01-01T00:00:00Z");
    for (Map<String, Item> layer : layers) {
      assertThat(layer.values())
          .allSatisfy(
              item -> {
                assertThat(item.entry().getLastModifiedTime().toMillis()).isEqualTo(1000);
                assertThat(item.entry().getLongUserId()).isZero();
                assertThat(item.entry().getMode() & 0022).isZero();
              });
    }
    assertThat(entries(applicationJar()).values())
        .extracting(ZipEntry::getTimeLocal)
        .containsOnly(LocalDateTime.of(2026, 1, 1, 0, 0));
  }

  @ParameterizedTest
  @ValueSource(strings = {"jvm", "native"})
  void dockerfile_makesTheSameProcess(String kind) throws IOException {
    String file = Files.readString(Path.of("src/main/docker/Dockerfile." + kind));
    assertThat(file)
        .contains("\nUSER " + config.get("User").asText() + "\n", "\nEXPOSE 13333 13334\n");
    String command = file.substring(file.lastIndexOf("\nENTRYPOINT ") + 12);
    List<String> expected =
        kind.equals("jvm") ? texts(config.get("Entrypoint")) : List.of("/baton/baton");
    assertThat(texts(JSON.readTree(command))).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(strings = {"base/deployment.yaml", "overlays/knative/service.yaml"})
  void manifests_nameTheImagesUser(String manifest) throws IOException {
    String user = config.get("User").asText().split(":")[0];
    assertThat(Files.readString(Path.of("k8s", manifest))).contains("runAsUser: " + user + "\n");
  }
}
