package baton.conductor;

import baton.hash.HashProfile;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What registrations claim for themselves: a key, an endpoint, and for engines the hash profile of
 * their context. What contradicts a claim cannot be registered. Not safe for use by several threads
 * at once.
 */
public final class Claims {
  /** A context's profile, for as long as an engine is in it. */
  private record Binding(HashProfile profile, int engines) {}

  private final int maxPublishers;
  private final Endpoints endpoints;
  private final Map<PublisherKey, Publisher> byKey;
  private final Map<String, PublisherKey> keysByEndpoint;
  private final Map<ContextKey, Binding> bindings;

  /**
   * @param maxPublishers how many there may be
   * @param allowedEndpoints patterns of the endpoints that may be registered, {@code *} for any
   *     text
   */
  public Claims(int maxPublishers, List<String> allowedEndpoints) {
    this(
        maxPublishers,
        new Endpoints(allowedEndpoints),
        new HashMap<>(),
        new HashMap<>(),
        new HashMap<>());
  }

  private Claims(
      int maxPublishers,
      Endpoints endpoints,
      Map<PublisherKey, Publisher> byKey,
      Map<String, PublisherKey> keysByEndpoint,
      Map<ContextKey, Binding> bindings) {
    this.maxPublishers = maxPublishers;
    this.endpoints = endpoints;
    this.byKey = byKey;
    this.keysByEndpoint = keysByEndpoint;
    this.bindings = bindings;
  }

  /** The same claims, which then go their own way. */
  Claims copy() {
    return new Claims(
        maxPublishers,
        endpoints,
        new HashMap<>(byKey),
        new HashMap<>(keysByEndpoint),
        new HashMap<>(bindings));
  }

  /** Who claims a key, or null. */
  Publisher holder(PublisherKey key) {
    return byKey.get(key);
  }

  /** All that stands in the way of a publisher; empty if it can be added. */
  public List<Rejection> against(Publisher publisher) {
    List<Rejection> rejections = new ArrayList<>();
    PublisherKey key = publisher.key();
    if (byKey.containsKey(key)) {
      rejections.add(
          Rejection.conflict(
              null, "publisher " + key + " is registered with other values; unregister it first"));
    }
    requireAllowed("endpoint", publisher.endpoint(), rejections);
    if (!publisher.replayEndpoint().isEmpty()) {
      requireAllowed("replay_endpoint", publisher.replayEndpoint(), rejections);
    }
    PublisherKey other = keysByEndpoint.get(Endpoints.canonical(publisher.endpoint()));
    if (other != null && !other.equals(key)) {
      rejections.add(
          Rejection.conflict(
              "endpoint", "endpoint " + publisher.endpoint() + " is registered as " + other));
    }
    Binding binding = bindings.get(publisher.context());
    if (binding != null && !binding.profile().equals(publisher.hashProfile())) {
      rejections.add(
          Rejection.conflict(
              "hash_profile",
              "the context is bound to another hash profile: " + binding.profile()));
    }
    if (byKey.size() >= maxPublishers) {
      rejections.add(
          Rejection.unavailable("the limit of " + maxPublishers + " publishers is reached"));
    }
    return rejections;
  }

  private void requireAllowed(String field, String endpoint, List<Rejection> rejections) {
    try {
      endpoints.requireAllowed(field, endpoint);
    } catch (Rejection e) {
      rejections.add(e);
    }
  }

  /** Adds a publisher that nothing stands against. */
  public void add(Publisher publisher) {
    byKey.put(publisher.key(), publisher);
    keysByEndpoint.put(Endpoints.canonical(publisher.endpoint()), publisher.key());
    if (publisher.isEngine()) {
      bindings.merge(
          publisher.context(),
          new Binding(publisher.hashProfile(), 1),
          (before, one) -> new Binding(before.profile(), before.engines() + 1));
    }
  }

  void remove(Publisher publisher) {
    byKey.remove(publisher.key());
    keysByEndpoint.remove(Endpoints.canonical(publisher.endpoint()));
    if (publisher.isEngine()) {
      bindings.computeIfPresent(
          publisher.context(),
          (key, binding) ->
              binding.engines() == 1
                  ? null
                  : new Binding(binding.profile(), binding.engines() - 1));
    }
  }

  /** Whether an engine's registration binds a context to this profile. */
  boolean binds(ContextKey context, HashProfile profile) {
    Binding binding = bindings.get(context);
    return binding != null && binding.profile().equals(profile);
  }
}
