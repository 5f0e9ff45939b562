package baton.conductor;

import baton.hash.BlockChain;
import baton.hash.HashProfile;
import baton.index.Budget;
import baton.index.ContextIndex;
import baton.index.PrefixMatch;
import baton.index.Tier;
import baton.publisher.EventCounts;
import baton.publisher.PublisherType;
import baton.publisher.Receivers;
import baton.publisher.StreamStatus;
import baton.publisher.Subscription;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.jboss.logging.Logger;

/**
 * Registers publishers and answers queries. The one owner of registrations and contexts.
 *
 * <p>Registering and unregistering exclude each other by this object's monitor. Queries and views
 * take no lock. A context exists while an engine is registered in it, and is bound to that engine's
 * hash profile.
 */
public final class Conductor implements AutoCloseable {
  private static final Logger LOG = Logger.getLogger(Conductor.class);
  private static final Comparator<PublisherKey> KEY_ORDER =
      Comparator.comparing(PublisherKey::instanceId)
          .thenComparing(PublisherKey::tenantId)
          .thenComparingInt(PublisherKey::dpRank);

  /**
   * What this installation allows.
   *
   * @param maxPublishers registrations at the same time
   * @param maxBlocks blocks held by all owners together, and as many objects of pools
   * @param allowedEndpoints patterns of the endpoints that may be registered, {@code *} for any
   *     text
   */
  public record Limits(int maxPublishers, long maxBlocks, List<String> allowedEndpoints) {}

  /**
   * @param leave removes all that the publisher owned; to be run when its subscription is closed
   */
  private record Registration(Publisher publisher, Subscription subscription, Runnable leave) {}

  /** An open context. The count of its engines is guarded by the conductor's monitor. */
  private static final class Context {
    final HashProfile profile;
    final ContextIndex index;
    int engines;

    Context(HashProfile profile, ContextIndex index) {
      this.profile = profile;
      this.index = index;
    }
  }

  private final Receivers receivers;
  private final Limits limits;
  private final Endpoints endpoints;
  private final Budget budget;
  private final Budget poolObjects;
  private final Map<PublisherKey, Registration> registrations =
      new ConcurrentSkipListMap<>(KEY_ORDER);
  private final Map<String, PublisherKey> keysByEndpoint = new ConcurrentHashMap<>();
  private final Map<ContextKey, Context> contexts = new ConcurrentHashMap<>();
  private volatile boolean closed;

  /**
   * @param receivers used and finally closed by this conductor
   */
  public Conductor(Receivers receivers, Limits limits) {
    this.receivers = receivers;
    this.limits = limits;
    this.endpoints = new Endpoints(limits.allowedEndpoints());
    this.budget = new Budget(limits.maxBlocks());
    this.poolObjects = new Budget(limits.maxBlocks());
  }

  /**
   * Starts to follow a publisher.
   *
   * @return false if the very same registration was there already
   * @throws Rejection if it contradicts another registration, or cannot be followed
   */
  public synchronized boolean register(Publisher publisher) {
    requireOpen();
    PublisherKey key = publisher.key();
    Registration same = registrations.get(key);
    if (same != null) {
      requireSame(key, same.publisher(), publisher);
      return false;
    }
    endpoints.requireAllowed("endpoint", publisher.endpoint());
    if (!publisher.replayEndpoint().isEmpty()) {
      endpoints.requireAllowed("replay_endpoint", publisher.replayEndpoint());
    }
    PublisherKey other = keysByEndpoint.get(Endpoints.canonical(publisher.endpoint()));
    if (other != null) {
      throw Rejection.conflict(
          "endpoint", "endpoint " + publisher.endpoint() + " is registered as " + other);
    }
    Context context = contexts.get(publisher.context());
    if (context != null && !context.profile.equals(publisher.hashProfile())) {
      throw Rejection.conflict(
          "hash_profile", "the context is bound to another hash profile: " + context.profile);
    }
    if (registrations.size() >= limits.maxPublishers()) {
      throw Rejection.unavailable(
          "the limit of " + limits.maxPublishers() + " publishers is reached");
    }
    follow(publisher);
    LOG.infof(
        "publisher %s registered: %s at %s",
        key.loggable(), publisher.type().label(), publisher.endpoint());
    return true;
  }

  private static void requireSame(PublisherKey key, Publisher before, Publisher now) {
    if (!before.equals(now)) {
      throw Rejection.conflict(
          null, "publisher " + key + " is registered with other values; unregister it first");
    }
  }

  private void follow(Publisher publisher) {
    Registration registration;
    try {
      registration = publisher.isEngine() ? followEngine(publisher) : followPool(publisher);
    } catch (Receivers.CannotSubscribe e) {
      throw Rejection.cannotSubscribe("endpoint", e.getMessage());
    }
    registrations.put(publisher.key(), registration);
    keysByEndpoint.put(Endpoints.canonical(publisher.endpoint()), publisher.key());
  }

  private Registration followEngine(Publisher publisher) throws Receivers.CannotSubscribe {
    Context context =
        contexts.computeIfAbsent(
            publisher.context(),
            k -> new Context(publisher.hashProfile(), new ContextIndex(budget)));
    context.engines++;
    var blocks = new EngineBlocks(context.index, publisher.instanceId(), publisher.dpRank());
    try {
      Subscription subscription =
          receivers.followEngine(
              publisher.key().loggable(),
              publisher.endpoint(),
              publisher.replayEndpoint(),
              publisher.type(),
              publisher.blockSize(),
              publisher.loraName(),
              publisher.dpRank(),
              publisher.hashProfile(),
              blocks);
      return new Registration(publisher, subscription, () -> leave(publisher.context(), blocks));
    } catch (Receivers.CannotSubscribe e) {
      leave(publisher.context(), blocks);
      throw e;
    }
  }

  private Registration followPool(Publisher publisher) throws Receivers.CannotSubscribe {
    var objects = new PoolObjects(publisher, this::openIndex, poolObjects);
    Subscription subscription =
        receivers.followPool(
            publisher.key().loggable(), publisher.endpoint(), publisher.hashProfile(), objects);
    return new Registration(publisher, subscription, objects::retract);
  }

  /**
   * The index of a context that is bound to this profile, or null. Called by publishers' threads.
   */
  private ContextIndex openIndex(ContextKey key, HashProfile profile) {
    Context context = contexts.get(key);
    return context != null && context.profile.equals(profile) ? context.index : null;
  }

  /**
   * Stops following a publisher and removes all that it owned. When this returns, no event of it
   * can change anything any more.
   *
   * @throws Rejection if the key is not registered
   */
  public synchronized void unregister(PublisherKey key) {
    requireOpen();
    Registration registration = registrations.remove(key);
    if (registration == null) {
      throw Rejection.notFound("publisher " + key + " is not registered");
    }
    keysByEndpoint.remove(Endpoints.canonical(registration.publisher().endpoint()));
    registration.subscription().close();
    registration.leave().run();
    LOG.infof("publisher %s unregistered", key.loggable());
  }

  private void leave(ContextKey key, EngineBlocks blocks) {
    Context context = contexts.get(key);
    if (--context.engines > 0) {
      blocks.leave();
    } else {
      contexts.remove(key);
      blocks.show();
      context.index.close();
    }
  }

  /** How long a prefix of a prompt each instance holds. */
  public PrefixHits query(Query query) {
    requireOpen();
    Context context = contexts.get(query.context());
    if (context == null) {
      return unknown();
    }
    HashProfile profile = context.profile;
    ContextKey key = query.context();
    BlockChain chain =
        profile.chain(query.tokens(), key.blockSize(), key.loraName(), query.cacheSalt());
    PrefixMatch match = context.index.match(chain.length(), chain::nextKey, query.instanceId());
    return hits(match, key.blockSize(), profile.positions(query.tokens().length));
  }

  /** The same for a prompt whose block keys the caller has computed. */
  public PrefixHits query(HashQuery query) {
    requireOpen();
    Context context = contexts.get(query.context());
    if (context == null) {
      return unknown();
    }
    long[] keys = query.keys();
    LongSupplier next = Arrays.stream(keys).iterator()::nextLong;
    PrefixMatch match = context.index.match(keys.length, next, query.instanceId());
    return hits(match, query.context().blockSize(), Long.MAX_VALUE);
  }

  private static PrefixHits unknown() {
    return new PrefixHits(new TreeMap<>());
  }

  private static PrefixHits hits(PrefixMatch match, long blockSize, long positions) {
    SortedMap<String, PrefixHits.InstanceHit> instances = new TreeMap<>();
    for (PrefixMatch.RankMatch rank : match.ranks()) {
      TierTokens tokens = tokens(tier -> tokens(rank.blocks(tier), blockSize, positions));
      var hit = instances.get(rank.instance());
      var ranks = hit == null ? new TreeMap<Integer, TierTokens>() : hit.ranks();
      ranks.put(rank.rank(), tokens);
      TierTokens best = hit == null ? TierTokens.NONE : hit.best();
      instances.put(rank.instance(), new PrefixHits.InstanceHit(best.max(tokens), ranks));
    }
    return new PrefixHits(instances);
  }

  private static TierTokens tokens(ToLongFunction<Tier> of) {
    return new TierTokens(
        of.applyAsLong(Tier.DEVICE),
        of.applyAsLong(Tier.CPU_LOCAL),
        of.applyAsLong(Tier.CPU_SHARE),
        of.applyAsLong(Tier.DISK));
  }

  /** The last block may be partial; and a block size may be so large that the product overflows. */
  private static long tokens(int blocks, long blockSize, long positions) {
    if (blocks == 0) {
      return 0;
    }
    return blocks > positions / blockSize ? positions : blocks * blockSize;
  }

  /** All registrations, by key. */
  public List<Publisher> services() {
    requireOpen();
    return registrations.values().stream().map(Registration::publisher).toList();
  }

  /** All contexts that have an engine. */
  public List<ContextView> globalView() {
    requireOpen();
    Map<ContextKey, SortedMap<String, java.util.SortedSet<Integer>>> instances =
        new TreeMap<>(CONTEXT_ORDER);
    for (Publisher publisher : services()) {
      if (publisher.isEngine()) {
        instances
            .computeIfAbsent(publisher.context(), k -> new TreeMap<>())
            .computeIfAbsent(publisher.instanceId(), k -> new TreeSet<>())
            .add(publisher.dpRank());
      }
    }
    List<ContextView> views = new ArrayList<>();
    instances.forEach(
        (key, members) -> {
          Context context = contexts.get(key);
          if (context != null) {
            views.add(new ContextView(key, context.index.blockCount(), context.profile, members));
          }
        });
    return views;
  }

  private static final Comparator<ContextKey> CONTEXT_ORDER =
      Comparator.comparing(ContextKey::tenantId)
          .thenComparing(ContextKey::modelName)
          .thenComparing(ContextKey::loraName)
          .thenComparingLong(ContextKey::blockSize);

  /** How many registered publishers are in each state. */
  public Map<Subscription.State, Integer> publishersByState() {
    Map<Subscription.State, Integer> counts = new EnumMap<>(Subscription.State.class);
    for (Subscription.State state : Subscription.State.values()) {
      counts.put(state, 0);
    }
    registrations.values().forEach(r -> counts.merge(r.subscription().state(), 1, Integer::sum));
    return counts;
  }

  /** How each registered publisher's stream is, by key. */
  public List<PublisherStatus> statuses() {
    requireOpen();
    return registrations.values().stream()
        .map(r -> new PublisherStatus(r.publisher(), r.subscription().status()))
        .toList();
  }

  /** How many registered publishers' streams are so. Also while shutting down. */
  public long countStreams(Predicate<StreamStatus> which) {
    return registrations.values().stream()
        .map(r -> r.subscription().status())
        .filter(which)
        .count();
  }

  /** Bytes of messages that wait for those before them. */
  public long heldBytes() {
    return receivers.heldBytes();
  }

  /** What came in from all publishers of a type. */
  public EventCounts counts(PublisherType type) {
    return receivers.counts(type);
  }

  public int contextCount() {
    return contexts.size();
  }

  /** Blocks held, one for each owner that holds it, and their limit. */
  public Budget budget() {
    return budget;
  }

  /** False once it is shutting down. */
  public boolean isOpen() {
    return !closed;
  }

  private void requireOpen() {
    if (closed) {
      throw Rejection.unavailable("shutting down");
    }
  }

  /** Ends all subscriptions. Calls after this are rejected as unavailable. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      receivers.close();
    }
  }
}
