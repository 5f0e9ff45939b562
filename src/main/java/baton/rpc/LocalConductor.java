package baton.rpc;

import baton.conductor.Conductor;
import baton.conductor.ContextKey;
import baton.conductor.ContextView;
import baton.conductor.HashQuery;
import baton.conductor.PrefixHits;
import baton.conductor.Publisher;
import baton.conductor.PublisherKey;
import baton.conductor.PublisherStatus;
import baton.conductor.Query;
import baton.conductor.Rejection;
import baton.conductor.TierTokens;
import baton.hash.InvalidHashProfile;
import baton.publisher.PublisherType;
import baton.rpc.Wire.CacheHit;
import baton.rpc.Wire.GlobalView;
import baton.rpc.Wire.HashProfile;
import baton.rpc.Wire.QueryRequest;
import baton.rpc.Wire.QueryResult;
import baton.rpc.Wire.RankHit;
import baton.rpc.Wire.RegisterResult;
import baton.rpc.Wire.ServiceConfig;
import baton.rpc.Wire.UnregisterArgs;
import baton.rpc.Wire.UnregisterResult;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** The Conductor of this process, in the channel's terms. */
public final class LocalConductor implements ConductorFunctions {
  private final Conductor conductor;

  public LocalConductor(Conductor conductor) {
    this.conductor = conductor;
  }

  @Override
  public QueryResult query(QueryRequest request) {
    return run(
        () -> {
          requireNonempty("model_name", request.modelName());
          if (request.blockSize() <= 0) {
            throw invalid("block_size must be above 0, not " + request.blockSize());
          }
          ContextKey context =
              new ContextKey(
                  ContextKey.tenant(request.tenantId()),
                  request.modelName(),
                  request.loraName(),
                  request.blockSize());
          Query query =
              new Query(
                  context,
                  request.tokenIds(),
                  orEmpty(request.cacheSalt()),
                  orEmpty(request.instanceFilter()));
          return hits(conductor.query(query));
        });
  }

  /**
   * The same by block keys, which only this process can answer: the channel has no such function.
   */
  public QueryResult query(HashQuery query) {
    return run(() -> hits(conductor.query(query)));
  }

  private static String orEmpty(String text) {
    return text == null ? "" : text;
  }

  private static QueryResult hits(PrefixHits hits) {
    Map<String, CacheHit> instances = new LinkedHashMap<>();
    hits.instances().forEach((id, hit) -> instances.put(id, hit(hit)));
    return new QueryResult(instances);
  }

  private static CacheHit hit(PrefixHits.InstanceHit hit) {
    Map<Long, Long> dp = new LinkedHashMap<>();
    Map<Long, RankHit> ranks = new LinkedHashMap<>();
    hit.ranks()
        .forEach(
            (rank, tokens) -> {
              dp.put((long) rank, tokens.device());
              ranks.put((long) rank, rank(tokens));
            });
    TierTokens best = hit.best();
    return new CacheHit(
        best.disk(), dp, ranks, best.device(), best.cpuLocal(), best.cpuShare(), best.disk());
  }

  private static RankHit rank(TierTokens tokens) {
    return new RankHit(tokens.device(), tokens.cpuLocal(), tokens.cpuShare(), tokens.disk());
  }

  @Override
  public RegisterResult register(ServiceConfig service) {
    return run(
        () -> {
          Publisher publisher = publisher(service);
          return new RegisterResult(publisher.instanceId(), conductor.register(publisher));
        });
  }

  private static Publisher publisher(ServiceConfig service) {
    HashProfile profile = service.hashProfile();
    var recipe =
        new baton.hash.HashProfile(
            profile.strategy(),
            profile.algorithm(),
            profile.pythonHashSeed(),
            profile.indexProjection());
    if (!profile.rootDigest().isEmpty() && !profile.rootDigest().equals(recipe.rootDigest())) {
      throw invalid("root_digest is not that of the recipe");
    }
    return new Publisher(
        service.endpoint(),
        service.replayEndpoint(),
        type(service.publisherKind()),
        service.modelName(),
        service.loraName(),
        service.tenantId(),
        service.instanceId(),
        service.blockSize(),
        service.dpRank(),
        service.cacheGroup(),
        recipe);
  }

  private static PublisherType type(int kind) {
    return switch (kind) {
      case ServiceConfig.VLLM -> PublisherType.VLLM;
      case ServiceConfig.MOONCAKE -> PublisherType.MOONCAKE;
      case ServiceConfig.SGLANG -> PublisherType.SGLANG;
      default -> throw invalid("publisher_kind must be 0, 1 or 2, not " + kind);
    };
  }

  private static int kind(PublisherType type) {
    return switch (type) {
      case VLLM -> ServiceConfig.VLLM;
      case MOONCAKE -> ServiceConfig.MOONCAKE;
      case SGLANG -> ServiceConfig.SGLANG;
    };
  }

  @Override
  public UnregisterResult unregister(UnregisterArgs args) {
    return run(
        () -> {
          PublisherKey key =
              new PublisherKey(
                  args.instanceId(), ContextKey.tenant(args.tenantId()), args.dpRank());
          conductor.unregister(key);
          return new UnregisterResult(key.toString());
        });
  }

  @Override
  public GlobalView globalView() {
    return run(
        () -> {
          List<Wire.ContextView> contexts = views().stream().map(LocalConductor::context).toList();
          return new GlobalView(contexts.size(), contexts);
        });
  }

  /** The same with what the channel does not carry: the contexts' digests. */
  public List<ContextView> views() {
    return run(conductor::globalView);
  }

  /** A context as the channel shows it. */
  public static Wire.ContextView context(ContextView view) {
    Map<String, Set<Long>> instances = new LinkedHashMap<>();
    view.instances()
        .forEach(
            (id, ranks) -> {
              Set<Long> longs = new LinkedHashSet<>();
              ranks.forEach(rank -> longs.add((long) rank));
              instances.put(id, longs);
            });
    ContextKey key = view.key();
    return new Wire.ContextView(
        key.tenantId(),
        key.modelName(),
        key.loraName(),
        key.blockSize(),
        profile(view.hashProfile()),
        instances,
        view.prefixCount());
  }

  @Override
  public List<ServiceConfig> services() {
    return run(() -> conductor.services().stream().map(LocalConductor::service).toList());
  }

  /** How each publisher's stream is; the channel has no function for it. */
  public List<PublisherStatus> statuses() {
    return conductor.statuses();
  }

  /** A publisher as the channel shows it. */
  public static ServiceConfig service(Publisher publisher) {
    return new ServiceConfig(
        publisher.endpoint(),
        publisher.replayEndpoint(),
        kind(publisher.type()),
        publisher.modelName(),
        publisher.loraName(),
        publisher.tenantId(),
        publisher.instanceId(),
        publisher.blockSize(),
        publisher.dpRank(),
        publisher.cacheGroup(),
        profile(publisher.hashProfile()));
  }

  private static HashProfile profile(baton.hash.HashProfile profile) {
    return new HashProfile(
        profile.strategy(),
        profile.algorithm(),
        profile.pythonHashSeed(),
        profile.rootDigest(),
        profile.indexProjection());
  }

  private static void requireNonempty(String name, String value) {
    if (value.isEmpty()) {
      throw invalid(name + " must not be empty");
    }
  }

  private static ConductorFailure invalid(String message) {
    return new ConductorFailure(ErrorCode.INVALID_PARAMS, message);
  }

  private static <T> T run(Supplier<T> function) {
    try {
      return function.get();
    } catch (Rejection e) {
      throw new ConductorFailure(code(e.reason()), e.getMessage(), e);
    } catch (InvalidHashProfile e) {
      throw new ConductorFailure(ErrorCode.INVALID_PARAMS, e.getMessage(), e);
    }
  }

  private static int code(Rejection.Reason reason) {
    return switch (reason) {
      case NOT_FOUND -> ErrorCode.SERVICE_NOT_FOUND;
      case UNAVAILABLE -> ErrorCode.CONDUCTOR_UNAVAILABLE;
      case CANNOT_SUBSCRIBE -> ErrorCode.INTERNAL_ERROR;
      case INVALID_VALUE, OUT_OF_RANGE, UNSUPPORTED, INVALID_REGISTRATION ->
          ErrorCode.INVALID_PARAMS;
    };
  }

  @Override
  public boolean waits() {
    return false;
  }

  @Override
  public void close() {
    // The conductor belongs to the process.
  }
}
