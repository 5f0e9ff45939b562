package baton.config;

import baton.conductor.Claims;
import baton.conductor.Publisher;
import io.quarkus.runtime.configuration.DurationConverter;
import io.smallrye.config.common.utils.StringUtil;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * All that was given, looked at together: what the file of publishers says, and what everybody else
 * says.
 *
 * @param values by key, those that were given
 * @param entries the publishers' values by name and field
 * @param publishers by name, those without a fault
 * @param faults all of them
 */
record Settings(
    Map<String, Given> values,
    Map<String, Map<String, Given>> entries,
    Map<String, Publisher> publishers,
    List<Fault> faults) {
  static final String HTTP_PORT = "quarkus.http.port";
  static final String RPC_PORT = "baton.rpc.port";
  static final String LOG_LEVEL = "CONDUCTOR_LOG_LEVEL";
  private static final String ADDRESS = "baton.conductor.address";
  private static final String MAX_PUBLISHERS = "baton.registration.max-publishers";
  private static final String ALLOWED_ENDPOINTS = "baton.registration.allowed-endpoints";
  private static final String MAX_UPLOAD_BYTES = "baton.prompt-embeds.max-upload-bytes";
  private static final List<String> DURATIONS =
      List.of("quarkus.shutdown.delay", "quarkus.shutdown.timeout");
  private static final int MAX_PORT = 65535;

  /** As the client reads it: an IPv6 address has brackets. */
  private static final Pattern ADDRESS_FORM =
      Pattern.compile("(?:\\[[^\\[\\]/]+\\]|[^:/\\[\\]]+):([0-9]{1,5})");

  private static final Set<String> LEVELS = Set.of("DEBUG", "INFO", "WARN", "ERROR");

  /** Keys that matter here and are not under {@code baton.}. */
  static final List<String> OTHER_KEYS =
      List.of(
          HTTP_PORT,
          "quarkus.http.host",
          "quarkus.shutdown.delay",
          "quarkus.shutdown.timeout",
          LOG_LEVEL,
          ConductorConfigSource.PATH,
          CacheSize.VARIABLE);

  static Settings of(GivenValues others, ConductorFile file) {
    Map<String, Given> values = new LinkedHashMap<>(others.values());
    file.ports().forEach((key, port) -> values.merge(key, port, Settings::stronger));
    List<Fault> faults = new ArrayList<>(others.faults());
    faults.addAll(file.faults());
    Map<String, Map<String, Given>> entries = entries(others, file, faults);
    Settings settings = new Settings(values, entries, new LinkedHashMap<>(), faults);
    settings.checkKeys();
    settings.checkOthers();
    settings.makePublishers();
    return settings;
  }

  private static Given stronger(Given a, Given b) {
    return a.ordinal() > b.ordinal() ? a : b;
  }

  private static Map<String, Map<String, Given>> entries(
      GivenValues others, ConductorFile file, List<Fault> faults) {
    Map<String, Map<String, Given>> entries = new LinkedHashMap<>();
    file.publishers().forEach((name, fields) -> merge(entries, name, fields));
    others.publishers().forEach((name, fields) -> merge(entries, name, fields));
    others
        .variables()
        .forEach(
            (spelling, fields) -> {
              // One that is known by another way is meant if the environment writes its name so.
              List<String> meant =
                  entries.keySet().stream()
                      .filter(name -> Key.environmentName(name).equals(spelling))
                      .toList();
              if (meant.size() > 1) {
                Given first = fields.values().iterator().next();
                faults.add(first.fault("may mean any of " + String.join(", ", meant)));
              }
              merge(
                  entries,
                  meant.isEmpty()
                      ? spelling.toLowerCase(Locale.ROOT).replace('_', '-')
                      : meant.get(0),
                  fields);
            });
    return entries;
  }

  private static void merge(
      Map<String, Map<String, Given>> entries, String name, Map<String, Given> fields) {
    Map<String, Given> entry = entries.computeIfAbsent(name, n -> new LinkedHashMap<>());
    fields.forEach((field, given) -> entry.merge(field, given, Settings::stronger));
  }

  private void checkKeys() {
    for (Key key : Key.ALL) {
      Given given = values.get(key.name());
      String problem = given == null ? null : key.problem(given.value());
      if (problem != null) {
        faults.add(given.fault(problem));
      }
    }
  }

  private void checkOthers() {
    Given http = values.get(HTTP_PORT);
    String problem = http == null ? null : Numbers.problem(http.value(), 0, MAX_PORT);
    if (problem != null) {
      faults.add(http.fault(problem));
    } else if (http != null && number(http) != 0 && number(http) == number(RPC_PORT)) {
      faults.add(http.fault(number(http) + " is the RPC port too (" + RPC_PORT + ")"));
    }
    for (String key : DURATIONS) {
      Given given = values.get(key);
      if (given != null && !isDuration(given.value())) {
        faults.add(given.fault("must be a duration like 10S" + Key.not(given.value())));
      }
    }
    Given level = values.get(LOG_LEVEL);
    if (level != null && !LEVELS.contains(level.value())) {
      faults.add(level.fault("must be DEBUG, INFO, WARN or ERROR" + Key.not(level.value())));
    }
    Given address = values.get(ADDRESS);
    // An empty one is none, as for the framework.
    if (address != null && !address.value().isEmpty()) {
      checkAddress(address);
    }
    checkCacheSize();
  }

  private void checkAddress(Given address) {
    var parts = ADDRESS_FORM.matcher(address.value());
    if (!parts.matches() || Numbers.problem(parts.group(1), 1, MAX_PORT) != null) {
      faults.add(address.fault("must be host:port" + Key.not(address.value())));
    }
    if (!entries.isEmpty()) {
      faults.add(
          address.fault("serves a Conductor elsewhere, so no publishers can be configured here"));
    }
  }

  private void checkCacheSize() {
    Given size = values.get(CacheSize.VARIABLE);
    try {
      CacheSize.here(size == null ? null : size.value(), number(MAX_UPLOAD_BYTES));
    } catch (IllegalArgumentException e) {
      faults.add(new Fault(size.origin(), e.getMessage()));
    }
  }

  private static boolean isDuration(String value) {
    try {
      Duration duration = DurationConverter.parseDuration(value);
      // An empty value is as good as none.
      return duration == null || !duration.isNegative();
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** A value as it was given, or the default, which stands in for a wrong one, too. */
  private String text(String name) {
    Key key = Key.ALL.stream().filter(k -> k.name().equals(name)).findFirst().orElseThrow();
    Given given = values.get(name);
    return given == null || key.problem(given.value()) != null
        ? key.standard()
        : given.value().strip();
  }

  private long number(String name) {
    return Long.parseLong(text(name));
  }

  private static long number(Given given) {
    return Long.parseLong(given.value().strip());
  }

  private void makePublishers() {
    var made =
        new PublisherEntries(
            new Claims(
                (int) number(MAX_PUBLISHERS), List.of(StringUtil.split(text(ALLOWED_ENDPOINTS)))));
    entries.forEach((name, fields) -> made.add(name, where(name), fields));
    faults.addAll(made.faults());
    publishers.putAll(made.publishers());
  }

  /**
   * All that there is to show of it, secrets masked.
   *
   * @param inForce values by key, which are those of the start
   */
  List<Setting> shown(Map<String, Given> inForce) {
    Map<String, Given> others = new LinkedHashMap<>(inForce);
    List<Setting> shown = new ArrayList<>();
    for (Key key : Key.ALL) {
      Given given = others.remove(key.name());
      String value = given == null ? key.standard() : given.value();
      String origin = given == null ? Given.DEFAULT : given.origin();
      boolean masked = key.secret() && value != null;
      shown.add(new Setting(key.name(), masked ? "***" : value, origin));
    }
    others.forEach((key, given) -> shown.add(new Setting(key, given.value(), given.origin())));
    entries.forEach(
        (name, fields) ->
            fields.forEach(
                (field, given) ->
                    shown.add(
                        new Setting(
                            Key.publisherKey(name, field), given.value(), given.origin()))));
    return shown;
  }

  /** Where an operator finds a publisher's entry. */
  String where(String name) {
    return "publisher "
        + name
        + entries.get(name).values().stream()
            .findFirst()
            .map(given -> " in " + given.origin())
            .orElse("");
  }
}
