package baton.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The README's table of keys is what {@link BatonConfig} says of them, word by word. */
class ConfigTableTest {
  private static final Path README = Path.of("README.md");
  private static final Path SOURCE = Path.of("src/main/java/baton/config/BatonConfig.java");
  private static final Path WANTED = Path.of("target/keys.md");
  private static final String BEGIN = "<!-- keys -->\n";
  private static final String END = "<!-- /keys -->";

  private static final Pattern GROUP =
      Pattern.compile("^ {2}interface (\\w+) \\{(.*?)^ {2}\\}", Pattern.MULTILINE | Pattern.DOTALL);

  /** A method's comment, whatever annotations stand between, its type and its name. */
  private static final Pattern METHOD =
      Pattern.compile(
          "/\\*\\*((?:(?!\\*/).)*)\\*/((?:(?!/\\*\\*).)*?)(\\w+)\\(\\);", Pattern.DOTALL);

  private static final Pattern MEMBER =
      Pattern.compile("^ {2}(\\w+) (\\w+)\\(\\);", Pattern.MULTILINE);
  private static final Pattern INNER =
      Pattern.compile("^ {4}(\\w+) (\\w+)\\(\\);", Pattern.MULTILINE);

  @Test
  void readme_hasTheTableOfAllKeys() throws IOException {
    String wanted = table(meanings(Files.readString(SOURCE)));
    Files.createDirectories(WANTED.getParent());
    String readme = Files.readString(README);
    assertThat(readme).contains(BEGIN, END);
    String table = readme.substring(readme.indexOf(BEGIN) + BEGIN.length(), readme.indexOf(END));
    if (!table.equals(wanted)) {
      Files.writeString(WANTED, wanted);
    }
    assertThat(table)
        .as("README.md between %s and %s; what it should be is in %s", BEGIN.strip(), END, WANTED)
        .isEqualTo(wanted);
  }

  @Test
  void readme_namesAllOtherKeysThatMatter() throws IOException {
    String readme = Files.readString(README);
    assertThat(Settings.OTHER_KEYS)
        .allSatisfy(key -> assertThat(readme).contains("\n| `" + key + "` |"));
  }

  private static String table(Map<String, String> meanings) {
    Map<String, String> standards = new TreeMap<>();
    for (Key key : Key.ALL) {
      standards.put(key.name(), key.standard());
    }
    String publisher = Key.PUBLISHERS + "<name>.";
    Key.PUBLISHER_FIELDS.forEach(field -> standards.put(publisher + field, null));
    assertThat(meanings.keySet()).as("keys with a comment").isEqualTo(standards.keySet());

    StringBuilder table = new StringBuilder("| key | default | meaning |\n|---|---|---|\n");
    standards.forEach(
        (name, standard) ->
            table.append(
                "| `%s` |%s | %s |\n"
                    .formatted(
                        name, standard == null ? "" : " `" + standard + '`', meanings.get(name))));
    return table.toString();
  }

  /** Each key's meaning, from the comment of its method. */
  private static Map<String, String> meanings(String source) {
    Map<String, String> groups = new LinkedHashMap<>();
    Matcher group = GROUP.matcher(source);
    while (group.find()) {
      groups.put(group.group(1), group.group(2));
    }
    Map<String, String> meanings = new TreeMap<>();
    Matcher member = MEMBER.matcher(source);
    while (member.find()) {
      collect(groups, member.group(1), Key.PREFIX + kebab(member.group(2)) + ".", meanings);
    }
    collect(groups, "Publisher", Key.PUBLISHERS + "<name>.", meanings);
    return meanings;
  }

  private static void collect(
      Map<String, String> groups, String type, String prefix, Map<String, String> meanings) {
    String body = groups.get(type);
    assertThat(body).as("interface %s", type).isNotNull();
    Matcher method = METHOD.matcher(body);
    while (method.find()) {
      meanings.put(prefix + kebab(method.group(3)), sentence(method.group(1)));
    }
    Matcher inner = INNER.matcher(body);
    while (inner.find()) {
      if (groups.containsKey(inner.group(1))) {
        collect(groups, inner.group(1), prefix + kebab(inner.group(2)) + ".", meanings);
      }
    }
  }

  private static String kebab(String camel) {
    return Arrays.stream(camel.split("(?=[A-Z])"))
        .map(String::toLowerCase)
        .collect(Collectors.joining("-"));
  }

  private static String sentence(String comment) {
    return comment
        .replaceAll("\\n\\s*\\*", " ")
        .replaceAll("\\s+", " ")
        .replaceAll("\\{@code ([^}]*)}", "`$1`")
        .strip();
  }
}
