package baton.it;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A {@code conductor_config.json} as a kubelet mounts it: a link into a folder that another link
 * names, which is turned when the ConfigMap changes.
 */
final class MountedConfig {
  private static final String FILE = "conductor_config.json";
  private final Path mount;
  private final Map<String, Object> publishers = new LinkedHashMap<>();
  private int versions;

  MountedConfig(Path mount) {
    this.mount = mount;
    write("{}");
    try {
      Files.createSymbolicLink(mount.resolve(FILE), Path.of("..data", FILE));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Path path() {
    return mount.resolve(FILE);
  }

  /** Adds engines, each under its own name. */
  MountedConfig add(PlayedEngine... engines) {
    for (PlayedEngine engine : engines) {
      publishers.put(engine.name(), engine.body());
    }
    return publish();
  }

  MountedConfig put(String name, Map<String, Object> publisher) {
    publishers.put(name, publisher);
    return publish();
  }

  MountedConfig remove(PlayedEngine engine) {
    publishers.remove(engine.name());
    return publish();
  }

  /** Says again what was said before {@link #write}. */
  MountedConfig publish() {
    write(new String(Api.json(Map.of("kvevent_instance", publishers))));
    return this;
  }

  /** Says anything. */
  void write(String content) {
    try {
      Path version = Files.createDirectory(mount.resolve("..version-" + versions++));
      Files.writeString(version.resolve(FILE), content);
      Path link = Files.createSymbolicLink(mount.resolve("..data_tmp"), version.getFileName());
      Files.move(
          link,
          mount.resolve("..data"),
          StandardCopyOption.ATOMIC_MOVE,
          StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
