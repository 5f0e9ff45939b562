package baton.client;

import static baton.client.ConductorClient.CONDUCTOR_UNAVAILABLE;
import static baton.client.ConductorClient.HEALTH_NOT_INITIALIZED;
import static baton.client.ConductorClient.HEALTH_OK;
import static baton.client.ConductorClient.HEALTH_UNREACHABLE;
import static baton.client.ConductorClient.INTERNAL_ERROR;
import static baton.client.ConductorClient.INVALID_PARAMS;
import static baton.client.ConductorClient.OK;
import static baton.client.ConductorClient.RPC_FAIL;
import static baton.client.ConductorClient.RPC_TIMEOUT;
import static baton.client.ConductorClient.SERVICE_NOT_FOUND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import baton.client.QueryResult.InstanceHit;
import baton.rpc.Expected;
import baton.rpc.Requests;
import baton.rpc.ResponseHeader;
import baton.rpc.Responses;
import baton.rpc.RpcError;
import baton.rpc.RpcFunction;
import baton.rpc.Wire;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.NullAndEmptySource;
import org.junit.jupiter.params.provider.ValueSource;

/** The client's life and its codes, each by what really brings it about. */
@Timeout(60)
class ConductorClientLifeCycleTest {
  private static final int SOON = 300;
  private static final int[] PROMPT = {1, 2, 3, 4};
  private static final HashProfile PROFILE =
      new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be");
  private static final PublisherConfig PUBLISHER =
      new PublisherConfig("vllm-0", "tcp://127.0.0.1:5557", "my-model", 16, PROFILE);

  private final ConductorClient client = new ConductorClient();
  private final List<AutoCloseable> opened = new ArrayList<>();

  @AfterEach
  void closeAll() throws Exception {
    client.close();
    for (AutoCloseable peer : opened) {
      peer.close();
    }
  }

  private <T extends AutoCloseable> T opened(T peer) {
    opened.add(peer);
    return peer;
  }

  private Peer connect(Peer.Manners manners) {
    return connect(Peer.with(manners));
  }

  private Peer connect(Peer peer) {
    opened(peer);
    assertThat(client.setup(peer.address())).isEqualTo(OK);
    return peer;
  }

  private void assertUninitialized() {
    assertEveryCallIs(CONDUCTOR_UNAVAILABLE);
    assertThat(client.healthCheck()).isEqualTo(HEALTH_NOT_INITIALIZED);
  }

  private void assertEveryCallIs(int code) {
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(new QueryResult(code, Map.of()));
    assertThat(client.query(new QueryArguments("my-model", 16, PROMPT)))
        .isEqualTo(new QueryResult(code, Map.of()));
    assertThat(client.register(PUBLISHER)).isEqualTo(code);
    assertThat(client.unregister("vllm-0")).isEqualTo(code);
    assertThat(client.unregister("vllm-0", "blue", 1)).isEqualTo(code);
    assertThat(client.getGlobalView()).isEqualTo(new GlobalViewResult(code, 0, List.of()));
    assertThat(client.listServices()).isEqualTo(new ServicesResult(code, 0, List.of()));
  }

  /** The connection has ended: nothing is sent any more, until setup. */
  private void assertFailsUntilSetup(Peer peer) {
    int before = peer.requests().size();
    assertEveryCallIs(RPC_FAIL);
    assertThat(client.healthCheck()).isEqualTo(HEALTH_UNREACHABLE);
    assertThat(peer.requests()).hasSize(before);

    Peer sane = opened(Peer.withoutServices());
    assertThat(client.setup(sane.address())).isEqualTo(OK);
    assertThat(client.listServices().ret()).isEqualTo(OK);
  }

  private static QueryResult hit(String instance) {
    return new QueryResult(
        OK, Map.of(instance, new InstanceHit(0, Map.of(), Map.of(), 0, 0, 0, 0)));
  }

  private static byte[] hit(int seq, String instance) {
    Wire.CacheHit none = new Wire.CacheHit(0, Map.of(), Map.of(), 0, 0, 0, 0);
    return Responses.encodeQuery(seq, Expected.of(new Wire.QueryResult(Map.of(instance, none))));
  }

  // Without a connection

  @Test
  void constants_areTheDocuments() {
    assertThat(
            List.of(
                OK,
                INTERNAL_ERROR,
                INVALID_PARAMS,
                RPC_FAIL,
                RPC_TIMEOUT,
                CONDUCTOR_UNAVAILABLE,
                SERVICE_NOT_FOUND))
        .containsExactly(0, -1, -600, -900, -901, -2000, -2001);
    assertThat(List.of(HEALTH_OK, HEALTH_NOT_INITIALIZED, HEALTH_UNREACHABLE))
        .containsExactly(0, 1, 2);
  }

  @Test
  void everyCall_unconnected_isConductorUnavailable() {
    assertUninitialized();
  }

  @Test
  void close_anyNumberOfTimes_leavesItUninitialized() {
    client.close();
    client.close();
    assertUninitialized();
    Peer peer = connect(Peer.withoutServices());
    client.close();
    client.close();
    assertUninitialized();
    assertThat(peer.requests()).isEmpty();
  }

  @Test
  void tryWithResources_bodyThrows_connectionIsClosed() {
    Peer peer = opened(Peer.withoutServices());
    ConductorClient[] seen = new ConductorClient[1];
    try (ConductorClient scoped = new ConductorClient()) {
      seen[0] = scoped;
      assertThat(scoped.setup(peer.address())).isEqualTo(OK);
      throw new IllegalStateException("the body's own");
    } catch (IllegalStateException e) {
      assertThat(e).hasMessage("the body's own").hasNoSuppressedExceptions();
    }
    assertThat(seen[0].healthCheck()).isEqualTo(HEALTH_NOT_INITIALIZED);
  }

  // Setup

  @ParameterizedTest
  @NullAndEmptySource
  @ValueSource(
      strings = {
        "127.0.0.1",
        "localhost",
        ":",
        ":50052",
        "127.0.0.1:",
        "127.0.0.1:port",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:+1",
        "127.0.0.1: 1",
        "127.0.0.1:99999999999999999999",
        "127.0.0.1:٣",
        "http://127.0.0.1:50052",
        "http://127.0.0.1",
        "127.0.0.1:50052/",
        "[::1]",
        "[]:50052",
        "[::1:50052",
        "::1:50052"
      })
  void setup_notHostAndPort_isInvalidParams(String address) {
    assertThat(client.setup(address)).isEqualTo(INVALID_PARAMS);
    assertUninitialized();
  }

  @ParameterizedTest
  @CsvSource({"0,1000", "-1,1000", "1000,0", "1000,-1"})
  void setup_timeoutThatIsNone_isInvalidParams(int connectMs, int requestMs) {
    Peer peer = opened(Peer.withoutServices());
    assertThat(client.setup(peer.address(), connectMs, requestMs)).isEqualTo(INVALID_PARAMS);
    assertUninitialized();
  }

  @Test
  void setup_hostByName_connects() {
    Peer peer = opened(Peer.withoutServices());
    assertThat(client.setup("localhost:" + peer.port())).isEqualTo(OK);
    assertThat(client.healthCheck()).isEqualTo(HEALTH_OK);
  }

  @Test
  void setup_ipv6InBrackets_connects() throws IOException {
    InetAddress loopback = InetAddress.getByName("::1");
    try (ServerSocket probe = new ServerSocket(0, 1, loopback)) {
      assertThat(probe.isBound()).isTrue();
    } catch (IOException e) {
      Assumptions.abort("no IPv6 here");
    }
    Peer peer =
        opened(
            Peer.at(
                loopback, c -> c.send(Responses.encodeListServices(c.next().seq(), List.of()))));
    assertThat(client.setup("[::1]:" + peer.port())).isEqualTo(OK);
    assertThat(client.healthCheck()).isEqualTo(HEALTH_OK);
  }

  @Test
  void setup_nobodyListens_isRpcFail() throws IOException {
    assertThat(client.setup("127.0.0.1:" + freePort())).isEqualTo(RPC_FAIL);
    assertUninitialized();
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  @Test
  void setup_hostDoesNotAnswer_isRpcFailInTime() throws IOException {
    ServerSocket full = opened(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
    // The kernel completes as many connections as fit the backlog and is silent to all others.
    for (int i = 0; i < 8; i++) {
      SocketChannel waiting = opened(SocketChannel.open());
      waiting.configureBlocking(false);
      waiting.connect(new InetSocketAddress("127.0.0.1", full.getLocalPort()));
    }
    long begin = System.nanoTime();
    assertThat(client.setup("127.0.0.1:" + full.getLocalPort(), SOON, 60_000)).isEqualTo(RPC_FAIL);
    assertThat(Duration.ofNanos(System.nanoTime() - begin))
        .isBetween(Duration.ofMillis(SOON - 50), Duration.ofSeconds(20));
    assertUninitialized();
  }

  @Test
  void setup_fails_connectionBeforeIsGoneToo() throws IOException {
    connect(Peer.withoutServices());
    assertThat(client.setup("127.0.0.1:" + freePort())).isEqualTo(RPC_FAIL);
    assertUninitialized();
    connect(Peer.withoutServices());
    assertThat(client.setup("no port")).isEqualTo(INVALID_PARAMS);
    assertUninitialized();
    connect(Peer.withoutServices());
    assertThat(client.healthCheck()).isEqualTo(HEALTH_OK);
  }

  @Test
  void setup_again_replacesTheConnection() {
    Peer first = connect(Peer.refusing(-1));
    assertThat(client.register(PUBLISHER)).isEqualTo(-1);
    Peer second = connect(Peer.refusing(-2));
    assertThat(client.register(PUBLISHER)).isEqualTo(-2);
    assertThat(first.requests()).hasSize(1);
    assertThat(second.requests()).hasSize(1);
  }

  @Test
  void setup_afterClose_connectsAgain() {
    Peer peer = connect(Peer.withoutServices());
    client.close();
    assertThat(client.setup(peer.address())).isEqualTo(OK);
    assertThat(client.healthCheck()).isEqualTo(HEALTH_OK);
    await().until(() -> peer.connections() == 2);
  }

  @Test
  void close_peerSeesItsEnd() {
    List<String> ends = Collections.synchronizedList(new ArrayList<>());
    connect(
        c -> {
          try {
            c.onlyRead();
          } catch (IOException e) {
            ends.add("end");
          }
        });
    client.close();
    await().until(() -> ends.size() == 1);
  }

  @Test
  void sequence_overReconnections_countsOn() {
    Peer first = connect(Peer.withoutServices());
    client.listServices();
    client.healthCheck();
    Peer second = connect(Peer.withoutServices());
    client.listServices();
    client.close();
    client.listServices();
    assertThat(client.setup(first.address())).isEqualTo(OK);
    client.listServices();
    assertThat(first.sequence()).containsExactly(0, 1, 3);
    assertThat(second.sequence()).containsExactly(2);
  }

  // What is sent

  @Test
  void query_shortForm_sendsTheDefaults() {
    Peer peer = connect(c -> c.send(hit(c.next().seq(), "a")));
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(hit("a"));
    Peer.Request request = peer.requests().get(0);
    assertThat(request.header().functionId()).isEqualTo(RpcFunction.QUERY.id());
    Wire.QueryRequest query = Requests.decodeQuery(request.body(), 0, request.body().length);
    assertThat(query)
        .usingRecursiveComparison()
        .isEqualTo(new Wire.QueryRequest("default", "my-model", "", 16, PROMPT, null, null));
  }

  @Test
  void query_everyArgument_isSent() {
    Peer peer = connect(c -> c.send(hit(c.next().seq(), "a")));
    client.query(new QueryArguments("m", "lora", 4, "blue", PROMPT, "salt", "a"));
    byte[] body = peer.requests().get(0).body();
    assertThat(Requests.decodeQuery(body, 0, body.length))
        .usingRecursiveComparison()
        .isEqualTo(new Wire.QueryRequest("blue", "m", "lora", 4, PROMPT, "salt", "a"));
  }

  @Test
  void register_onlyRequiredFields_sendsTheDefaults() {
    Peer peer = connect(Peer.refusing(-600));
    client.register(
        Map.of(
            "instance_id", "vllm-0",
            "endpoint", "tcp://127.0.0.1:5557",
            "model_name", "my-model",
            "block_size", 16,
            "hash_profile",
                Map.of(
                    "strategy", "vllm_v1",
                    "algorithm", "sha256_cbor",
                    "python_hash_seed", "0",
                    "index_projection", "low64_be")));
    client.register(PUBLISHER);
    Wire.ServiceConfig sent =
        new Wire.ServiceConfig(
            "tcp://127.0.0.1:5557",
            "",
            Wire.ServiceConfig.VLLM,
            "my-model",
            "",
            "default",
            "vllm-0",
            16,
            0,
            null,
            new Wire.HashProfile("vllm_v1", "sha256_cbor", "0", "", "low64_be"));
    assertThat(peer.requests())
        .hasSize(2)
        .allSatisfy(
            r -> assertThat(Requests.decodeRegister(r.body(), 0, r.body().length)).isEqualTo(sent));
  }

  @Test
  void unregister_shortForm_isRankZeroOfTheDefaultTenant() {
    Peer peer =
        connect(
            c -> {
              for (int i = 0; i < 2; i++) {
                int seq = c.next().seq();
                c.send(
                    Responses.encodeUnregister(
                        seq, Expected.of(new Wire.UnregisterResult("vllm-0|default|0"))));
              }
            });
    assertThat(client.unregister("vllm-0")).isEqualTo(OK);
    assertThat(client.unregister("vllm-0", "blue", 3)).isEqualTo(OK);
    assertThat(peer.requests().stream().map(Peer.Request::body))
        .extracting(body -> Requests.decodeUnregister(body, 0, body.length))
        .containsExactly(
            new Wire.UnregisterArgs("vllm-0", "default", 0),
            new Wire.UnregisterArgs("vllm-0", "blue", 3));
  }

  // Results

  @Test
  void query_hits_haveRanksAsDecimalStrings() {
    Map<Long, Long> dp = new LinkedHashMap<>(Map.of(10L, 16L));
    Map<Long, Wire.RankHit> ranks = Map.of(10L, new Wire.RankHit(16, 32, 48, 64));
    Wire.CacheHit sent = new Wire.CacheHit(64, dp, ranks, 16, 32, 48, 64);
    connect(
        c ->
            c.send(
                Responses.encodeQuery(
                    c.next().seq(), Expected.of(new Wire.QueryResult(Map.of("vllm-0", sent))))));
    assertThat(client.query("my-model", 16, PROMPT).hits())
        .isEqualTo(
            Map.of(
                "vllm-0",
                new InstanceHit(
                    64,
                    Map.of("10", 16L),
                    Map.of("10", new QueryResult.RankHit(16, 32, 48, 64)),
                    16,
                    32,
                    48,
                    64)));
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, -600, -2000, -2001, -12345, Integer.MIN_VALUE})
  void businessError_anyCode_isPassedOnAndKeepsTheConnection(int code) {
    Peer peer =
        connect(
            c -> {
              while (true) {
                Peer.Request request = c.next();
                int function = request.header().functionId();
                c.send(
                    function == RpcFunction.QUERY.id()
                        ? Responses.encodeQuery(request.seq(), Expected.error(code))
                        : function == RpcFunction.REGISTER.id()
                            ? Responses.encodeRegister(request.seq(), Expected.error(code))
                            : Responses.encodeUnregister(request.seq(), Expected.error(code)));
              }
            });
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(new QueryResult(code, Map.of()));
    assertThat(client.register(PUBLISHER)).isEqualTo(code);
    assertThat(client.unregister("vllm-0")).isEqualTo(code);
    assertThat(peer.connections()).isEqualTo(1);
  }

  @Test
  void listServices_unknownPublisherKind_isRpcFail() {
    Wire.ServiceConfig odd =
        new Wire.ServiceConfig(
            "tcp://127.0.0.1:5557",
            "",
            7,
            "m",
            "",
            "default",
            "a",
            16,
            0,
            null,
            new Wire.HashProfile("", "", "", "", ""));
    connect(c -> c.send(Responses.encodeListServices(c.next().seq(), List.of(odd))));
    assertThat(client.listServices()).isEqualTo(new ServicesResult(RPC_FAIL, 0, List.of()));
  }

  @Test
  void health_peerAnswersAndThenIsGone_isOkAndThenUnreachable() {
    Peer peer = connect(Peer.withoutServices());
    assertThat(client.healthCheck()).isEqualTo(HEALTH_OK);
    assertThat(peer.requests().get(0).header().functionId())
        .isEqualTo(RpcFunction.LIST_SERVICES.id());
    peer.close();
    assertThat(client.healthCheck()).isEqualTo(HEALTH_UNREACHABLE);
    client.close();
    assertThat(client.healthCheck()).isEqualTo(HEALTH_NOT_INITIALIZED);
  }

  // A channel that fails

  @Test
  void call_peerNeverAnswers_isRpcTimeoutThenRpcFail() {
    Peer peer = opened(Peer.with(Peer.Connection::onlyRead));
    assertThat(client.setup(peer.address(), 1000, SOON)).isEqualTo(OK);
    long begin = System.nanoTime();
    assertThat(client.query("my-model", 16, PROMPT))
        .isEqualTo(new QueryResult(RPC_TIMEOUT, Map.of()));
    assertThat(Duration.ofNanos(System.nanoTime() - begin))
        .isBetween(Duration.ofMillis(SOON - 50), Duration.ofSeconds(20));
    assertFailsUntilSetup(peer);
  }

  @Test
  void health_peerNeverAnswers_isUnreachable() {
    Peer peer = opened(Peer.with(Peer.Connection::onlyRead));
    assertThat(client.setup(peer.address(), 1000, SOON)).isEqualTo(OK);
    assertThat(client.healthCheck()).isEqualTo(HEALTH_UNREACHABLE);
  }

  @Test
  void call_peerNeverReadsALargeRequest_isRpcTimeout() {
    Peer peer = opened(Peer.with(Peer.Connection::ignore));
    assertThat(client.setup(peer.address(), 1000, SOON)).isEqualTo(OK);
    long begin = System.nanoTime();
    // 64 MiB are more than any socket's buffers hold.
    assertThat(client.query("my-model", 16, new int[16 << 20]).ret()).isEqualTo(RPC_TIMEOUT);
    assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(20));
    assertFailsUntilSetup(peer);
  }

  @Test
  void call_answerComesByteByByteAndTooSlowly_isRpcTimeout() {
    Peer peer =
        opened(
            Peer.with(
                c -> {
                  byte[] answer = hit(c.next().seq(), "a");
                  for (int i = 0; i < answer.length - 1; i++) {
                    c.send(new byte[] {answer[i]});
                  }
                  c.onlyRead();
                }));
    assertThat(client.setup(peer.address(), 1000, SOON)).isEqualTo(OK);
    assertThat(client.query("my-model", 16, PROMPT).ret()).isEqualTo(RPC_TIMEOUT);
    assertFailsUntilSetup(peer);
  }

  @Test
  void call_answerInPieces_isPutTogether() {
    connect(
        c -> {
          while (true) {
            for (byte b : hit(c.next().seq(), "a")) {
              c.send(new byte[] {b});
            }
          }
        });
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(hit("a"));
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(hit("a"));
  }

  @Test
  void call_answerLateAfterATimeout_isNobodysAnswer() {
    Peer peer =
        opened(
            Peer.with(
                c -> {
                  int first = c.next().seq();
                  try {
                    c.next();
                  } finally {
                    c.send(hit(first, "late"));
                  }
                }));
    assertThat(client.setup(peer.address(), 1000, SOON)).isEqualTo(OK);
    assertThat(client.query("my-model", 16, PROMPT).ret()).isEqualTo(RPC_TIMEOUT);
    assertFailsUntilSetup(peer);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 15, 16, 17, 30})
  void call_peerClosesInMidAnswer_isRpcFail(int bytes) {
    Peer peer =
        connect(c -> c.send(Arrays.copyOf(hit(c.next().seq(), "instance-of-a-name"), bytes)));
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(new QueryResult(RPC_FAIL, Map.of()));
    assertFailsUntilSetup(peer);
  }

  @Test
  void call_peerClosedBefore_isRpcFail() {
    Peer peer = connect(c -> {});
    assertThat(client.query("my-model", 16, PROMPT).ret()).isEqualTo(RPC_FAIL);
    assertFailsUntilSetup(peer);
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 1, 1000})
  void call_answerToAnotherRequest_isRpcFail(int distance) {
    Peer peer =
        connect(
            c -> {
              c.send(hit(c.next().seq() + distance, "someone else's"));
              c.onlyRead();
            });
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(new QueryResult(RPC_FAIL, Map.of()));
    assertFailsUntilSetup(peer);
  }

  @Test
  void call_twoAnswersToTheRequestBefore_isRpcFail() {
    Peer peer =
        connect(
            c -> {
              int seq = c.next().seq();
              c.send(Peer.joined(hit(seq, "first"), hit(seq, "second")));
              c.send(hit(c.next().seq(), "third"));
              c.onlyRead();
            });
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(hit("first"));
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(new QueryResult(RPC_FAIL, Map.of()));
    // The second request was failed by an answer that was there before it, so it may still be on
    // its way.
    await().until(() -> peer.requests().size() == 2);
    assertFailsUntilSetup(peer);
  }

  @Test
  void call_answerWithAttachment_isReadAndTheAttachmentIgnored() {
    connect(
        c -> {
          while (true) {
            byte[] answer = hit(c.next().seq(), "a");
            c.send(Peer.joined(Peer.with(answer, 12, 3), new byte[] {1, 2, 3}));
          }
        });
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(hit("a"));
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(hit("a"));
  }

  @Test
  void call_noise_isRpcFail() {
    Peer peer =
        connect(
            c -> {
              c.next();
              c.send("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
              c.onlyRead();
            });
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(new QueryResult(RPC_FAIL, Map.of()));
    assertFailsUntilSetup(peer);
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0x16, wrong magic",
    "1, 1, another version",
    "16, 0xfe, another type",
    "20, 2, a flag that is none",
    "21, 250, more instances than bytes"
  })
  void call_answerWithOneWrongByte_isRpcFail(String at, String value, String what) {
    Peer peer =
        connect(
            c -> {
              byte[] answer = hit(c.next().seq(), "a");
              c.send(Peer.with(answer, Integer.decode(at), Integer.decode(value)));
              c.onlyRead();
            });
    assertThat(client.query("my-model", 16, PROMPT))
        .as(what)
        .isEqualTo(new QueryResult(RPC_FAIL, Map.of()));
    assertFailsUntilSetup(peer);
  }

  @ParameterizedTest
  @ValueSource(ints = {8, 12})
  void call_fourGibibytesAnnounced_isRpcFailAtOnce(int lengthAt) {
    Peer peer =
        opened(
            Peer.with(
                c -> {
                  byte[] header = Arrays.copyOf(hit(c.next().seq(), "a"), ResponseHeader.SIZE);
                  Arrays.fill(header, lengthAt, lengthAt + 4, (byte) 0xff);
                  c.send(header);
                  c.onlyRead();
                }));
    // Longer than this test may take: it does not wait for the rest.
    assertThat(client.setup(peer.address(), 1000, 600_000)).isEqualTo(OK);
    assertThat(client.query("my-model", 16, PROMPT).ret()).isEqualTo(RPC_FAIL);
    assertFailsUntilSetup(peer);
  }

  @ParameterizedTest
  @CsvSource({"1,-900", "3,-901", "4,-900", "10,-900", "11,-900", "17,-900", "254,-900"})
  void rpcError_inTheHeader_endsTheConnection(int rpcCode, int expected) {
    Peer peer =
        connect(
            c -> {
              c.send(Responses.encodeError(c.next().seq(), new RpcError(rpcCode, "why")));
              c.onlyRead();
            });
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(new QueryResult(expected, Map.of()));
    assertFailsUntilSetup(peer);
  }

  @Test
  void rpcError_pairInTheBody_isRpcFailAndKeepsTheConnection() {
    Peer peer =
        connect(
            c -> {
              c.send(Responses.encodeError(c.next().seq(), new RpcError(255, "why")));
              c.send(Responses.encodeError(c.next().seq(), new RpcError(1001, "why")));
              c.send(hit(c.next().seq(), "a"));
              c.onlyRead();
            });
    assertThat(client.getGlobalView()).isEqualTo(new GlobalViewResult(RPC_FAIL, 0, List.of()));
    assertThat(client.healthCheck()).isEqualTo(HEALTH_UNREACHABLE);
    assertThat(client.query("my-model", 16, PROMPT)).isEqualTo(hit("a"));
    assertThat(peer.connections()).isEqualTo(1);
  }

  @Test
  void rpcError_code255WithoutThePair_endsTheConnection() {
    Peer peer =
        connect(
            c -> {
              byte[] text = Responses.encodeError(c.next().seq(), new RpcError(10, "why"));
              c.send(Peer.with(text, 2, 255));
              c.onlyRead();
            });
    assertThat(client.query("my-model", 16, PROMPT).ret()).isEqualTo(RPC_FAIL);
    assertFailsUntilSetup(peer);
  }

  // Threads

  @Test
  void manyThreads_onOneClient_getTheirOwnAnswers() throws Exception {
    Peer peer =
        connect(
            c -> {
              while (true) {
                Peer.Request request = c.next();
                byte[] body = request.body();
                String model = Requests.decodeQuery(body, 0, body.length).modelName();
                c.send(hit(request.seq(), model));
              }
            });
    ExecutorService threads = Executors.newFixedThreadPool(16);
    try {
      List<Callable<List<QueryResult>>> work = new ArrayList<>();
      for (int t = 0; t < 16; t++) {
        String model = "model-of-thread-" + t;
        work.add(
            () -> IntStream.range(0, 50).mapToObj(i -> client.query(model, 16, PROMPT)).toList());
      }
      List<Future<List<QueryResult>>> results = threads.invokeAll(work);
      for (int t = 0; t < results.size(); t++) {
        assertThat(results.get(t).get()).hasSize(50).containsOnly(hit("model-of-thread-" + t));
      }
    } finally {
      threads.shutdownNow();
    }
    assertThat(peer.sequence()).containsExactlyElementsOf(IntStream.range(0, 800).boxed().toList());
    assertThat(peer.connections()).isEqualTo(1);
  }

  @Test
  void close_whileACallWaits_callIsRpcFailAtOnce() throws Exception {
    assertWaitingCallEnds(client::close);
    assertUninitialized();
  }

  @Test
  void setup_whileACallWaits_callIsRpcFailAtOnce() throws Exception {
    Peer other = opened(Peer.withoutServices());
    assertWaitingCallEnds(() -> assertThat(client.setup(other.address())).isEqualTo(OK));
    assertThat(client.healthCheck()).isEqualTo(HEALTH_OK);
  }

  @Test
  void call_byAnInterruptedThread_isRpcFailWithoutTrafficAndStaysInterrupted() {
    Peer peer = connect(Peer.withoutServices());
    Thread.currentThread().interrupt();
    assertThat(client.listServices().ret()).isEqualTo(RPC_FAIL);
    assertThat(Thread.interrupted()).isTrue();
    assertThat(peer.requests()).isEmpty();
    assertThat(client.listServices().ret()).isEqualTo(OK);
  }

  @Test
  void call_interruptedWhileItWaits_isRpcFailAtOnce() throws Exception {
    AtomicReference<Thread> caller = new AtomicReference<>();
    Peer peer = opened(Peer.with(Peer.Connection::onlyRead));
    assertThat(client.setup(peer.address(), 1000, 600_000)).isEqualTo(OK);
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      Future<QueryResult> waiting =
          thread.submit(
              () -> {
                caller.set(Thread.currentThread());
                return client.query("my-model", 16, PROMPT);
              });
      await().until(() -> peer.requests().size() == 1);
      caller.get().interrupt();
      assertThat(waiting.get()).isEqualTo(new QueryResult(RPC_FAIL, Map.of()));
    } finally {
      thread.shutdownNow();
    }
    assertFailsUntilSetup(peer);
  }

  private void assertWaitingCallEnds(Runnable ending)
      throws InterruptedException, ExecutionException {
    Peer peer = opened(Peer.with(Peer.Connection::onlyRead));
    assertThat(client.setup(peer.address(), 1000, 600_000)).isEqualTo(OK);
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      Future<QueryResult> waiting = thread.submit(() -> client.query("my-model", 16, PROMPT));
      await().until(() -> peer.requests().size() == 1);
      ending.run();
      assertThat(waiting.get()).isEqualTo(new QueryResult(RPC_FAIL, Map.of()));
    } finally {
      thread.shutdownNow();
      thread.awaitTermination(1, TimeUnit.SECONDS);
    }
  }
}
