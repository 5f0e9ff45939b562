package baton.it;

import static baton.it.Router.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What happens between SIGTERM and the end. */
class DrainIT {
  private static final String QUERY = "{\"model\":\"m\",\"block_size\":16,\"token_ids\":[1]}";

  /** ListServices, as recorded from Mooncake's own client, and the answer when there is none. */
  private static final byte[] LIST_SERVICES =
      HexFormat.of().parseHex("150000001b000000bbb1740f0000000000000000");

  private static final byte[] NO_SERVICES =
      HexFormat.of().parseHex("150000001b0000000500000000000000f842786600");

  @TempDir Path folder;
  private BatonProcess baton;

  @AfterEach
  void stop() {
    baton.close();
  }

  private void start(String delay, String... properties) {
    baton =
        BatonProcess.start(
                folder,
                BatonProcess.freePort(),
                Map.of("CONDUCTOR_CONFIG_PATH", "", "QUARKUS_SHUTDOWN_DELAY", delay),
                properties)
            .awaitReady();
  }

  @Test
  void terminated_isNotReadyFirst_andAnswersForTheDelay_thenEndsWell() {
    start("2S", "baton.rpc.port=0");
    baton.terminate();

    eventually(() -> assertThat(baton.router().status("/q/health/ready")).isEqualTo(503));
    assertThat(baton.router().status("/q/health/live")).isEqualTo(200);
    assertThat(baton.router().status("/services")).isEqualTo(200);
    assertThat(baton.exitCode()).as(baton.said()).isZero();
    assertThat(baton.said()).doesNotContain("ERROR", "WARN");
  }

  @Test
  void terminated_whileARequestComesIn_answersIt() throws IOException {
    start("0S", "baton.rpc.port=0");
    try (Socket socket = new Socket("127.0.0.1", baton.port())) {
      OutputStream out = socket.getOutputStream();
      out.write(
          """
          POST /query HTTP/1.1\r
          Host: localhost\r
          Content-Type: application/json\r
          Content-Length: %d\r
          \r
          """
              .formatted(QUERY.length())
              .getBytes(StandardCharsets.US_ASCII));
      out.write(QUERY.substring(0, 10).getBytes(StandardCharsets.US_ASCII));
      eventually(() -> assertThat(baton.router().metric("baton_http_buffered_bytes")).isPositive());
      baton.terminate();
      eventually(() -> assertThat(baton.isReady()).isFalse());

      out.write(QUERY.substring(10).getBytes(StandardCharsets.US_ASCII));
      String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

      assertThat(answer).startsWith("HTTP/1.1 200").endsWith("{\"instances\":{}}");
    }
    assertThat(baton.exitCode()).as(baton.said()).isZero();
  }

  @Test
  void terminated_whileAnRpcRequestComesIn_answersIt_andClosesIdleConnections() throws IOException {
    int port = BatonProcess.freePort();
    start("0S", "baton.rpc.port=" + port);
    try (Socket idle = new Socket("127.0.0.1", port);
        Socket socket = new Socket("127.0.0.1", port)) {
      socket.getOutputStream().write(LIST_SERVICES, 0, 5);
      eventually(() -> assertThat(baton.router().metric("baton_rpc_connections")).isEqualTo(2));
      eventually(() -> assertThat(baton.router().metric("baton_rpc_buffered_bytes")).isPositive());
      baton.terminate();

      assertThat(idle.getInputStream().read()).as("the idle one has ended").isEqualTo(-1);
      socket.getOutputStream().write(LIST_SERVICES, 5, LIST_SERVICES.length - 5);
      assertThat(socket.getInputStream().readAllBytes()).isEqualTo(NO_SERVICES);
    }
    assertThat(baton.exitCode()).as(baton.said()).isZero();
  }

  @Test
  void terminated_withARequestThatNeverEnds_endsInTimeAllTheSame() throws IOException {
    int port = BatonProcess.freePort();
    start("0S", "baton.rpc.port=" + port, "quarkus.shutdown.timeout=1S");
    try (Socket socket = new Socket("127.0.0.1", port)) {
      socket.getOutputStream().write(LIST_SERVICES, 0, 5);
      eventually(() -> assertThat(baton.router().metric("baton_rpc_buffered_bytes")).isPositive());
      baton.terminate();
      assertThat(baton.exitCode()).as(baton.said()).isZero();
    }
    assertThat(baton.said()).contains("1 RPC connections had a request that did not end in time");
  }

  @Test
  void terminated_withoutATimeout_waitsForNobody() throws IOException {
    int port = BatonProcess.freePort();
    // An empty value is none.
    start("0S", "baton.rpc.port=" + port, "quarkus.shutdown.timeout=");
    try (Socket socket = new Socket("127.0.0.1", port)) {
      socket.getOutputStream().write(LIST_SERVICES, 0, 5);
      eventually(() -> assertThat(baton.router().metric("baton_rpc_buffered_bytes")).isPositive());
      baton.terminate();
      assertThat(baton.exitCode()).as(baton.said()).isZero();
    }
    assertThat(baton.said()).doesNotContain("did not end in time");
  }
}
