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
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashMap;
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

  /** An open context. */
  private record Context(HashProfile profile, ContextIndex index) {}

  private final Receivers receivers;
  private final Budget budget;
  private final Budget poolObjects;
  private final Map<PublisherKey, Registration> registrations =
      new ConcurrentSkipListMap<>(KEY_ORDER);

  /** What the registrations claim; guarded by this object's monitor. */
  private Claims claims;

  private final Map<ContextKey, Context> contexts = new ConcurrentHashMap<>();
  private volatile boolean closed;

  /**
   * @param receivers used and finally closed by this conductor
   */
  public Conductor(Receivers receivers, Limits limits) {
    this.receivers = receivers;
    this.claims = new Claims(limits.maxPublishers(), limits.allowedEndpoints());
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
    if (publisher.equals(claims.holder(publisher.key()))) {
      return false;
    }
    List<Rejection> rejections = claims.against(publisher);
    if (!rejections.isEmpty()) {
      throw rejections.get(0);
    }
    claims.add(publisher);
    follow(publisher);
    return true;
  }

  /**
   * Stops following a publisher and removes all that it owned. When this returns, no event of it
   * can change anything any more.
   *
   * @throws Rejection if the key is not registered
   */
  public synchronized void unregister(PublisherKey key) {
    requireOpen();
    Publisher publisher = claims.holder(key);
    if (publisher == null) {
      throw Rejection.notFound("publisher " + key + " is not registered");
    }
    claims.remove(publisher);
    unfollow(publisher);
  }

  /**
   * Replaces publishers by others in one step, or, if something stands in the way of one of those,
   * changes nothing. Whoever is in neither list keeps its blocks.
   *
   * @param leaving the very objects that were registered; others with their keys stay
   * @return what stands in the way, by publisher; empty if it is done
   */
  public synchronized Map<Publisher, List<Rejection>> exchange(
      Collection<Publisher> leaving, Collection<Publisher> coming) {
    requireOpen();
    List<Publisher> old = leaving.stream().filter(this::isFollowed).toList();
    List<Publisher> fresh = new ArrayList<>();
    Map<Publisher, List<Rejection>> obstacles = new LinkedHashMap<>();
    Claims after = claims.copy();
    old.forEach(after::remove);
    for (Publisher publisher : coming) {
      if (publisher.equals(after.holder(publisher.key()))) {
        continue;
      }
      List<Rejection> rejections = after.against(publisher);
      if (rejections.isEmpty()) {
        after.add(publisher);
        fresh.add(publisher);
      } else {
        obstacles.put(publisher, rejections);
      }
    }
    if (obstacles.isEmpty()) {
      claims = after;
      old.forEach(this::unfollow);
      followAll(fresh, obstacles);
      if (!obstacles.isEmpty()) {
        // A port that is taken is all that leads here. Those that left begin again with nothing.
        fresh.stream().filter(this::isFollowed).forEach(p -> unregister(p.key()));
        old.forEach(claims::add);
        followAll(old, obstacles);
      }
    }
    return obstacles;
  }

  private boolean isFollowed(Publisher publisher) {
    return claims.holder(publisher.key()) == publisher;
  }

  private void followAll(List<Publisher> publishers, Map<Publisher, List<Rejection>> obstacles) {
    for (Publisher publisher : publishers) {
      try {
        follow(publisher);
      } catch (Rejection e) {
        obstacles.put(publisher, List.of(e));
      }
    }
  }

  /** Follows a publisher whose claims are there; they are withdrawn if it cannot be followed. */
  private void follow(Publisher publisher) {
    try {
      registrations.put(
          publisher.key(), publisher.isEngine() ? followEngine(publisher) : followPool(publisher));
    } catch (Receivers.CannotSubscribe e) {
      claims.remove(publisher);
      if (contexts.containsKey(publisher.context()) && !isUsed(publisher.context())) {
        contexts.remove(publisher.context()).index().close();
      }
      throw Rejection.cannotSubscribe("endpoint", e.getMessage());
    }
    LOG.infof(
        "publisher %s registered: %s at %s",
        publisher.key().loggable(), publisher.type().label(), publisher.endpoint());
  }

  private Registration followEngine(Publisher publisher) throws Receivers.CannotSubscribe {
    Context context =
        contexts.computeIfAbsent(
            publisher.context(),
            k -> new Context(publisher.hashProfile(), new ContextIndex(budget)));
    var blocks = new EngineBlocks(context.index(), publisher.instanceId(), publisher.dpRank());
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
      return new Registration(publisher, subscription, () -> leave(publisher, blocks));
    } catch (Receivers.CannotSubscribe e) {
      blocks.leave();
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
    return context != null && context.profile().equals(profile) ? context.index() : null;
  }

  private void unfollow(Publisher publisher) {
    Registration registration = registrations.remove(publisher.key());
    registration.subscription().close();
    registration.leave().run();
    LOG.infof("publisher %s unregistered", publisher.key().loggable());
  }

  /** An engine's blocks go with it, and with the last engine its context, at once. */
  private void leave(Publisher publisher, EngineBlocks blocks) {
    if (isUsed(publisher.context())) {
      blocks.leave();
    } else {
      blocks.show();
      contexts.remove(publisher.context()).index().close();
    }
  }

  /** Whether a context has an engine, or is about to get one in exchange for its last. */
  private boolean isUsed(ContextKey key) {
    return claims.binds(key, contexts.get(key).profile())
        || registrations.values().stream()
            .anyMatch(r -> r.publisher().isEngine() && r.publisher().context().equals(key));
  }

  /** How long a prefix of a prompt each instance holds. */
  public PrefixHits query(Query query) {
    requireOpen();
    Context context = contexts.get(query.context());
    if (context == null) {
      return unknown();
    }
    HashProfile profile = context.profile();
    ContextKey key = query.context();
    BlockChain chain =
        profile.chain(query.tokens(), key.blockSize(), key.loraName(), query.cacheSalt());
    PrefixMatch match = context.index().match(chain.length(), chain::nextKey, query.instanceId());
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
    PrefixMatch match = context.index().match(keys.length, next, query.instanceId());
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
            ContextIndex index = context.index();
            views.add(
                new ContextView(
                    key, index.blockCount(), index.digest(), context.profile(), members));
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

  /** The state of a registered publisher's stream; null if it is not registered. */
  public Subscription.State state(Publisher publisher) {
    Registration registration = registrations.get(publisher.key());
    return registration == null ? null : registration.subscription().state();
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
