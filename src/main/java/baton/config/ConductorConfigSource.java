package baton.config;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.eclipse.microprofile.config.spi.ConfigSource;

/**
 * What {@code conductor_config.json} said at the start, under the keys of everybody else, and the
 * log levels that {@code CONDUCTOR_LOG_LEVEL} stands for. It carries what {@link
 * ConfiguredPublishers} goes on with.
 */
final class ConductorConfigSource implements ConfigSource {
  static final String PATH = "CONDUCTOR_CONFIG_PATH";

  final GivenValues others;
  final PublisherFile file;

  /** Taken before the file was read. */
  final PublisherFile.Look look;

  final Settings settings;
  private final Map<String, String> properties;

  ConductorConfigSource(
      GivenValues others,
      PublisherFile file,
      PublisherFile.Look look,
      ConductorFile content,
      Settings settings) {
    this.others = others;
    this.file = file;
    this.look = look;
    this.settings = settings;
    Map<String, String> properties = new HashMap<>();
    content.ports().forEach((key, port) -> properties.put(key, port.value()));
    content
        .publishers()
        .forEach(
            (name, fields) ->
                fields.forEach(
                    (field, given) ->
                        properties.put(Key.publisherKey(name, field), given.value())));
    Given level = others.values().get(Settings.LOG_LEVEL);
    if (level != null) {
      logAt(level.value(), properties);
    }
    this.properties = Map.copyOf(properties);
  }

  /** Others' libraries say little at DEBUG that helps, and much. */
  private static void logAt(String level, Map<String, String> properties) {
    properties.put("quarkus.log.category.\"baton\".level", level);
    properties.put("quarkus.log.level", level.equals("DEBUG") ? "INFO" : level);
    if (level.equals("ERROR")) {
      properties.put("quarkus.log.category.\"io.quarkus\".level", level);
    }
  }

  @Override
  public Map<String, String> getProperties() {
    return properties;
  }

  @Override
  public Set<String> getPropertyNames() {
    return properties.keySet();
  }

  @Override
  public String getValue(String name) {
    return properties.get(name);
  }

  @Override
  public String getName() {
    return file.path() == null ? "no file of publishers" : file.path().toString();
  }

  @Override
  public int getOrdinal() {
    return ConductorFile.ORDINAL;
  }
}
