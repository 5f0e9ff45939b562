package baton.conductor;

import static baton.conductor.Feed.object;
import static baton.conductor.Feed.removed;
import static baton.conductor.Feed.stored;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import baton.publisher.PublisherType;
import baton.publisher.Receivers;
import baton.publisher.RecoverySettings;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.zeromq.ZContext;

/** What an exchange changes and what it leaves, and what a digest tells, with real streams. */
@Timeout(120)
class ConductorTest {
  private static final ContextKey CONTEXT = new ContextKey("default", "m", "", Feed.BLOCK_SIZE);
  private static final long HASH = 4711;

  private final ZContext context = new ZContext();
  private final List<Conductor> conductors = new ArrayList<>();
  private final Conductor conductor = conductor(100);
  private final Feed feedA = new Feed(context);
  private final Feed feedB = new Feed(context);
  private final Feed feedC = new Feed(context);
  private final Publisher a = feedA.engine("a");
  private final Publisher b = feedB.engine("b");
  private final Publisher c = feedC.engine("c");

  private Conductor conductor(int maxPublishers) {
    var settings = new Receivers.Settings(2, 1, 100, 1000, 1 << 20, RecoverySettings.DEFAULT);
    var limits = new Conductor.Limits(maxPublishers, 1_000, List.of("*"));
    Conductor made = new Conductor(new Receivers(settings), limits);
    conductors.add(made);
    return made;
  }

  @AfterEach
  void close() {
    conductors.forEach(Conductor::close);
    context.close();
  }

  private static void eventually(ThrowingRunnable assertion) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .pollInSameThread()
        .pollInterval(Duration.ofMillis(10))
        .untilAsserted(assertion);
  }

  private static TierTokens tokens(Conductor conductor, String instance, long key) {
    return conductor
        .query(new HashQuery(CONTEXT, new long[] {key}, instance))
        .instances()
        .get(instance)
        .best();
  }

  private void assertHolds(String instance, long key) {
    assertThat(tokens(conductor, instance, key).device()).as(instance).isEqualTo(4);
  }

  /** Registered, and holding one block. */
  private void followed(Feed feed, Publisher publisher) {
    conductor.register(publisher);
    feed.awaitSubscriber();
    feed.send(stored("GPU", HASH));
    eventually(() -> assertHolds(publisher.instanceId(), HASH));
  }

  private void assertGoesOn(Feed feed, String instance) {
    feed.send(stored("GPU", HASH + 1));
    eventually(() -> assertHolds(instance, HASH + 1));
    assertHolds(instance, HASH);
  }

  private static int free() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  private static Publisher binding(String instance, int port, String model) {
    return Feed.publisher("tcp://*:" + port, PublisherType.VLLM, instance, 0, model, "0");
  }

  // Exchanges.

  @Test
  void exchange_ofNothing_changesNothing() {
    followed(feedA, a);

    assertThat(conductor.exchange(List.of(), List.of())).isEmpty();

    assertGoesOn(feedA, "a");
  }

  @Test
  void exchange_isDoneInOneStep() {
    followed(feedA, a);

    assertThat(conductor.exchange(List.of(a), List.of(b, c))).isEmpty();

    assertThat(conductor.services()).containsExactly(b, c);
    assertThat(conductor.budget().used()).isZero();
    feedB.awaitSubscriber().send(stored("GPU", HASH));
    eventually(() -> assertHolds("b", HASH));
  }

  @Test
  void exchange_withOneThatIsRefused_changesNothing() {
    followed(feedA, a);
    followed(feedB, b);
    Publisher clashing = feedB.engine("x");

    Map<Publisher, List<Rejection>> obstacles =
        conductor.exchange(List.of(a), List.of(feedA.engine("a", 1, "m", "0"), clashing, c));

    assertThat(obstacles).containsOnlyKeys(clashing);
    assertThat(obstacles.get(clashing))
        .singleElement()
        .extracting(Rejection::field)
        .isEqualTo("endpoint");
    assertThat(conductor.services()).containsExactly(a, b);
    assertGoesOn(feedA, "a");
    assertGoesOn(feedB, "b");
    assertThat(conductor.budget().used()).isEqualTo(4);
    // Nor is anything claimed.
    conductor.register(c);
  }

  @Test
  void exchange_tellsAllThatIsInTheWayOfAll() {
    followed(feedA, a);
    Publisher one = feedA.engine("x", 0, "m", "1");
    Publisher other = feedB.engine("a", 0, "m", "1");

    Map<Publisher, List<Rejection>> obstacles = conductor.exchange(List.of(), List.of(one, other));

    assertThat(obstacles).containsOnlyKeys(one, other);
    assertThat(obstacles.get(one))
        .extracting(Rejection::field)
        .containsExactly("endpoint", "hash_profile");
    assertThat(obstacles.get(other))
        .extracting(Rejection::field)
        .containsExactly(null, "hash_profile");
  }

  @Test
  void publisher_thatStays_keepsItsSubscriptionAndItsBlocks() {
    followed(feedA, a);
    followed(feedB, b);

    assertThat(conductor.exchange(List.of(a), List.of(c, feedB.engine("b")))).isEmpty();

    assertHolds("b", HASH);
    assertGoesOn(feedB, "b");
    PublisherStatus status =
        conductor.statuses().stream().filter(s -> s.publisher() == b).findFirst().orElseThrow();
    assertThat(status.stream().lastSequence()).isEqualTo(1);
    assertThat(status.stream().counts().messages()).isEqualTo(2);
    assertThat(conductor.budget().used()).isEqualTo(2);
  }

  @Test
  void endpoints_canBeSwapped() {
    followed(feedA, a);
    followed(feedB, b);

    assertThat(conductor.exchange(List.of(a, b), List.of(feedB.engine("a"), feedA.engine("b"))))
        .isEmpty();

    feedA.awaitSubscriber().send(stored("GPU", HASH));
    eventually(() -> assertHolds("b", HASH));
    assertThat(tokens(conductor, "a", HASH)).isEqualTo(TierTokens.NONE);
  }

  @Test
  void hashProfile_ofAllEnginesOfAContext_canBeExchanged() {
    followed(feedA, a);
    followed(feedB, b);
    List<Publisher> fresh = List.of(feedA.engine("a", 0, "m", "1"), feedB.engine("b", 0, "m", "1"));

    assertThat(conductor.exchange(List.of(a, b), fresh)).isEmpty();

    assertThat(conductor.budget().used()).isZero();
    assertThat(conductor.contextCount()).isOne();
    assertThat(conductor.globalView())
        .singleElement()
        .satisfies(
            view -> {
              assertThat(view.hashProfile()).isEqualTo(Feed.profile("1"));
              assertThat(view.prefixCount()).isZero();
              assertThat(view.instances()).containsOnlyKeys("a", "b");
            });
    feedA.awaitSubscriber().send(stored("GPU", HASH));
    eventually(() -> assertHolds("a", HASH));
  }

  @Test
  void hashProfile_ofSomeEnginesOfAContext_cannot() {
    followed(feedA, a);
    followed(feedB, b);
    Publisher fresh = feedA.engine("a", 0, "m", "1");

    assertThat(conductor.exchange(List.of(a), List.of(fresh))).containsOnlyKeys(fresh);

    assertGoesOn(feedA, "a");
    assertGoesOn(feedB, "b");
  }

  @Test
  void lastEngine_exchanged_keepsThePoolsBlocksOfItsContext() {
    followed(feedA, a);
    Publisher pool = feedC.pool("pool");
    conductor.register(pool);
    feedC.awaitSubscriber().send(object(HASH + 5));
    eventually(() -> assertThat(tokens(conductor, "a", HASH + 5).cpuShare()).isEqualTo(4));

    assertThat(conductor.exchange(List.of(a), List.of(b))).isEmpty();

    assertThat(tokens(conductor, "b", HASH + 5).cpuShare()).isEqualTo(4);
    assertThat(tokens(conductor, "b", HASH)).isEqualTo(TierTokens.NONE);
    assertThat(conductor.budget().used()).isOne();

    assertThat(conductor.exchange(List.of(b), List.of())).isEmpty();
    assertThat(conductor.contextCount()).isZero();
    assertThat(conductor.budget().used()).isZero();
  }

  @Test
  void port_thatIsTaken_isRefused_andTheOldOnesAreFollowedAgain() throws Exception {
    followed(feedA, a);
    followed(feedB, b);
    try (ServerSocket taken = new ServerSocket()) {
      taken.bind(new InetSocketAddress("0.0.0.0", 0));
      Publisher bound = binding("x", taken.getLocalPort(), "m");

      Map<Publisher, List<Rejection>> obstacles =
          conductor.exchange(List.of(a), List.of(c, bound, feedA.engine("y")));

      assertThat(obstacles).containsOnlyKeys(bound);
      assertThat(obstacles.get(bound))
          .singleElement()
          .satisfies(
              r -> {
                assertThat(r.reason()).isEqualTo(Rejection.Reason.CANNOT_SUBSCRIBE);
                assertThat(r).hasMessageContaining(bound.endpoint());
              });
    }
    assertThat(conductor.services()).containsExactly(a, b);
    assertGoesOn(feedB, "b");
    eventually(
        () -> {
          feedA.send(stored("GPU", HASH + 2));
          assertHolds("a", HASH + 2);
        });
    assertThat(conductor.exchange(List.of(a, b), List.of())).isEmpty();
    assertThat(conductor.budget().used()).isZero();
  }

  @Test
  void port_thatIsTaken_inAContextThatIsNew_leavesNoContext() throws Exception {
    try (ServerSocket taken = new ServerSocket()) {
      taken.bind(new InetSocketAddress("0.0.0.0", 0));
      Publisher bound = binding("x", taken.getLocalPort(), "new");
      assertThat(conductor.exchange(List.of(), List.of(bound))).containsOnlyKeys(bound);
      assertThat(conductor.contextCount()).isZero();
    }
  }

  @Test
  void port_ofTheOneThatLeaves_isFreeForTheOneThatComes() throws Exception {
    int port = free();
    for (int round = 0; round < 20; round++) {
      Publisher before = binding("x", port, "m" + round);
      Publisher after = binding("x", port, "m" + (round + 1));
      if (round == 0) {
        conductor.register(before);
      }
      List<Publisher> registered = conductor.services();
      assertThat(conductor.exchange(registered, List.of(after))).as("round " + round).isEmpty();
      assertThat(conductor.services()).containsExactly(after);
    }
    Feed feed = new Feed(context, port);
    Publisher last = binding("x", port, "m");
    assertThat(conductor.exchange(conductor.services(), List.of(last))).isEmpty();
    feed.awaitSubscriber().send(stored("GPU", HASH));
  }

  @Test
  void publisher_thatSomebodyElseRegistered_isNeverUnregistered() {
    followed(feedA, a);
    Publisher equal = feedA.engine("a");
    assertThat(equal).isEqualTo(a).isNotSameAs(a);

    assertThat(conductor.exchange(List.of(), List.of(equal))).isEmpty();
    assertThat(conductor.exchange(List.of(equal), List.of(b))).isEmpty();

    assertThat(conductor.services()).containsExactly(a, b);
    assertGoesOn(feedA, "a");
  }

  @Test
  void publisher_thatSomebodyElseRegisteredAnew_isInTheWay() {
    conductor.register(a);
    conductor.unregister(a.key());
    Publisher theirs = feedB.engine("a");
    conductor.register(theirs);

    assertThat(conductor.exchange(List.of(a), List.of(feedC.engine("a")))).hasSize(1);
    assertThat(conductor.exchange(List.of(a), List.of())).isEmpty();

    assertThat(conductor.services()).containsExactly(theirs);
  }

  @Test
  void limit_countsWhatIsThereAfterwards() {
    Conductor small = conductor(2);
    small.register(a);
    small.register(b);

    assertThat(small.exchange(List.of(a), List.of(c))).isEmpty();
    assertThat(small.exchange(List.of(c), List.of(a, feedC.engine("d"))))
        .hasValueSatisfying(
            new org.assertj.core.api.Condition<>(
                r -> r.get(0).reason() == Rejection.Reason.UNAVAILABLE, "at the limit"));

    assertThat(small.services()).containsExactly(b, c);
  }

  @Test
  void exchange_afterTheEnd_isRefused() {
    conductor.close();
    assertThatThrownBy(() -> conductor.exchange(List.of(), List.of(a)))
        .isInstanceOf(Rejection.class);
  }

  // Digests.

  private static long digest(Conductor conductor) {
    return conductor.globalView().stream()
        .filter(view -> view.key().equals(CONTEXT))
        .mapToLong(ContextView::digest)
        .findFirst()
        .orElseThrow();
  }

  /** The digest once this many blocks are there, of an engine that says these batches. */
  private long digest(int rank, int blocks, Object... events) {
    Conductor fresh = conductor(10);
    Feed feed = new Feed(context);
    fresh.register(feed.engine("a", rank, "m", "0"));
    feed.awaitSubscriber();
    for (Object event : events) {
      feed.sendOfRank(rank, event);
    }
    eventually(
        () -> {
          assertThat(fresh.counts(PublisherType.VLLM).messages()).isEqualTo(events.length);
          assertThat(fresh.budget().used()).isEqualTo(blocks);
        });
    return digest(fresh);
  }

  @Test
  void digest_ofNothing_isZero() {
    assertThat(digest(0, 0)).isZero();
    conductor.register(a);
    feedA.awaitSubscriber();
    feedA.send(stored("GPU", HASH, HASH + 1));
    eventually(() -> assertThat(digest(conductor)).isNotZero());
    feedA.send(removed("GPU", HASH + 1, HASH));
    eventually(() -> assertThat(digest(conductor)).isZero());
  }

  @Test
  void digest_isTheSame_inWhateverOrderItWasLearnt() {
    long one = digest(0, 3, stored("GPU", 1L), stored("CPU", 2L), stored("GPU", 2L, 3L));
    long other =
        digest(
            0,
            3,
            stored("GPU", 3L, 9L),
            stored("GPU", 2L),
            removed("GPU", 9L),
            stored("GPU", 2L),
            stored("CPU", 2L),
            stored("GPU", 1L));
    assertThat(one).isEqualTo(other).isNotZero();
  }

  @Test
  void digest_tellsBlocksTiersAndRanksApart() {
    assertThat(
            List.of(
                digest(0, 2, stored("GPU", 1L, 2L)),
                digest(0, 1, stored("GPU", 1L)),
                digest(0, 1, stored("GPU", 2L)),
                digest(0, 2, stored("GPU", 1L), stored("CPU", 2L)),
                digest(0, 2, stored("GPU", 1L, 2L), stored("CPU", 2L)),
                digest(1, 2, stored("GPU", 1L, 2L))))
        .doesNotHaveDuplicates();
  }

  @Test
  void digest_ofTwoConductors_ofTheSamePublishers_isTheSame() {
    Conductor other = conductor(10);
    conductor.register(a);
    conductor.register(b);
    conductor.register(feedC.pool("p"));
    other.register(feedC.pool("q"));
    other.register(b);
    other.register(a);
    feedA.awaitSubscriber().awaitSubscriber().send(stored("GPU", 1L, 2L));
    feedB.awaitSubscriber().awaitSubscriber().send(stored("CPU", 2L, 3L));
    feedC.awaitSubscriber().awaitSubscriber().send(object(2), object(7));

    eventually(
        () ->
            assertThat(List.of(conductor, other))
                .extracting(c -> c.budget().used())
                .containsOnly(6L));
    assertThat(digest(conductor)).isEqualTo(digest(other)).isNotZero();
  }
}
