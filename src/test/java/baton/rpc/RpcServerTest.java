package baton.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import baton.Vectors;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.awaitility.Awaitility;
import org.hamcrest.Matchers;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The server's side of the channel, byte for byte, over real connections. */
class RpcServerTest {
  private static final HexFormat HEX = HexFormat.of();
  private static final int PATIENCE_MS = 30_000;

  private final Script script = new Script();
  private RpcTestServer server;

  /** A Conductor that answers what the recording says, in its order; without one, with nothing. */
  private static final class Script implements ConductorFunctions {
    private final Queue<Object> answers = new ArrayDeque<>();
    volatile CountDownLatch hold = new CountDownLatch(0);

    @SuppressWarnings("unchecked")
    private <T> T next(T otherwise) {
      try {
        if (!hold.await(PATIENCE_MS, TimeUnit.MILLISECONDS)) {
          throw new IllegalStateException("held for too long");
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      Object answer;
      synchronized (answers) {
        answer = answers.poll();
      }
      if (answer instanceof RuntimeException failure) {
        throw failure;
      }
      return answer == null ? otherwise : (T) answer;
    }

    @Override
    public Wire.QueryResult query(Wire.QueryRequest request) {
      return next(new Wire.QueryResult(Map.of()));
    }

    @Override
    public Wire.RegisterResult register(Wire.ServiceConfig service) {
      return next(new Wire.RegisterResult(service.instanceId(), true));
    }

    @Override
    public Wire.UnregisterResult unregister(Wire.UnregisterArgs args) {
      return next(new Wire.UnregisterResult(args.instanceId()));
    }

    @Override
    public Wire.GlobalView globalView() {
      return next(new Wire.GlobalView(0, List.of()));
    }

    @Override
    public List<Wire.ServiceConfig> services() {
      return next(List.of());
    }

    @Override
    public boolean waits() {
      return hold.getCount() > 0;
    }

    @Override
    public void close() {}
  }

  @BeforeEach
  void listen() {
    server = new RpcTestServer(script);
  }

  @AfterEach
  void everythingIsGivenBack() {
    Awaitility.await().untilAtomic(server.connections, Matchers.is(0));
    Awaitility.await().untilAtomic(server.buffered, Matchers.is(0L));
    server.close();
  }

  static List<Arguments> recorded() {
    return StreamSupport.stream(Vectors.read("rpc.json").get("exchanges").spliterator(), false)
        .filter(e -> e.has("request_hex"))
        .map(e -> Arguments.of(e.get("name").asText(), e))
        .toList();
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("recorded")
  void recordedRequest_isAnsweredAsByCpp(String name, JsonNode exchange) throws IOException {
    byte[] request = HEX.parseHex(exchange.get("request_hex").asText());
    byte[] expected = HEX.parseHex(exchange.get("response_hex").asText());
    JsonNode meaning = exchange.get("meaning");
    boolean call = meaning.has("function");
    boolean closes = meaning.path("connection").asText().contains("closes");
    if (name.equals("arg_in_1tuple_type")) {
      // C++ accepts this type; no client sends it, and we refuse it
      expected = Responses.encodeError(1, RpcError.invalidArgument());
    }
    fillScript(request, expected);

    try (Socket socket = connect()) {
      socket.getOutputStream().write(request);
      if (closes) {
        socket.shutdownOutput();
        assertThat(HEX.formatHex(drain(socket))).isEqualTo(HEX.formatHex(expected));
        return;
      }
      byte[] answer = frames(socket, countFrames(expected));
      if (name.startsWith("query_handler_throws")) {
        assertThat(ResponseHeader.decode(answer, 0, answer.length).errorCode())
            .isEqualTo(RpcError.HANDLER_THREW);
      } else if (call && isTyped(exchange)) {
        Body body = Body.ofResponse(function(meaning), 0);
        assertThat(body.decode(Arrays.copyOfRange(answer, ResponseHeader.SIZE, answer.length)))
            .isEqualTo(Body.flat(meaning.get("response")));
      } else {
        assertThat(HEX.formatHex(answer)).isEqualTo(HEX.formatHex(expected));
      }
      requireInStep(socket);
    }
  }

  /** The answers of the recording become those of the script, as far as it is asked at all. */
  private void fillScript(byte[] request, byte[] expected) {
    List<Integer> functions = new ArrayList<>();
    for (int at = 0; request.length - at >= RequestHeader.SIZE; ) {
      if (request[at] != RequestHeader.MAGIC) {
        break;
      }
      functions.add(
          (request[at + 8] & 0xff)
              | (request[at + 9] & 0xff) << 8
              | (request[at + 10] & 0xff) << 16
              | (request[at + 11] & 0xff) << 24);
      int length = (int) (long) LittleEndian.INT.get(request, at + 12);
      at += RequestHeader.SIZE + Math.max(0, Math.min(length, request.length));
    }
    int number = 0;
    for (int at = 0; at < expected.length; number++) {
      ResponseHeader header = ResponseHeader.decode(expected, at, expected.length - at);
      int from = at + ResponseHeader.SIZE;
      int length = (int) header.length();
      if (header.errorCode() == 0) {
        script.answers.add(answer(functions.get(number), expected, from, length));
      } else if (header.errorCode() == RpcError.HANDLER_THREW) {
        script.answers.add(new IllegalStateException("as recorded"));
      }
      at = from + length;
    }
  }

  private static Object answer(int function, byte[] bytes, int from, int length) {
    Object value =
        switch (RpcFunction.of(function).orElseThrow()) {
          case QUERY -> Responses.decodeQuery(bytes, from, length);
          case REGISTER -> Responses.decodeRegister(bytes, from, length);
          case UNREGISTER -> Responses.decodeUnregister(bytes, from, length);
          case GET_GLOBAL_VIEW -> Responses.decodeGetGlobalView(bytes, from, length);
          case LIST_SERVICES -> Responses.decodeListServices(bytes, from, length);
        };
    if (value instanceof Expected<?> expected) {
      return expected.hasValue()
          ? expected.value()
          : new ConductorFailure(expected.error(), "as recorded");
    }
    return value;
  }

  private static boolean isTyped(JsonNode exchange) {
    // Bit 0 of the type hash: a meta byte follows, which the plain form has for wide bodies only.
    byte[] answer = HEX.parseHex(exchange.get("response_hex").asText());
    return answer.length > 20 && (answer[16] & 1) == 1 && (answer[20] & 4) != 0;
  }

  private static RpcFunction function(JsonNode meaning) {
    String method = meaning.get("function").asText();
    return Arrays.stream(RpcFunction.values())
        .filter(f -> f.method().equals(method))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void manyTokens_onOneConnection_areAnsweredOnceEach() throws IOException {
    int[] tokens = IntStream.range(0, 200_000).toArray();
    var request = new Wire.QueryRequest("", "m", "", 16, tokens, null, null);
    try (Socket socket = connect()) {
      for (int seq = 0; seq < 200; seq++) {
        socket.getOutputStream().write(Requests.encodeQuery(seq, request));
        byte[] answer = frames(socket, 1);
        assertThat(ResponseHeader.decode(answer, 0, answer.length).seq()).isEqualTo(seq);
        assertThat(socket.getInputStream().available()).isZero();
      }
    }
  }

  @Test
  void requests_pipelinedByTheThousand_areAnsweredInOrder() throws Exception {
    int[] many = IntStream.range(0, 40_000).toArray();
    ByteArrayOutputStream requests = new ByteArrayOutputStream();
    for (int seq = 0; seq < 2_000; seq++) {
      int[] tokens = seq % 100 == 0 ? many : new int[] {seq};
      requests.write(
          Requests.encodeQuery(seq, new Wire.QueryRequest("", "m", "", 16, tokens, null, null)));
    }
    try (Socket socket = connect()) {
      Thread writer = new Thread(() -> writeAll(socket, requests.toByteArray()));
      writer.start();
      byte[] answers = frames(socket, 2_000);
      for (int seq = 0; seq < 2_000; seq++) {
        int at = seq * (answers.length / 2_000);
        assertThat(ResponseHeader.decode(answers, at, answers.length - at).seq()).isEqualTo(seq);
      }
      writer.join();
    }
  }

  private static void writeAll(Socket socket, byte[] bytes) {
    try {
      socket.getOutputStream().write(bytes);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  void slowCall_onOneConnection_holdsUpNoOther() throws IOException {
    script.hold = new CountDownLatch(1);
    try (Socket slow = connect();
        Socket quick = connect()) {
      slow.getOutputStream().write(Requests.encodeListServices(1));
      quick.getOutputStream().write(unknownFunction(2));
      assertThat(frames(quick, 1)).isNotEmpty();
      assertThat(slow.getInputStream().available()).isZero();
      script.hold.countDown();
      assertThat(frames(slow, 1)).isNotEmpty();
    }
  }

  @Test
  void peer_thatGoesAwayInTheMiddleOfACall_costsNothing() throws IOException {
    script.hold = new CountDownLatch(1);
    Socket socket = connect();
    socket.getOutputStream().write(Requests.encodeListServices(1));
    socket.close();
    script.hold.countDown();
    try (Socket next = connect()) {
      requireInStep(next);
    }
  }

  @Test
  void bodyOverTheLimit_endsTheConnection_beforeItCame() throws IOException {
    byte[] header = Arrays.copyOf(Requests.encodeListServices(1), RequestHeader.SIZE);
    LittleEndian.INT.set(header, 12, RpcTestServer.MAX_BODY + 1);
    try (Socket socket = connect()) {
      socket.getOutputStream().write(header);
      assertThat(drain(socket)).isEmpty();
    }
  }

  @Test
  void announcedLengths_takeNoMemory() throws IOException {
    byte[] header = Arrays.copyOf(Requests.encodeListServices(1), RequestHeader.SIZE);
    LittleEndian.INT.set(header, 12, RpcTestServer.MAX_BODY);
    List<Socket> sockets = new ArrayList<>();
    try {
      for (int i = 0; i < 200; i++) {
        Socket socket = connect();
        sockets.add(socket);
        socket.getOutputStream().write(header);
      }
      Awaitility.await().untilAtomic(server.connections, Matchers.is(200));
      try (Socket next = connect()) {
        requireInStep(next);
      }
      assertThat(server.buffered.get()).isLessThan(200 * 8192);
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  @Test
  void randomBytes_forAMinute_disturbNobody() throws IOException {
    Random random = new Random(42);
    byte[] valid =
        Requests.encodeQuery(
            7, new Wire.QueryRequest("t", "m", "", 16, new int[] {1, 2, 3}, "s", null));
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    int rounds = 0;
    try (Socket honest = connect()) {
      while (System.nanoTime() < end) {
        byte[] noise = new byte[1 + random.nextInt(4096)];
        random.nextBytes(noise);
        if (rounds % 2 == 0) {
          System.arraycopy(valid, 0, noise, 0, Math.min(noise.length, RequestHeader.SIZE));
        } else if (rounds % 3 == 0) {
          noise = valid.clone();
          noise[random.nextInt(noise.length)] ^= (byte) (1 << random.nextInt(8));
        }
        try (Socket socket = connect()) {
          socket.getOutputStream().write(noise);
          if (random.nextBoolean()) {
            socket.shutdownOutput();
            drain(socket);
          }
        }
        if (rounds++ % 50 == 0) {
          requireInStep(honest);
        }
      }
    }
    assertThat(rounds).isGreaterThan(100);
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket("127.0.0.1", server.port());
    socket.setSoTimeout(PATIENCE_MS);
    socket.setTcpNoDelay(true);
    return socket;
  }

  /** A call that no Conductor is asked for. */
  private static byte[] unknownFunction(int seq) {
    byte[] frame = Requests.encodeListServices(seq);
    LittleEndian.INT.set(frame, 8, 0xdeadbeef);
    return frame;
  }

  private static void requireInStep(Socket socket) throws IOException {
    socket.getOutputStream().write(Requests.encodeListServices(99));
    byte[] answer = frames(socket, 1);
    ResponseHeader header = ResponseHeader.decode(answer, 0, answer.length);
    assertThat(header.seq()).isEqualTo(99);
    assertThat(header.errorCode()).isZero();
  }

  private static int countFrames(byte[] stream) {
    int count = 0;
    for (int at = 0; at < stream.length; count++) {
      at +=
          ResponseHeader.SIZE
              + (int) ResponseHeader.decode(stream, at, stream.length - at).length();
    }
    return count;
  }

  private static byte[] frames(Socket socket, int count) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    InputStream in = socket.getInputStream();
    for (int i = 0; i < count; i++) {
      byte[] header = in.readNBytes(ResponseHeader.SIZE);
      all.writeBytes(header);
      all.writeBytes(in.readNBytes((int) ResponseHeader.decode(header, 0, header.length).length()));
    }
    return all.toByteArray();
  }

  /** All that comes until the server closes, which it may do the hard way. */
  private static byte[] drain(Socket socket) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    byte[] chunk = new byte[4096];
    try {
      for (int n = socket.getInputStream().read(chunk);
          n >= 0;
          n = socket.getInputStream().read(chunk)) {
        all.write(chunk, 0, n);
      }
    } catch (SocketException e) {
      assertThat(e).hasMessageContaining("reset");
    }
    return all.toByteArray();
  }
}
