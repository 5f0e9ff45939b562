package baton.it;

import static baton.it.Dialect.VLLM;
import static baton.it.Router.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.io.IOException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Publishers that share no code with Baton: libzmq and Python's msgpack. Needs a Python with the
 * packages zmq and msgpack (Debian: python3-zmq, python3-msgpack); without it the tests are
 * skipped, or fail with {@code -Drequire-libzmq=true}.
 */
@QuarkusIntegrationTest
class LibzmqIT {
  private static final Prompt PROMPT = Prompt.ofBlocks(Prompt.VLLM, 4);
  private static final Prompt OTHER_PROMPT = Prompt.from(Prompt.VLLM, 1001, 4);
  private static String python;

  @TestHTTPResource URL root;
  private Router router;
  private final List<PythonPublisher> publishers = new ArrayList<>();

  @BeforeAll
  static void findPython() {
    Optional<String> found = PythonPublisher.python();
    String missing = "no python3 here that can import zmq and msgpack";
    if (found.isEmpty() && Boolean.getBoolean("require-libzmq")) {
      fail(missing);
    }
    Assumptions.assumeTrue(found.isPresent(), missing);
    python = found.get();
  }

  @BeforeEach
  void connect() {
    router = new Router(root);
  }

  @AfterEach
  void leaveNothingBehind() {
    router.unregisterAll();
    publishers.forEach(PythonPublisher::close);
  }

  private PythonPublisher serve() throws IOException {
    return opened(PythonPublisher.serve(python));
  }

  private PythonPublisher opened(PythonPublisher publisher) {
    publishers.add(publisher);
    return publisher;
  }

  private Registration follow(PythonPublisher publisher) {
    Registration engine = Registration.vllm(publisher.endpoint());
    router.register(engine);
    publisher.awaitSubscriber();
    return engine;
  }

  private static Object store(List<Long> keys) {
    return VLLM.batch(VLLM.stored(keys, "GPU"));
  }

  static Stream<Dialect> dialects() {
    return Dialect.all();
  }

  @ParameterizedTest
  @MethodSource("dialects")
  void engineEvents_inEveryForm_storeRemoveAndClear(Dialect dialect) throws IOException {
    PythonPublisher publisher = serve();
    Registration engine = Registration.of(dialect.engine(), publisher.endpoint());
    router.register(engine);
    publisher.awaitSubscriber();

    CoreFlow.engine(router, engine, dialect, publisher::send);
  }

  @Test
  void poolObjects_stored_countForEveryEngineOfTheContext() throws IOException {
    PythonPublisher first = serve();
    PythonPublisher second = serve();
    PythonPublisher master = serve();
    Registration engine = follow(first);
    Registration other = engine.another(second.endpoint());
    router.register(other);
    router.register(engine.pool(master.endpoint()));
    master.awaitSubscriber();

    CoreFlow.pool(router, engine, other, master::send);
  }

  @Test
  void messages_thatAreNone_areCountedAndTheStreamGoesOn() throws IOException {
    PythonPublisher publisher = serve();
    Registration engine = follow(publisher);
    long frames = router.refused("vLLM", "bad_frames");
    long batches = router.refused("vLLM", "malformed_batch");
    byte[] topic = "kv-events".getBytes(StandardCharsets.UTF_8);

    publisher.sendFrames(topic);
    publisher.sendFrames(topic, new byte[8]);
    publisher.sendFrames(topic, new byte[4], new byte[1]);
    publisher.sendFrames(topic, ByteBuffer.allocate(8).putLong(6).array(), new byte[] {-63});
    publisher.next(7).send(store(PROMPT.keys()));

    router.awaitDevice(engine, PROMPT, 16);
    assertThat(router.refused("vLLM", "bad_frames")).isEqualTo(frames + 3);
    assertThat(router.refused("vLLM", "malformed_batch")).isEqualTo(batches + 1);
  }

  @Test
  void gap_removesAllThatThePublisherOwned_andGoesOnLive() throws IOException {
    PythonPublisher publisher = serve();
    Registration engine = follow(publisher);
    long gaps = router.metric("baton_gaps_total{type=vLLM}");

    publisher.next(1).send(store(PROMPT.keys()));
    publisher.next(3).send(store(OTHER_PROMPT.keys()));

    router.awaitDevice(engine, OTHER_PROMPT, 16);
    assertThat(router.prefixCount(engine)).isEqualTo(4);
    assertThat(router.metric("baton_gaps_total{type=vLLM}")).isEqualTo(gaps + 1);
  }

  @Test
  void message_underAnOldNumber_isDropped() throws IOException {
    PythonPublisher publisher = serve();
    Registration engine = follow(publisher);
    long duplicates = router.metric("baton_messages_duplicate_total{type=vLLM}");

    Object batch = store(PROMPT.key(0));
    publisher.next(8).send(batch);
    publisher.next(8).send(batch);
    publisher.next(9).send(store(PROMPT.key(1)));

    router.awaitDevice(engine, PROMPT, 8);
    assertThat(router.metric("baton_messages_duplicate_total{type=vLLM}"))
        .isEqualTo(duplicates + 1);
  }

  @Test
  void restart_ofTheSocket_removesTheOldBlocks() throws IOException {
    PythonPublisher publisher = serve();
    Registration engine = follow(publisher);
    long restarts = router.metric("baton_restarts_total{type=vLLM}");
    publisher.next(40).send(store(PROMPT.keys()));
    router.awaitDevice(engine, PROMPT, 16);

    publisher.closeSocket();
    eventually(() -> assertThat(router.publishers("lost")).isEqualTo(1));
    publisher.serveAt(engine.endpoint(), 1000).awaitSubscriber();
    publisher.next(0).send(store(OTHER_PROMPT.keys()));

    router.awaitDevice(engine, OTHER_PROMPT, 16);
    assertThat(router.prefixCount(engine)).isEqualTo(4);
    assertThat(router.metric("baton_restarts_total{type=vLLM}")).isEqualTo(restarts + 1);
  }

  @Test
  void restart_ofTheProcess_removesTheOldBlocks() throws IOException {
    PythonPublisher publisher = serve();
    Registration engine = follow(publisher);
    publisher.send(store(PROMPT.keys()));
    router.awaitDevice(engine, PROMPT, 16);

    publisher.close();
    eventually(() -> assertThat(router.publishers("lost")).isEqualTo(1));
    PythonPublisher again = serve();
    again.closeSocket();
    again.serveAt(engine.endpoint(), 1000).awaitSubscriber();
    again.send(store(OTHER_PROMPT.keys()));

    router.awaitDevice(engine, OTHER_PROMPT, 16);
    assertThat(router.prefixCount(engine)).isEqualTo(4);
  }

  @Test
  void publisher_thatConnectsToUs_isFollowed() throws IOException {
    PythonPublisher port = serve();
    port.closeSocket();
    String number = port.endpoint().substring(port.endpoint().lastIndexOf(':') + 1);
    String connectTo = "tcp://127.0.0.1:" + number;
    Registration engine = Registration.vllm("tcp://*:" + number);
    router.register(engine);
    PythonPublisher publisher =
        opened(PythonPublisher.connect(python, connectTo)).awaitSubscriber();

    CoreFlow.engine(router, engine, VLLM, publisher::send);
  }

  @Test
  void endpoint_onIpv6_isFollowed() throws IOException {
    PythonPublisher publisher = serve();
    publisher.closeSocket();
    publisher.serveAt("tcp://[::1]:*", 1000);
    Registration engine = follow(publisher);

    CoreFlow.engine(router, engine, VLLM, publisher::send);
  }

  @Test
  @Disabled("jeromq 0.6.0 knows no Unix sockets: for ipc:// it takes a TCP port made of the name")
  void endpoint_ofIpc_isFollowed(@TempDir Path folder) throws IOException {
    PythonPublisher publisher = serve();
    publisher.closeSocket();
    publisher.serveAt("ipc://" + folder.resolve("kv.sock"), 1000);
    Registration engine = follow(publisher);

    CoreFlow.engine(router, engine, VLLM, publisher::send);
  }

  @Test
  void burst_ofWhichThePublisherDropsNothing_isAppliedWhole() throws IOException {
    burst(0);
  }

  @Test
  void burst_overTheHighWaterMark_isAppliedOrItsGapIsCounted() throws IOException {
    burst(1000);
  }

  /** Case 35. Ten thousand batches of one block each, under an engine's high-water mark or none. */
  private void burst(int highWaterMark) throws IOException {
    int batches = 10_000;
    PythonPublisher publisher = serve();
    publisher.closeSocket();
    publisher.serveAt("tcp://127.0.0.1:*", highWaterMark);
    Registration engine = follow(publisher);
    Map<String, Double> before = router.metrics();
    List<Long> keys = LongStream.rangeClosed(1, batches).boxed().toList();
    List<Object> all = new ArrayList<>();
    keys.forEach(key -> all.add(store(List.of(key))));

    publisher.sendAll(all);
    // Some of the last ones may be dropped, so one more is sent until one comes through.
    List<Long> end = List.of(-1L);
    eventually(
        () -> {
          publisher.send(store(end));
          assertThat(router.queryByHash(engine, end).get(engine.instance()).device()).isEqualTo(4);
        });

    Map<String, Double> after = router.metrics();
    double gaps = difference("baton_gaps_total{type=vLLM}", before, after);
    double messages = difference("baton_messages_total{type=vLLM}", before, after);
    double applied = difference("baton_events_total{kind=stored,type=vLLM}", before, after);
    assertThat(applied).isEqualTo(messages);
    int held = (int) router.prefixCount(engine) - 1;
    if (highWaterMark == 0) {
      assertThat(gaps).isZero();
      assertThat(held).isEqualTo(batches);
    } else if (held < batches) {
      assertThat(gaps).isPositive();
    }
    // What is held is what came after the last gap: the last ones, and no other.
    List<Long> suffix = keys.subList(batches - held, batches);
    assertThat(router.queryByHash(engine, suffix).get(engine.instance()).device())
        .isEqualTo(4L * held);
  }

  private static double difference(
      String metric, Map<String, Double> before, Map<String, Double> after) {
    return after.get(metric) - before.get(metric);
  }
}
