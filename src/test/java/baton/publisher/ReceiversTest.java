package baton.publisher;

import static org.assertj.core.api.Assertions.assertThat;

import baton.hash.HashProfile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** What subscriptions cost, and what their end promises. */
class ReceiversTest {
  private static final HashProfile PROFILE =
      new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be");
  private static final Receivers.Settings SETTINGS =
      new Receivers.Settings(2, 1, 2000, 1000, 1 << 20, RecoverySettings.DEFAULT);
  // Nobody serves it: a port of the reserved range.
  private static final String NOBODY = "tcp://127.0.0.1:1";

  // Thousands come and go here; each would be a line.
  private static final Logger LOG = Logger.getLogger("baton.publisher");

  private final ZContext context = new ZContext();
  private final ZMQ.Socket publisher = publisher();
  private final String endpoint =
      "tcp://127.0.0.1:" + publisher.bindToRandomPort("tcp://127.0.0.1");
  private long sequence;

  private ZMQ.Socket publisher() {
    ZMQ.Socket socket = context.createSocket(SocketType.XPUB);
    // Tells of every subscriber, not only of the first.
    socket.setXpubVerbose(true);
    socket.setSndHWM(0);
    socket.setLinger(0);
    socket.setReceiveTimeOut(60_000);
    return socket;
  }

  @BeforeAll
  static void quiet() {
    LOG.setLevel(Level.WARNING);
  }

  @AfterAll
  static void loud() {
    LOG.setLevel(null);
  }

  @AfterEach
  void closePublisher() {
    context.close();
  }

  /** Counts what is stored, and does with it what the test says. */
  private static class CountingSink implements EngineSink {
    final AtomicLong stored = new AtomicLong();
    final AtomicLong retracted = new AtomicLong();

    @Override
    public int stored(Medium medium, long[] keys, int count) {
      stored.addAndGet(count);
      return 0;
    }

    @Override
    public void removed(Medium medium, long[] keys, int count) {}

    @Override
    public void cleared(Medium medium) {}

    @Override
    public void hide() {}

    @Override
    public void show() {}

    @Override
    public void retract() {
      retracted.incrementAndGet();
    }
  }

  private static Subscription follow(Receivers receivers, String endpoint, EngineSink sink) {
    try {
      return receivers.followEngine(
          "test", endpoint, "", PublisherType.VLLM, 4, "", 0, PROFILE, sink);
    } catch (Receivers.CannotSubscribe e) {
      throw new AssertionError(e);
    }
  }

  private void awaitSubscriber() {
    assertThat(publisher.recv()).as("a subscription").containsExactly(1);
  }

  private void send() {
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      packer.packArrayHeader(2).packDouble(1).packArrayHeader(1);
      packer.packArrayHeader(5).packString("BlockStored").packArrayHeader(1).packLong(sequence);
      packer.packNil().packArrayHeader(0).packInt(4);
      publisher.send("", ZMQ.SNDMORE);
      publisher.send(ByteBuffer.allocate(8).putLong(sequence++).array(), ZMQ.SNDMORE);
      publisher.send(packer.toByteArray());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void eventually(ThrowingRunnable assertion) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .pollInSameThread()
        .pollInterval(Duration.ofMillis(20))
        .untilAsserted(assertion);
  }

  private static long openFiles() {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return files.count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Ours and ZMQ's; others in this process have their own. */
  private static long threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().matches("(baton-|iothread-|reaper-).*"))
        .count();
  }

  @Test
  void thousandSubscriptions_openedAndClosedTenTimes_leaveNoThreadAndNoFileBehind() {
    try (Receivers receivers = new Receivers(SETTINGS)) {
      CountingSink sink = new CountingSink();
      follow(receivers, endpoint, sink).close();
      eventually(() -> assertThat(publisher.recv(ZMQ.DONTWAIT)).isNull());
      long threads = threads();
      long files = openFiles();

      for (int round = 0; round < 10; round++) {
        List<Subscription> subscriptions = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
          subscriptions.add(follow(receivers, i % 10 == 0 ? NOBODY : endpoint, sink));
        }
        eventually(
            () ->
                assertThat(subscriptions)
                    .filteredOn(s -> s.state() == Subscription.State.LIVE)
                    .hasSize(900));
        assertThat(threads()).isLessThanOrEqualTo(threads + 1);
        subscriptions.forEach(Subscription::close);
      }

      eventually(() -> assertThat(openFiles()).isLessThanOrEqualTo(files + 5));
      assertThat(threads()).isLessThanOrEqualTo(threads + 1);
    }
  }

  @Test
  void receivers_closed_leaveNoThreadAndNoFileBehind() {
    try (Receivers warmUp = new Receivers(SETTINGS)) {
      follow(warmUp, endpoint, new CountingSink());
    }
    long threads = threads();
    long files = openFiles();
    for (int round = 0; round < 5; round++) {
      try (Receivers receivers = new Receivers(SETTINGS)) {
        for (int i = 0; i < 20; i++) {
          follow(receivers, i % 2 == 0 ? endpoint : NOBODY, new CountingSink());
        }
      }
    }
    eventually(() -> assertThat(openFiles()).isLessThanOrEqualTo(files + 5));
    eventually(() -> assertThat(threads()).isLessThanOrEqualTo(threads));
  }

  @Test
  void close_whileAnEventIsApplied_waitsForIt() throws Exception {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch release = new CountDownLatch(1);
    AtomicInteger applied = new AtomicInteger();
    EngineSink slow =
        new CountingSink() {
          @Override
          public int stored(Medium medium, long[] keys, int count) {
            entered.countDown();
            try {
              assertThat(release.await(60, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
            applied.incrementAndGet();
            return 0;
          }
        };
    try (Receivers receivers = new Receivers(SETTINGS)) {
      Subscription subscription = follow(receivers, endpoint, slow);
      awaitSubscriber();
      send();
      assertThat(entered.await(60, TimeUnit.SECONDS)).isTrue();

      CompletableFuture<Integer> closed =
          CompletableFuture.supplyAsync(
              () -> {
                subscription.close();
                return applied.get();
              });
      Awaitility.await()
          .during(Duration.ofMillis(200))
          .atMost(Duration.ofSeconds(60))
          .until(() -> !closed.isDone());
      release.countDown();

      assertThat(closed.get(60, TimeUnit.SECONDS)).isEqualTo(1);
    }
  }

  @Test
  void close_amidAFlood_isTheEndOfIt() {
    try (Receivers receivers = new Receivers(SETTINGS)) {
      for (int round = 0; round < 20; round++) {
        CountingSink closing = new CountingSink();
        CountingSink staying = new CountingSink();
        Subscription subscription = follow(receivers, endpoint, closing);
        awaitSubscriber();
        Subscription witness = follow(receivers, endpoint, staying);
        // It sees the end of the flood only if it has joined before.
        awaitSubscriber();
        for (int i = 0; i < 2000; i++) {
          send();
        }
        eventually(() -> assertThat(closing.stored).hasPositiveValue());

        subscription.close();

        long atTheEnd = closing.stored.get();
        for (int i = 0; i < 100; i++) {
          send();
        }
        eventually(() -> assertThat(witness.lastSequence()).isEqualTo(sequence - 1));
        assertThat(closing.stored).hasValue(atTheEnd);
        witness.close();
        eventually(() -> assertThat(publisher.recv(ZMQ.DONTWAIT)).containsExactly(0));
      }
    }
  }

  @Test
  void close_again_doesNothing() {
    Receivers receivers = new Receivers(SETTINGS);
    Subscription subscription = follow(receivers, endpoint, new CountingSink());
    subscription.close();
    subscription.close();
    receivers.close();
    subscription.close();
  }
}
