package baton;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The packages' arrows run one way, and the core knows no framework. */
class ArchitectureTest {
  private static final Path SOURCES = Path.of("src/main/java/baton");
  private static final Pattern USE = Pattern.compile("\\bbaton\\.([a-z]+)\\.[A-Z]");

  private static final Pattern STRING = Pattern.compile("\"[^\"\n]*\"");

  /** What each package may use of the others. */
  private static final Map<String, Set<String>> ALLOWED =
      Map.ofEntries(
          Map.entry("hash", Set.of()),
          Map.entry("msgpack", Set.of()),
          Map.entry("config", Set.of("conductor", "publisher", "hash")),
          Map.entry("embeds", Set.of()),
          Map.entry("index", Set.of("hash")),
          Map.entry("publisher", Set.of("hash", "msgpack")),
          Map.entry("conductor", Set.of("publisher", "index", "hash")),
          Map.entry("rpc", Set.of("conductor", "publisher", "hash", "config")),
          Map.entry("client", Set.of("rpc")),
          Map.entry(
              "http",
              Set.of(
                  "client",
                  "rpc",
                  "conductor",
                  "publisher",
                  "hash",
                  "msgpack",
                  "config",
                  "embeds")),
          Map.entry("demo", Set.of("conductor", "publisher", "hash", "config")),
          Map.entry(
              "app",
              Set.of(
                  "client", "rpc", "conductor", "publisher", "index", "hash", "config", "embeds")));

  private static final Set<String> CORE =
      Set.of("hash", "msgpack", "index", "publisher", "conductor", "embeds");

  /** The channel's server side; the rest of its package is the codec. */
  private static final Set<String> RPC_SERVER =
      Set.of("RpcServer", "RpcConnection", "RpcCalls", "RpcMeter", "LocalConductor");

  @Test
  void packages_useOnlyWhatIsBelowThem() {
    for (Path source : sources()) {
      String own = source.getParent().getFileName().toString();
      Matcher use = USE.matcher(STRING.matcher(text(source)).replaceAll("\"\""));
      while (use.find()) {
        if (!use.group(1).equals(own)) {
          assertThat(ALLOWED.get(own))
              .as("%s uses baton.%s", source, use.group(1))
              .contains(use.group(1));
        }
      }
    }
  }

  @Test
  void core_importsNoFramework() {
    for (Path source : sources()) {
      if (CORE.contains(source.getParent().getFileName().toString())) {
        assertThat(text(source))
            .as(source.toString())
            .doesNotContain("import jakarta.", "import io.quarkus.", "import io.micrometer.");
      }
    }
  }

  @Test
  void clientAndCodec_needOnlyTheJdk() {
    for (Path source : sources()) {
      String name = source.getFileName().toString().replace(".java", "");
      String own = source.getParent().getFileName().toString();
      if (own.equals("embeds")
          || own.equals("client")
          || (own.equals("rpc") && !RPC_SERVER.contains(name))) {
        assertThat(text(source).lines().filter(line -> line.startsWith("import ")))
            .as(source.toString())
            .allMatch(
                line ->
                    line.matches(
                        "import (static )?(java|javax\\.crypto|baton\\.(rpc|client|embeds))\\..*"));
      }
    }
  }

  @Test
  void everyPackage_tellsItsStory() {
    assertThat(ALLOWED.keySet())
        .allSatisfy(
            name -> assertThat(SOURCES.resolve(name).resolve("package-info.java")).exists());
  }

  private static List<Path> sources() {
    try (Stream<Path> files = Files.walk(SOURCES)) {
      List<Path> sources = files.filter(f -> f.toString().endsWith(".java")).toList();
      assertThat(sources).hasSizeGreaterThan(40);
      return sources;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String text(Path source) {
    try {
      return Files.readString(source);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
