package baton.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** An engine's event socket, by libzmq: a Python process that does as it is told. */
final class PythonPublisher implements AutoCloseable {
  private static final ObjectMapper JSON =
      new ObjectMapper()
          .registerModule(new SimpleModule().addSerializer(byte[].class, new HexBytes()));

  private static final class HexBytes extends JsonSerializer<byte[]> {
    @Override
    public void serialize(byte[] bytes, JsonGenerator out, SerializerProvider serializers)
        throws IOException {
      out.writeStartObject();
      out.writeStringField("$hex", HexFormat.of().formatHex(bytes));
      out.writeEndObject();
    }
  }

  private final Process process;
  private final BufferedWriter commands;
  private final BufferedReader answers;
  private String endpoint;
  private long next;

  private PythonPublisher(String python) throws IOException {
    process =
        new ProcessBuilder(python, script()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    commands = process.outputWriter();
    answers = process.inputReader();
  }

  private static String script() {
    try {
      return Path.of(PythonPublisher.class.getResource("/python/publisher.py").toURI()).toString();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The first Python that has libzmq and msgpack. */
  static Optional<String> python() {
    return Stream.of("/usr/bin/python3", "python3").filter(PythonPublisher::canImport).findFirst();
  }

  private static boolean canImport(String python) {
    try {
      Process probe =
          new ProcessBuilder(python, "-c", "import zmq, msgpack")
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      return probe.waitFor(30, TimeUnit.SECONDS) && probe.exitValue() == 0;
    } catch (IOException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Serves a free port, with the high-water mark that an engine has. */
  static PythonPublisher serve(String python) throws IOException {
    return new PythonPublisher(python).serveAt("tcp://127.0.0.1:*", 1000);
  }

  static PythonPublisher connect(String python, String endpoint) throws IOException {
    PythonPublisher publisher = new PythonPublisher(python);
    publisher.endpoint = publisher.call("connect", Map.of("endpoint", endpoint)).textAt("endpoint");
    return publisher;
  }

  /**
   * Serves an endpoint.
   *
   * @param highWaterMark messages kept for a slow subscriber, 0 for all
   */
  PythonPublisher serveAt(String where, int highWaterMark) {
    endpoint = call("serve", Map.of("endpoint", where, "hwm", highWaterMark)).textAt("endpoint");
    return this;
  }

  String endpoint() {
    return endpoint;
  }

  PythonPublisher awaitSubscriber() {
    assertThat(call("await", Map.of()).json.get("subscribed").asBoolean())
        .as("a subscriber of %s", endpoint)
        .isTrue();
    return this;
  }

  PythonPublisher next(long sequence) {
    next = sequence;
    return this;
  }

  void send(Object batch) {
    sendAll(List.of(batch));
  }

  /** As fast as it can. */
  void sendAll(List<Object> batches) {
    next = call("send", Map.of("sequence", next, "payloads", batches)).json.get("next").asLong();
  }

  void sendFrames(byte[]... frames) {
    call("frames", Map.of("frames", Stream.of(frames).map(HexFormat.of()::formatHex).toList()));
  }

  /** Closes the socket; the process waits for further commands. */
  void closeSocket() {
    call("close", Map.of());
  }

  private record Answer(JsonNode json) {
    String textAt(String field) {
      return json.get(field).asText();
    }
  }

  private Answer call(String op, Map<String, Object> arguments) {
    try {
      Map<String, Object> command = new java.util.HashMap<>(arguments);
      command.put("op", op);
      commands.write(JSON.writeValueAsString(command));
      commands.newLine();
      commands.flush();
      String answer = answers.readLine();
      assertThat(answer).as("the answer to %s", op).isNotNull();
      return new Answer(JSON.readTree(answer));
    } catch (IOException e) {
      throw new UncheckedIOException("the publisher's process has ended", e);
    }
  }

  @Override
  public void close() {
    process.destroy();
  }
}
