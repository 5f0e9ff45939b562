package baton.it;

import static baton.it.Dialect.VLLM;
import static baton.it.Router.eventually;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What publishers send, what they do to the index, and what happens when a stream breaks. */
@QuarkusIntegrationTest
class StreamIT {
  private static final byte[] TOPIC = "kv-events".getBytes(US_ASCII);
  private static final Prompt PROMPT = Prompt.ofBlocks(Prompt.VLLM, 4);
  private static final Prompt OTHER_PROMPT = Prompt.from(Prompt.VLLM, 1001, 4);

  @TestHTTPResource URL root;
  private Router router;
  private final List<EnginePublisher> publishers = new ArrayList<>();

  @BeforeEach
  void connect() {
    router = new Router(root);
  }

  @AfterEach
  void leaveNothingBehind() {
    router.unregisterAll();
    publishers.forEach(EnginePublisher::close);
  }

  private EnginePublisher serve() {
    return opened(EnginePublisher.serve());
  }

  private EnginePublisher opened(EnginePublisher publisher) {
    publishers.add(publisher);
    return publisher;
  }

  private Registration follow(EnginePublisher publisher) {
    Registration engine = Registration.vllm(publisher.endpoint());
    router.register(engine);
    publisher.awaitSubscriber();
    return engine;
  }

  private static Object store(List<Long> keys) {
    return VLLM.batch(VLLM.stored(keys, "GPU"));
  }

  // What engines and pools tell

  static Stream<Dialect> dialects() {
    return Dialect.all();
  }

  @ParameterizedTest
  @MethodSource("dialects")
  void engineEvents_inEveryForm_storeRemoveAndClear(Dialect dialect) {
    EnginePublisher publisher = serve();
    Registration engine = Registration.of(dialect.engine(), publisher.endpoint());
    router.register(engine);
    publisher.awaitSubscriber();

    CoreFlow.engine(router, engine, dialect, publisher::send);
  }

  @Test
  void key_ofTheFirstBlock_isTheOneThatIsPublished() {
    // Case 84: T1, seed "0", sha256_cbor.
    assertThat(PROMPT.keys().get(0)).isEqualTo(2164874634404590027L);
  }

  @Test
  void poolObjects_stored_countForEveryEngineOfTheContext() {
    EnginePublisher first = serve();
    EnginePublisher second = serve();
    EnginePublisher master = serve();
    Registration engine = follow(first);
    Registration other = engine.another(second.endpoint());
    router.register(other);
    router.register(engine.pool(master.endpoint()));
    master.awaitSubscriber();

    CoreFlow.pool(router, engine, other, master::send);
  }

  @Test
  void poolObjects_withAnEnginesOwnBlocks_joinInOnePrefix() {
    EnginePublisher publisher = serve();
    EnginePublisher master = serve();
    Registration engine = follow(publisher);
    Registration pool = engine.pool(master.endpoint());
    router.register(pool);
    master.awaitSubscriber();

    publisher.send(VLLM.batch(VLLM.stored(PROMPT.key(0), "GPU"), VLLM.stored(PROMPT.key(2), null)));
    String model = engine.model();
    master.send(
        Dialect.mooncakeBatch(
            PoolEvent.stored(model, "a", "default", PROMPT.keys().get(1), "cpu"),
            PoolEvent.stored(model, "a", "default", PROMPT.keys().get(3), "disk")));
    router.awaitTiers(engine, PROMPT, 4, 4, 12, 16);

    publisher.send(VLLM.batch(VLLM.cleared()));
    router.awaitTiers(engine, PROMPT, 0, 0, 0, 0);
    publisher.send(store(PROMPT.key(0)));
    router.awaitTiers(engine, PROMPT, 4, 4, 8, 8);

    router.unregister(pool);
    router.awaitTiers(engine, PROMPT, 4, 4, 4, 4);
  }

  @Test
  void poolObject_ofAContextWithoutEngine_isRefusedAndCounted() {
    EnginePublisher publisher = serve();
    EnginePublisher master = serve();
    Registration engine = follow(publisher);
    router.register(engine.pool(master.endpoint()));
    master.awaitSubscriber();
    long before = router.refused("Mooncake", "unknown_context");

    long key = PROMPT.keys().get(0);
    master.send(
        Dialect.mooncakeBatch(
            PoolEvent.stored("nobodys-model", "a", "default", key, "cpu"),
            PoolEvent.stored(engine.model(), "a", "nobodys-tenant", key, "cpu"),
            PoolEvent.stored(engine.model(), "a", "default", key, "cpu")));

    router.awaitTiers(engine, PROMPT, 0, 0, 4, 4);
    assertThat(router.refused("Mooncake", "unknown_context")).isEqualTo(before + 2);
    assertThat(router.query(engine.tenant("nobodys-tenant"), PROMPT)).isEmpty();
  }

  @Test
  void events_applied_areCountedByKind() {
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    long stored = router.applied("vLLM", "stored");
    long removed = router.applied("vLLM", "removed");
    long cleared = router.applied("vLLM", "cleared");
    long messages = router.metric("baton_messages_total{type=vLLM}");

    publisher.send(
        VLLM.batch(
            VLLM.stored(PROMPT.keys(), "GPU"), VLLM.removed(PROMPT.key(3), "GPU"), VLLM.cleared()));
    publisher.send(VLLM.batch());
    publisher.send(store(PROMPT.keys()));
    router.awaitDevice(engine, PROMPT, 16);

    assertThat(router.applied("vLLM", "stored")).isEqualTo(stored + 2);
    assertThat(router.applied("vLLM", "removed")).isEqualTo(removed + 1);
    assertThat(router.applied("vLLM", "cleared")).isEqualTo(cleared + 1);
    assertThat(router.metric("baton_messages_total{type=vLLM}")).isEqualTo(messages + 3);
  }

  @Test
  void events_thatDoNotFit_areCountedByReasonAndDoNotHarmTheirBatch() {
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    Map<String, Double> before = router.metrics();

    publisher.send(
        VLLM.batch(
            VLLM.stored(PROMPT.key(0), "GPU"),
            with(VLLM.stored(PROMPT.key(3), "GPU"), "block_size", 8),
            VLLM.stored(PROMPT.key(3), "EXTERNAL"),
            with(VLLM.stored(PROMPT.key(3), "GPU"), "lora_name", "adapter"),
            with(VLLM.stored(PROMPT.key(3), "GPU"), "group_idx", 1),
            with(VLLM.stored(PROMPT.key(3), "GPU"), "kv_cache_spec_kind", "mamba"),
            with(VLLM.stored(PROMPT.key(3), "GPU"), "block_hashes", List.of("text")),
            with(VLLM.stored(PROMPT.key(3), "GPU"), "block_hashes", List.of(new byte[7])),
            with(VLLM.stored(PROMPT.key(3), "GPU"), "type", "BlockMoved"),
            "no event",
            VLLM.stored(PROMPT.key(1), "GPU")));
    router.awaitDevice(engine, PROMPT, 8);

    assertThat(router.prefixCount(engine)).isEqualTo(2);
    Map<String, Double> after = router.metrics();
    Map<String, Integer> expected =
        Map.of(
            "wrong_block_size", 1,
            "unknown_medium", 1,
            "wrong_lora", 1,
            "unsupported_group", 2,
            "malformed_event", 3,
            "unknown_event", 1);
    expected.forEach(
        (reason, count) -> {
          String name = "baton_events_refused_total{reason=" + reason + ",type=vLLM}";
          assertThat(after.get(name) - before.get(name)).as(reason).isEqualTo(count.doubleValue());
        });
  }

  private static Object with(Object event, String field, Object value) {
    @SuppressWarnings("unchecked")
    Map<String, Object> changed = (Map<String, Object>) event;
    changed.put(field, value);
    return changed;
  }

  // Ranks

  @Test
  void ranks_ofOneInstance_areFollowedAndAnsweredEachByItself() {
    // Cases 65 and 67.
    List<EnginePublisher> ranks = IntStream.range(0, 4).mapToObj(i -> serve()).toList();
    Registration first = Registration.vllm(ranks.get(0).endpoint());
    for (int rank = 0; rank < 4; rank++) {
      router.register(first.rank(rank, ranks.get(rank).endpoint()));
    }
    ranks.forEach(EnginePublisher::awaitSubscriber);
    assertThat(router.services())
        .filteredOn(s -> s.get("InstanceID").asText().equals(first.instance()))
        .extracting(s -> s.get("DPRank").asInt())
        .containsExactly(0, 1, 2, 3);

    Prompt prompt = Prompt.ofBlocks(Prompt.VLLM, 65);
    int[] blocks = {65, 5, 0, 1};
    for (int rank = 0; rank < 4; rank++) {
      List<Long> keys = prompt.keys().subList(0, blocks[rank]);
      ranks.get(rank).send(VLLM.batchOfRank(rank, VLLM.stored(keys, "GPU")));
    }
    eventually(
        () ->
            assertThat(router.hit(first, prompt).dp())
                .isEqualTo(Map.of(0, 260L, 1, 20L, 2, 0L, 3, 4L)));

    router.unregister(first);
    assertThat(router.hit(first, prompt).dp()).isEqualTo(Map.of(1, 20L, 2, 0L, 3, 4L));
    assertThat(router.hit(first, prompt).device()).isEqualTo(20);
  }

  @Test
  void batch_ofAnotherRank_isRefusedAndTheStreamGoesOn() {
    // Case 68.
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    long refused = router.refused("vLLM", "wrong_rank");
    long gaps = router.metric("baton_gaps_total{type=vLLM}");

    publisher.send(store(PROMPT.key(0)));
    publisher.send(VLLM.batchOfRank(1, VLLM.stored(PROMPT.keys(), "GPU")));
    publisher.send(VLLM.batchOfRank(-1, VLLM.stored(PROMPT.keys(), "GPU")));
    publisher.send(VLLM.batchOfRank(0, VLLM.stored(PROMPT.key(1), "GPU")));

    router.awaitDevice(engine, PROMPT, 8);
    assertThat(router.prefixCount(engine)).isEqualTo(2);
    assertThat(router.refused("vLLM", "wrong_rank")).isEqualTo(refused + 2);
    assertThat(router.metric("baton_gaps_total{type=vLLM}")).isEqualTo(gaps);
  }

  // The numbering

  @Test
  void message_underAnOldNumber_isDropped() {
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    long duplicates = router.metric("baton_messages_duplicate_total{type=vLLM}");
    long restarts = router.metric("baton_restarts_total{type=vLLM}");

    Object first = store(PROMPT.key(0));
    Object second = store(PROMPT.key(1));
    publisher.next(5).send(first);
    publisher.send(second);
    publisher.next(6).send(second);
    publisher.next(5).send(first);
    publisher.next(0).send(store(OTHER_PROMPT.keys()));
    publisher.next(7).send(store(PROMPT.key(2)));

    router.awaitDevice(engine, PROMPT, 12);
    assertThat(router.hit(engine, OTHER_PROMPT).device()).isZero();
    assertThat(router.metric("baton_messages_duplicate_total{type=vLLM}"))
        .isEqualTo(duplicates + 3);
    assertThat(router.metric("baton_restarts_total{type=vLLM}")).isEqualTo(restarts);
  }

  @Test
  void message_underAKnownNumber_thatSaysSomethingElse_isARestart() {
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    long restarts = router.metric("baton_restarts_total{type=vLLM}");

    publisher.send(store(PROMPT.key(0)));
    publisher.send(store(PROMPT.key(1)));
    router.awaitDevice(engine, PROMPT, 8);
    publisher.next(0).send(store(OTHER_PROMPT.key(0)));

    router.awaitDevice(engine, OTHER_PROMPT, 4);
    assertThat(router.hit(engine, PROMPT).device()).isZero();
    assertThat(router.metric("baton_restarts_total{type=vLLM}")).isEqualTo(restarts + 1);
  }

  @Test
  void gap_removesAllThatThePublisherOwned_andGoesOnLive() {
    // Cases 30 and 31.
    EnginePublisher publisher = serve();
    EnginePublisher master = serve();
    Registration engine = follow(publisher);
    router.register(engine.pool(master.endpoint()));
    master.awaitSubscriber();
    long gaps = router.metric("baton_gaps_total{type=vLLM}");

    publisher.next(10).send(store(PROMPT.keys()));
    master.send(
        Dialect.mooncakeBatch(
            PoolEvent.stored(engine.model(), "a", "default", PROMPT.keys().get(0), "cpu")));
    router.awaitTiers(engine, PROMPT, 16, 16, 16, 16);
    publisher.next(13).send(store(OTHER_PROMPT.key(0)));
    publisher.send(store(OTHER_PROMPT.key(1)));

    router.awaitDevice(engine, OTHER_PROMPT, 8);
    // What the pool has, the engine's gap does not touch.
    assertThat(router.hit(engine, PROMPT).tiers()).containsExactly(0L, 0L, 4L, 4L);
    assertThat(router.metric("baton_gaps_total{type=vLLM}")).isEqualTo(gaps + 1);
  }

  @Test
  void gapOfAPool_removesItsObjects_andNotTheEnginesBlocks() {
    EnginePublisher publisher = serve();
    EnginePublisher master = serve();
    Registration engine = follow(publisher);
    router.register(engine.pool(master.endpoint()));
    master.awaitSubscriber();

    publisher.send(store(PROMPT.key(0)));
    String model = engine.model();
    List<Long> keys = PROMPT.keys();
    master.send(
        Dialect.mooncakeBatch(PoolEvent.stored(model, "a", "default", keys.get(1), "disk")));
    router.awaitTiers(engine, PROMPT, 4, 4, 4, 8);
    master.next(5);
    master.send(Dialect.mooncakeBatch(PoolEvent.stored(model, "a", "default", keys.get(2), "cpu")));

    router.awaitTiers(engine, PROMPT, 4, 4, 4, 4);
    eventually(() -> assertThat(router.prefixCount(engine)).isEqualTo(2));
  }

  @Test
  void restart_onTheSamePort_removesTheOldBlocks() {
    // Cases 21 and 22.
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    long restarts = router.metric("baton_restarts_total{type=vLLM}");
    for (int i = 0; i < 4; i++) {
      publisher.send(store(PROMPT.key(i)));
    }
    router.awaitDevice(engine, PROMPT, 16);

    publisher.close();
    eventually(() -> assertThat(router.publishers("lost")).isEqualTo(1));
    // Kept: the connection may come back to the same engine.
    assertThat(router.hit(engine, PROMPT).device()).isEqualTo(16);
    EnginePublisher again = opened(EnginePublisher.serve(engine.endpoint())).awaitSubscriber();
    for (int i = 0; i < 4; i++) {
      again.send(store(OTHER_PROMPT.key(i)));
    }

    router.awaitDevice(engine, OTHER_PROMPT, 16);
    assertThat(router.hit(engine, PROMPT).device()).isZero();
    assertThat(router.prefixCount(engine)).isEqualTo(4);
    assertThat(router.metric("baton_restarts_total{type=vLLM}")).isEqualTo(restarts + 1);
    assertThat(router.publishers("lost")).isZero();
  }

  @Test
  void duplicate_afterARestart_isDropped() {
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    publisher.next(100).send(store(PROMPT.keys()));
    router.awaitDevice(engine, PROMPT, 16);
    publisher.close();
    EnginePublisher again = opened(EnginePublisher.serve(engine.endpoint())).awaitSubscriber();
    Object first = store(OTHER_PROMPT.key(0));
    again.send(first);
    again.send(store(OTHER_PROMPT.key(1)));
    again.next(0).send(first);
    again.next(2).send(store(OTHER_PROMPT.key(2)));

    router.awaitDevice(engine, OTHER_PROMPT, 12);
    assertThat(router.prefixCount(engine)).isEqualTo(3);
  }

  @Test
  void newConnection_thatGoesOnCounting_startsFromNothing_becauseItMayBeAnotherEngine() {
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    publisher.send(store(PROMPT.key(0)));
    router.awaitDevice(engine, PROMPT, 4);
    publisher.close();
    EnginePublisher again = opened(EnginePublisher.serve(engine.endpoint())).awaitSubscriber();
    Object first = store(OTHER_PROMPT.key(0));
    again.next(1).send(first);
    router.awaitDevice(engine, OTHER_PROMPT, 4);
    assertThat(router.hit(engine, PROMPT).device()).isZero();

    // From there on it is one stream again.
    long restarts = router.metric("baton_restarts_total{type=vLLM}");
    again.next(1).send(first);
    again.send(store(OTHER_PROMPT.key(1)));
    router.awaitDevice(engine, OTHER_PROMPT, 8);
    assertThat(router.metric("baton_restarts_total{type=vLLM}")).isEqualTo(restarts);
  }

  // Messages that are none

  @Test
  void messages_withOtherFrames_areCountedAndSkipped() {
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    long refused = router.refused("vLLM", "bad_frames");
    byte[] number = ByteBuffer.allocate(8).putLong(1).array();
    byte[] clear = EnginePublisher.pack(VLLM.batch(VLLM.cleared()));

    publisher.send(store(PROMPT.keys()));
    publisher.sendFrames(clear);
    publisher.sendFrames(number, clear);
    publisher.sendFrames(TOPIC, number, clear, clear);
    publisher.sendFrames(TOPIC, number, clear, clear, clear, clear, clear);
    publisher.sendFrames(TOPIC, new byte[0], clear);
    publisher.sendFrames(TOPIC, new byte[7], clear);
    publisher.sendFrames(TOPIC, new byte[9], clear);
    // -1 and the smallest long: numbers end at 2^63 - 1.
    publisher.sendFrames(TOPIC, ByteBuffer.allocate(8).putLong(-1).array(), clear);
    publisher.sendFrames(TOPIC, ByteBuffer.allocate(8).putLong(Long.MIN_VALUE).array(), clear);
    publisher.send(store(OTHER_PROMPT.keys()));

    router.awaitDevice(engine, OTHER_PROMPT, 16);
    assertThat(router.hit(engine, PROMPT).device()).isEqualTo(16);
    assertThat(router.refused("vLLM", "bad_frames")).isEqualTo(refused + 9);
  }

  @Test
  void payloads_thatAreNoBatch_areCountedAndTheStreamGoesOn() {
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    long refused = router.refused("vLLM", "malformed_batch");
    byte[] good = EnginePublisher.pack(store(PROMPT.keys()));
    byte[] trailing = java.util.Arrays.copyOf(good, good.length + 1);
    byte[] cut = java.util.Arrays.copyOf(good, good.length - 1);
    byte[] bomb = {(byte) 0x93, 1, (byte) 0xdd, 0x7f, -1, -1, -1};
    byte[] deep = new byte[100_000];
    java.util.Arrays.fill(deep, (byte) 0x91);
    List<byte[]> payloads =
        List.of(
            new byte[0],
            new byte[] {(byte) 0xc1},
            trailing,
            cut,
            bomb,
            deep,
            EnginePublisher.pack("text"),
            EnginePublisher.pack(List.of(1.0)),
            EnginePublisher.pack(List.of(1.0, "no events", 0)),
            EnginePublisher.pack(List.of(1.0, List.of(), "no rank")));

    payloads.forEach(publisher::sendPayload);
    publisher.send(store(PROMPT.keys()));

    router.awaitDevice(engine, PROMPT, 16);
    assertThat(router.refused("vLLM", "malformed_batch")).isEqualTo(refused + payloads.size());
  }

  @Test
  void payload_thatIsNoBatch_removesTheBlocks_becauseItMayHaveToldOfRemovals() {
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    publisher.send(store(PROMPT.keys()));
    publisher.sendPayload(new byte[] {(byte) 0xc1});
    publisher.send(store(OTHER_PROMPT.keys()));

    router.awaitDevice(engine, OTHER_PROMPT, 16);
    assertThat(router.hit(engine, PROMPT).device()).isZero();
  }

  @Test
  void garbage_fromOnePublisher_doesNotDisturbAnother() {
    EnginePublisher broken = serve();
    EnginePublisher sound = serve();
    Registration brokenEngine = follow(broken);
    Registration soundEngine = follow(sound);
    Random random = new Random(42);
    Prompt prompt = Prompt.from(Prompt.VLLM, 5001, 50);

    for (int i = 0; i < 50; i++) {
      for (int j = 0; j < 200; j++) {
        byte[] garbage = new byte[random.nextInt(300)];
        random.nextBytes(garbage);
        if (j % 2 == 0) {
          broken.sendPayload(garbage);
        } else {
          broken.sendFrames(garbage, garbage);
        }
      }
      sound.send(store(prompt.key(i)));
    }

    router.awaitDevice(soundEngine, prompt, 200);
    broken.send(store(PROMPT.keys()));
    router.awaitDevice(brokenEngine, PROMPT, 16);
    assertThat(router.hit(soundEngine, prompt).device()).isEqualTo(200);
  }

  @Test
  void bytes_thatAreNotZmq_doNotDisturbAnother() throws IOException {
    EnginePublisher sound = serve();
    Registration soundEngine = follow(sound);
    byte[] greeting = new byte[64];
    greeting[0] = (byte) 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    System.arraycopy("NULL".getBytes(US_ASCII), 0, greeting, 12, 4);
    byte[] ready = command("\5READY\13Socket-Type\0\0\0\3PUB");
    byte[] noise = new byte[4096];
    new Random(7).nextBytes(noise);
    List<byte[]> openings =
        List.of(
            noise,
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".getBytes(US_ASCII),
            new byte[1000],
            joined(greeting, noise),
            joined(greeting, command("\5READY\13Socket-Type\177\377\377\377PUB")),
            joined(greeting, command("\5READY\13Socket-Type\0\0\0\4PULL")),
            joined(greeting, command("\5ERROR\3bad")),
            joined(greeting, ready, noise),
            // A frame of 2^63 - 1 bytes, one of 2^64 - 1, one of 1 GiB.
            joined(greeting, ready, new byte[] {2, 0x7f, -1, -1, -1, -1, -1, -1, -1, 1}),
            joined(greeting, ready, new byte[] {2, -1, -1, -1, -1, -1, -1, -1, -1, 1}),
            joined(greeting, ready, new byte[] {2, 0, 0, 0, 0, 0x40, 0, 0, 0, 1}));
    List<RawServer> servers = new ArrayList<>();
    Prompt prompt = Prompt.from(Prompt.VLLM, 7001, openings.size());
    try {
      for (int i = 0; i < openings.size(); i++) {
        RawServer server = new RawServer(openings.get(i));
        servers.add(server);
        router.register(soundEngine.another(server.endpoint()));
        eventually(() -> assertThat(server.connections()).isPositive());
        sound.send(store(prompt.key(i)));
        router.awaitDevice(soundEngine, prompt, 4L * (i + 1));
      }
    } finally {
      for (RawServer server : servers) {
        server.close();
      }
    }
  }

  @Test
  void publisher_whereBytesWereNotZmqBefore_isFollowed() throws IOException {
    RawServer server = new RawServer(new byte[1000]);
    Registration engine = Registration.vllm(server.endpoint());
    router.register(engine);
    eventually(() -> assertThat(server.connections()).isPositive());
    server.close();

    EnginePublisher publisher = opened(EnginePublisher.serve(engine.endpoint())).awaitSubscriber();
    publisher.send(store(PROMPT.keys()));
    router.awaitDevice(engine, PROMPT, 16);
  }

  private static byte[] command(String body) {
    byte[] bytes = body.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
    return joined(new byte[] {4, (byte) bytes.length}, bytes);
  }

  private static byte[] joined(byte[]... parts) {
    ByteBuffer joined = ByteBuffer.allocate(Stream.of(parts).mapToInt(p -> p.length).sum());
    Stream.of(parts).forEach(joined::put);
    return joined.array();
  }

  /** Says the same bytes to everyone who connects, and hangs up. */
  private static final class RawServer implements AutoCloseable {
    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
    private final AtomicInteger connections = new AtomicInteger();

    RawServer(byte[] opening) throws IOException {
      Thread thread = new Thread(() -> run(opening), "raw-server");
      thread.setDaemon(true);
      thread.start();
    }

    private void run(byte[] opening) {
      while (!server.isClosed()) {
        try (Socket socket = server.accept();
            OutputStream out = socket.getOutputStream()) {
          connections.incrementAndGet();
          out.write(opening);
          out.flush();
          socket.shutdownOutput();
          socket.setSoTimeout(1000);
          socket.getInputStream().readAllBytes();
        } catch (IOException e) {
          // The other side has hung up, or the test has.
        }
      }
    }

    String endpoint() {
      return "tcp://127.0.0.1:" + server.getLocalPort();
    }

    int connections() {
      return connections.get();
    }

    @Override
    public void close() throws IOException {
      server.close();
    }
  }

  // Endpoints

  @Test
  void publisher_thatIsNotThereYet_isFollowedWhenItAppears() throws IOException {
    String endpoint = "tcp://127.0.0.1:" + freePort();
    Registration engine = Registration.vllm(endpoint);
    router.register(engine);
    eventually(() -> assertThat(router.publishers("connecting")).isEqualTo(1));
    assertThat(router.hit(engine, PROMPT).tiers()).containsExactly(0L, 0L, 0L, 0L);

    EnginePublisher publisher = opened(EnginePublisher.serve(endpoint)).awaitSubscriber();
    publisher.send(store(PROMPT.keys()));
    router.awaitDevice(engine, PROMPT, 16);
    eventually(() -> assertThat(router.publishers("live")).isEqualTo(1));
    assertThat(router.publishers("connecting")).isZero();

    publisher.close();
    eventually(() -> assertThat(router.publishers("lost")).isEqualTo(1));
    assertThat(router.publishers("live")).isZero();

    router.unregister(engine);
    assertThat(router.publishers("lost")).isZero();
  }

  private static int freePort() throws IOException {
    try (ServerSocket probe = new ServerSocket(0)) {
      return probe.getLocalPort();
    }
  }

  @Test
  void endpoint_withAStarForItsHost_waitsForThePublisher() throws IOException {
    int port = freePort();
    Registration engine = Registration.vllm("tcp://*:" + port);
    router.register(engine);
    EnginePublisher publisher =
        opened(EnginePublisher.connect("tcp://127.0.0.1:" + port)).awaitSubscriber();

    CoreFlow.engine(router, engine, VLLM, publisher::send);
    eventually(() -> assertThat(router.publishers("live")).isEqualTo(1));

    // A restarted publisher comes on a new connection.
    publisher.send(store(PROMPT.keys()));
    router.awaitDevice(engine, PROMPT, 16);
    publisher.close();
    eventually(() -> assertThat(router.publishers("lost")).isEqualTo(1));
    EnginePublisher again =
        opened(EnginePublisher.connect("tcp://[::1]:" + port)).awaitSubscriber();
    again.send(store(OTHER_PROMPT.keys()));
    router.awaitDevice(engine, OTHER_PROMPT, 16);
    assertThat(router.hit(engine, PROMPT).device()).isZero();

    router.unregister(engine);
    // The port is free again: another registration may have it.
    eventually(
        () ->
            assertThat(router.post("/register", engine.body()).status())
                .as("registered on the port again")
                .isEqualTo(200));
    router.post("/unregister", engine.key());
  }

  @Test
  void endpoint_withAStar_whosePortIsTaken_isRefused() throws IOException {
    try (ServerSocket taken = new ServerSocket(0)) {
      Registration engine = Registration.vllm("tcp://*:" + taken.getLocalPort());
      Router.Reply reply = router.post("/register", engine.body());
      assertThat(reply.status()).isEqualTo(409);
      assertThat(reply.body().get("field").asText()).isEqualTo("endpoint");
    }
    assertThat(router.services()).isEmpty();
  }

  @Test
  void endpoint_ofIpc_isFollowed(@TempDir Path folder) {
    EnginePublisher publisher = opened(EnginePublisher.serve("ipc://" + folder.resolve("kv.sock")));
    Registration engine = follow(publisher);

    CoreFlow.engine(router, engine, VLLM, publisher::send);
  }

  @Test
  void endpoints_onIpv6_areFollowed() {
    List<EnginePublisher> both =
        IntStream.range(0, 2)
            .mapToObj(i -> opened(EnginePublisher.serve("tcp://[::1]:" + (32_100 + i))))
            .toList();
    List<Registration> engines = both.stream().map(this::follow).toList();
    for (int i = 0; i < 2; i++) {
      CoreFlow.engine(router, engines.get(i), VLLM, both.get(i)::send);
    }
  }

  @Test
  void endpoint_whoseHostIsUnknown_isAcceptedAndDisturbsNobody() {
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    List<Registration> unknown =
        IntStream.range(0, 20)
            .mapToObj(i -> engine.another("tcp://no-such-host-" + i + ".invalid:5557"))
            .toList();
    unknown.forEach(router::register);
    eventually(() -> assertThat(router.publishers("connecting")).isEqualTo(20));

    CoreFlow.engine(router, engine, VLLM, publisher::send);
    assertThat(router.query(engine, PROMPT)).hasSize(21);
  }

  // The end of a registration

  @Test
  void unregister_whileEventsPourIn_isTheEndOfThem() {
    // Case 74.
    EnginePublisher publisher = serve();
    EnginePublisher witness = serve();
    Registration engine = follow(publisher);
    Registration other = engine.another(witness.endpoint());
    router.register(other);
    witness.awaitSubscriber();
    witness.send(store(PROMPT.key(0)));
    router.awaitDevice(other, PROMPT, 4);
    AtomicBoolean stop = new AtomicBoolean();
    Thread flood =
        new Thread(
            () -> {
              for (long i = 1; !stop.get(); i++) {
                publisher.send(
                    VLLM.batch(
                        VLLM.stored(PROMPT.keys(), "GPU"),
                        VLLM.stored(List.of(i % 100_000), "GPU")));
              }
            });
    flood.start();
    try {
      router.awaitDevice(engine, PROMPT, 16);

      router.unregister(engine);

      assertThat(router.query(engine, PROMPT)).containsOnlyKeys(other.instance());
      assertThat(router.prefixCount(other)).isEqualTo(1);
      assertThat(router.metric("baton_blocks")).isEqualTo(1);
      long applied = router.applied("vLLM", "stored");
      witness.send(store(PROMPT.key(1)));
      router.awaitDevice(other, PROMPT, 8);
      assertThat(router.applied("vLLM", "stored")).isEqualTo(applied + 1);
      assertThat(router.prefixCount(other)).isEqualTo(2);
    } finally {
      stop.set(true);
      join(flood);
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void reregistration_startsEmpty() {
    EnginePublisher publisher = serve();
    Registration engine = follow(publisher);
    publisher.next(1000).send(store(PROMPT.keys()));
    router.awaitDevice(engine, PROMPT, 16);

    router.unregister(engine);
    assertThat(router.query(engine, PROMPT)).isEmpty();
    router.register(engine);
    publisher.awaitSubscriber();
    assertThat(router.hit(engine, PROMPT).tiers()).containsExactly(0L, 0L, 0L, 0L);

    // The number is of no meaning to a new subscription.
    long gaps = router.metric("baton_gaps_total{type=vLLM}");
    publisher.next(3).send(store(OTHER_PROMPT.key(0)));
    router.awaitDevice(engine, OTHER_PROMPT, 4);
    assertThat(router.prefixCount(engine)).isEqualTo(1);
    assertThat(router.metric("baton_gaps_total{type=vLLM}")).isEqualTo(gaps);
  }
}
