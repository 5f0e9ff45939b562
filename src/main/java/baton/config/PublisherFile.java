package baton.config;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The file of publishers.
 *
 * @param path null for none
 */
record PublisherFile(Path path) {
  /**
   * What tells one content from another without reading it. A mounted ConfigMap is changed by
   * turning a link, so the link is followed.
   *
   * @param exists false for no file
   * @param changed the one time that nobody can set; null where the system has none
   */
  record Look(boolean exists, Object key, FileTime modified, Object changed, long size) {
    static final Look NOTHING = new Look(false, null, null, null, 0);
  }

  /**
   * @param given the operator's path, empty for none; null for the usual one
   */
  static PublisherFile at(String given) {
    Path home = Path.of(System.getProperty("user.home", "."));
    if (given == null) {
      return new PublisherFile(home.resolve(".mooncake").resolve("conductor_config.json"));
    }
    if (given.isEmpty()) {
      return new PublisherFile(null);
    }
    return new PublisherFile(
        given.startsWith("~/") ? home.resolve(given.substring(2)) : Path.of(given));
  }

  Look look() {
    if (path == null) {
      return Look.NOTHING;
    }
    try {
      var attributes = Files.readAttributes(path, BasicFileAttributes.class);
      return new Look(
          true, attributes.fileKey(), attributes.lastModifiedTime(), changed(), attributes.size());
    } catch (IOException e) {
      return Look.NOTHING;
    }
  }

  private Object changed() throws IOException {
    boolean unix = path.getFileSystem().supportedFileAttributeViews().contains("unix");
    return unix ? Files.getAttribute(path, "unix:ctime") : null;
  }

  /** What it says; nothing if there is no file. */
  Optional<ConductorFile> read() {
    if (path == null) {
      return Optional.empty();
    }
    try (InputStream in = Files.newInputStream(path)) {
      byte[] bytes = in.readNBytes(ConductorFile.MAX_BYTES + 1);
      return bytes.length > ConductorFile.MAX_BYTES
          ? unreadable("is longer than " + ConductorFile.MAX_BYTES + " bytes")
          : Optional.of(ConductorFile.parse(bytes, path));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (AccessDeniedException e) {
      return unreadable("cannot be read: permission denied");
    } catch (IOException e) {
      return unreadable("cannot be read: " + e.getMessage());
    }
  }

  private Optional<ConductorFile> unreadable(String problem) {
    return Optional.of(
        new ConductorFile(Map.of(), Map.of(), List.of(new Fault(path.toString(), problem))));
  }
}
