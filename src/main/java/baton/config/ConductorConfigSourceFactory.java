package baton.config;

import io.quarkus.runtime.ExecutionMode;
import io.quarkus.runtime.configuration.ConfigurationException;
import io.smallrye.config.ConfigSourceContext;
import io.smallrye.config.ConfigSourceFactory;
import java.util.List;
import java.util.stream.Collectors;
import org.eclipse.microprofile.config.spi.ConfigSource;

/**
 * Reads the file of publishers when the configuration is put together, and refuses to go on if
 * anything in there or in Baton's other values is wrong, before anything has started.
 */
public final class ConductorConfigSourceFactory implements ConfigSourceFactory {
  @Override
  public Iterable<ConfigSource> getConfigSources(ConfigSourceContext context) {
    if (ExecutionMode.current() != ExecutionMode.RUNTIME_INIT) {
      // A build must not take in what is lying about on its machine.
      return List.of();
    }
    GivenValues others = GivenValues.read(context, Settings.OTHER_KEYS);
    Given path = others.values().get(ConductorConfigSource.PATH);
    PublisherFile file = PublisherFile.at(path == null ? null : path.value());
    PublisherFile.Look look = file.look();
    ConductorFile content = file.read().orElse(ConductorFile.NONE);
    Settings settings = Settings.of(others, content);
    refuse(settings.faults());
    return List.of(new ConductorConfigSource(others, file, look, content, settings));
  }

  /**
   * Ends the start with one message, if there is a fault.
   *
   * @throws ConfigurationException whose message is shown as it is
   */
  public static void refuse(List<Fault> faults) {
    if (!faults.isEmpty()) {
      throw new ConfigurationException(
          faults.stream()
              .map(fault -> "  " + fault)
              .collect(
                  Collectors.joining(
                      "\n", "Baton cannot start, its configuration is wrong:\n", "")));
    }
  }
}
