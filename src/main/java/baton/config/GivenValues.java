package baton.config;

import io.smallrye.config.ConfigSourceContext;
import io.smallrye.config.ConfigValue;
import io.smallrye.config.EnvConfigSource;
import io.smallrye.config.NameIterator;
import io.smallrye.config.PropertiesLocationConfigSourceFactory;
import io.smallrye.config.SmallRyeConfig;
import io.smallrye.config.SmallRyeConfigBuilder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.eclipse.microprofile.config.spi.ConfigSource;

/**
 * What operators gave by other ways than the file of publishers: system properties, environment,
 * property files.
 *
 * @param values by key
 * @param publishers by name, their fields as in {@link Key#PUBLISHER_FIELDS}
 * @param variables the same from the environment, by the name as it is written there
 * @param faults keys that are none, and values that cannot be had
 */
record GivenValues(
    Map<String, Given> values,
    Map<String, Map<String, Given>> publishers,
    Map<String, Map<String, Given>> variables,
    List<Fault> faults) {
  /** Of the properties that Baton itself brings. */
  private static final int OWN_DEFAULTS_ORDINAL = 250;

  private static final String ENVIRONMENT = "the environment";

  /** What Kubernetes tells a container about a service that is called as this prefix is. */
  private static final Pattern SERVICE_LINK =
      Pattern.compile(
          "BATON_(.*_)?"
              + "(SERVICE_HOST=.*|SERVICE_PORT(_.*)?=.*|PORT_[0-9]+_.*=.*|PORT=[a-z]+://.*)");

  /**
   * @param others keys that do not begin with {@code baton.}
   */
  static GivenValues read(ConfigSourceContext context, List<String> others) {
    SmallRyeConfig config = withFiles(context);
    Map<String, String> environment = new TreeMap<>();
    for (ConfigSource source : config.getConfigSources()) {
      if (source instanceof EnvConfigSource) {
        // That of the process, and a file .env beside it.
        source.getProperties().forEach(environment::putIfAbsent);
      }
    }
    var reading =
        new Reading(
            config,
            environment.keySet(),
            new LinkedHashMap<>(),
            new LinkedHashMap<>(),
            new LinkedHashMap<>(),
            new ArrayList<>());
    Key.ALL.forEach(key -> reading.value(key.name()));
    others.forEach(reading::value);
    reading.config.getPropertyNames().forEach(reading::property);
    environment.forEach(reading::variable);
    return new GivenValues(reading.values, reading.publishers, reading.variables, reading.faults);
  }

  /**
   * The configuration as it will be, but for the file of publishers. A source that is made while
   * the others are there, as that one is, does not see others of its kind: those of property files
   * that operators name.
   */
  private static SmallRyeConfig withFiles(ConfigSourceContext context) {
    var builder =
        new SmallRyeConfigBuilder()
            .addDefaultInterceptors()
            .withProfiles(context.getProfiles())
            .withSources(context.getConfigSources());
    new PropertiesLocationConfigSourceFactory()
        .getConfigSources(context)
        .forEach(builder::withSources);
    return builder.build();
  }

  private record Reading(
      SmallRyeConfig config,
      Set<String> variableNames,
      Map<String, Given> values,
      Map<String, Map<String, Given>> publishers,
      Map<String, Map<String, Given>> variables,
      List<Fault> faults) {

    void value(String key) {
      find(key).filter(given -> !given.isRefused()).ifPresent(given -> values.put(key, given));
    }

    private Optional<Given> find(String key) {
      try {
        ConfigValue found = config.getConfigValue(key);
        if (found.hasProblems()) {
          Given given = given(key, found);
          boolean secret = Key.ALL.stream().anyMatch(k -> k.secret() && k.name().equals(key));
          String shown = secret ? "" : ": " + Key.quoted(found.getRawValue());
          faults.add(given.fault("refers to what nobody has given" + shown));
          return Optional.of(given);
        }
        return found.getValue() == null ? Optional.empty() : Optional.of(given(key, found));
      } catch (NoSuchElementException | IllegalArgumentException e) {
        faults.add(new Fault(key, "has an expression that cannot be read"));
        return Optional.empty();
      }
    }

    private Given given(String key, ConfigValue found) {
      int ordinal = found.getConfigSourceOrdinal();
      String source = String.valueOf(found.getConfigSourceName());
      if (isEnvironment(found)) {
        String variable = variableNames.contains(key) ? key : Key.environmentName(key);
        return new Given(found.getValue(), variable + " in " + ENVIRONMENT, ENVIRONMENT, ordinal);
      }
      String origin = source.replaceAll(".*\\[source=(?:file:)?(.*)]", "$1");
      if (source.contains("SysProp")) {
        origin = "system properties";
      } else if (ordinal <= OWN_DEFAULTS_ORDINAL) {
        origin = Given.DEFAULT;
      }
      return new Given(found.getValue(), key + " in " + origin, origin, ordinal);
    }

    private static boolean isEnvironment(ConfigValue found) {
      String source = String.valueOf(found.getConfigSourceName());
      return source.contains("EnvConfigSource");
    }

    void property(String name) {
      if (!name.startsWith(Key.PREFIX) || isKey(name)) {
        return;
      }
      find(name)
          // What the framework makes of a variable's name is a guess; see below.
          .filter(given -> !given.origin().equals(ENVIRONMENT) || variableNames.contains(name))
          .ifPresent(
              given -> {
                if (name.startsWith(Key.PUBLISHERS)) {
                  publisher(name, given);
                } else {
                  faults.add(given.fault("is no key of Baton's"));
                }
              });
    }

    private static boolean isKey(String name) {
      return Key.ALL.stream().anyMatch(key -> key.name().equals(name));
    }

    private void publisher(String property, Given given) {
      NameIterator segments = new NameIterator(property, Key.PUBLISHERS.length() - 1);
      String name = "";
      String field = "";
      if (segments.hasNext()) {
        name = segments.getNextSegment();
        segments.next();
        field = property.substring(Math.min(segments.getPosition() + 1, property.length()));
      }
      if (Key.PUBLISHER_FIELDS.contains(field)) {
        publishers.computeIfAbsent(name, n -> new LinkedHashMap<>()).put(field, given);
      } else {
        faults.add(given.fault("is no field of a publisher"));
      }
    }

    void variable(String variable, String value) {
      if (!variable.startsWith("BATON_")
          || SERVICE_LINK.matcher(variable + "=" + value).matches()) {
        return;
      }
      if (variable.startsWith(Key.environmentName(Key.PUBLISHERS))) {
        publisherVariable(variable);
      } else if (Key.ALL.stream().noneMatch(k -> Key.environmentName(k.name()).equals(variable))) {
        faults.add(new Fault(variable + " in " + ENVIRONMENT, "is no key of Baton's"));
      }
    }

    /** Where the publisher's name ends, only the fields tell, of which there are few. */
    private void publisherVariable(String variable) {
      String rest = variable.substring(Key.environmentName(Key.PUBLISHERS).length());
      String field =
          Key.PUBLISHER_FIELDS.stream()
              .filter(f -> rest.endsWith("_" + Key.environmentName(f)))
              .max(Comparator.comparingInt(String::length))
              .orElse("");
      int nameLength = rest.length() - field.length() - 1;
      if (field.isEmpty() || nameLength == 0) {
        faults.add(new Fault(variable + " in " + ENVIRONMENT, "is no field of a publisher"));
        return;
      }
      find(variable)
          .ifPresent(
              given ->
                  variables
                      .computeIfAbsent(rest.substring(0, nameLength), n -> new LinkedHashMap<>())
                      .put(field, given));
    }
  }
}
