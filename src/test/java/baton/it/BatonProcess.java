package baton.it;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;

/** A Baton of a test's own: the built artifact, started and ended as an operator would. */
final class BatonProcess implements AutoCloseable {
  private final Process process;
  private final Path output;
  private final int port;
  private final Router router;

  private BatonProcess(Process process, Path output, int port) {
    this.process = process;
    this.output = output;
    this.port = port;
    try {
      this.router = new Router(URI.create("http://127.0.0.1:" + port).toURL());
    } catch (MalformedURLException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Starts one, and does not wait for it.
   *
   * @param port for HTTP
   * @param environment on top of the test's own
   * @param properties system properties, {@code name=value}
   */
  static BatonProcess start(
      Path folder, int port, Map<String, String> environment, String... properties) {
    try {
      List<String> options = new ArrayList<>(List.of("-Dquarkus.http.port=" + port));
      List.of(properties).forEach(property -> options.add("-D" + property));
      ProcessBuilder builder = builder(options);
      builder.environment().putAll(environment);
      Path output = Files.createTempFile(folder, "baton", ".log");
      builder.redirectErrorStream(true).redirectOutput(output.toFile());
      return new BatonProcess(builder.start(), output, port);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * What starts the artifact that was built, which other tests have started for them, with nothing
   * of what this machine has configured.
   *
   * @param options {@code -D} and the like
   */
  static ProcessBuilder builder(List<String> options) throws IOException {
    Path target = Path.of(System.getProperty("native.image.path")).getParent();
    Properties artifact = new Properties();
    try (InputStream in = Files.newInputStream(target.resolve("quarkus-artifact.properties"))) {
      artifact.load(in);
    }
    String path = target.resolve(artifact.getProperty("path")).toString();
    List<String> command = new ArrayList<>();
    boolean binary = artifact.getProperty("type").startsWith("native");
    command.add(binary ? path : Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    if (!binary) {
      // They do not live for long, so compiling well does not pay.
      command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", path));
    }
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().keySet().removeIf(v -> v.matches("(BATON|QUARKUS|CONDUCTOR|SG)_.*"));
    builder.environment().put("CONDUCTOR_CONFIG_PATH", "");
    return builder;
  }

  static int freePort() {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  int port() {
    return port;
  }

  URI uri(String path) {
    return URI.create("http://127.0.0.1:" + port + path);
  }

  /** What a router of prompts asks it. */
  Router router() {
    return router;
  }

  /** False also while it does not listen. */
  boolean isReady() {
    try {
      return router.status("/q/health/ready") == 200;
    } catch (UncheckedIOException e) {
      return false;
    }
  }

  BatonProcess awaitReady() {
    Router.eventually(
        () -> {
          if (!process.isAlive() || !isReady()) {
            throw new AssertionError("not ready; it said: " + said());
          }
        });
    return this;
  }

  /** One check of its health. */
  JsonNode health(String check) {
    for (JsonNode found : router.get("/q/health").get("checks")) {
      if (found.get("name").textValue().equals(check)) {
        return found;
      }
    }
    throw new AssertionError("no health check " + check);
  }

  /** All that it has said. */
  String said() {
    try {
      return Files.readString(output);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** SIGTERM. */
  void terminate() {
    process.destroy();
  }

  /** Waits for its end. */
  int exitCode() {
    try {
      if (!process.waitFor(Api.PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
        throw new AssertionError("it did not end; it said: " + said());
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return process.exitValue();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
