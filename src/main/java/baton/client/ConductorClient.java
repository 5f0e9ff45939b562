package baton.client;

import baton.rpc.ConductorFailure;
import baton.rpc.ConductorFunctions;
import baton.rpc.ErrorCode;
import baton.rpc.Wire;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

/**
 * Registers KV event publishers with a Conductor and asks it for cached prefixes. Unconnected at
 * first; {@link #setup} connects. Returns codes and throws nothing, except {@link
 * IllegalArgumentException} for a registration that cannot be sent at all. Safe for many threads;
 * calls on one client take turns.
 */
public final class ConductorClient implements AutoCloseable {
  public static final int OK = ErrorCode.OK;
  public static final int INTERNAL_ERROR = ErrorCode.INTERNAL_ERROR;
  public static final int INVALID_PARAMS = ErrorCode.INVALID_PARAMS;
  public static final int RPC_FAIL = ErrorCode.RPC_FAIL;
  public static final int RPC_TIMEOUT = ErrorCode.RPC_TIMEOUT;
  public static final int CONDUCTOR_UNAVAILABLE = ErrorCode.CONDUCTOR_UNAVAILABLE;
  public static final int SERVICE_NOT_FOUND = ErrorCode.SERVICE_NOT_FOUND;

  public static final int HEALTH_OK = 0;
  public static final int HEALTH_NOT_INITIALIZED = 1;
  public static final int HEALTH_UNREACHABLE = 2;

  private static final int CONNECT_TIMEOUT_MS = 1000;
  private static final int REQUEST_TIMEOUT_MS = 3000;

  private final AtomicReference<ConductorFunctions> conductor = new AtomicReference<>();
  private final AtomicInteger sequence = new AtomicInteger();

  /** An unconnected client. */
  public ConductorClient() {}

  /** A client of a Conductor that is already at hand. */
  public ConductorClient(ConductorFunctions conductor) {
    this.conductor.set(conductor);
  }

  /** {@link #setup(String, int, int)} with 1,000 ms to connect and 3,000 ms for each request. */
  public int setup(String conductorAddr) {
    return setup(conductorAddr, CONNECT_TIMEOUT_MS, REQUEST_TIMEOUT_MS);
  }

  /**
   * Connects, in place of any connection before. A failed attempt leaves the client uninitialised.
   *
   * @param conductorAddr {@code host:port}, an IPv6 host in brackets
   * @param connectTimeoutMs positive
   * @param requestTimeoutMs positive; for each later request
   * @return OK, INVALID_PARAMS for an address without a port or a timeout that is none, RPC_FAIL if
   *     nobody answers there
   */
  public int setup(String conductorAddr, int connectTimeoutMs, int requestTimeoutMs) {
    replace(null);
    InetSocketAddress address = RpcAddress.parse(conductorAddr);
    if (address == null || connectTimeoutMs <= 0 || requestTimeoutMs <= 0) {
      return INVALID_PARAMS;
    }
    try {
      var resolved = new InetSocketAddress(address.getHostString(), address.getPort());
      replace(
          RpcLink.connect(resolved, connectTimeoutMs, requestTimeoutMs, sequence::getAndIncrement));
      return OK;
    } catch (IOException e) {
      return RPC_FAIL;
    }
  }

  /** Releases the connection. Registered publishers stay registered. May be repeated. */
  @Override
  public void close() {
    replace(null);
  }

  private void replace(ConductorFunctions next) {
    ConductorFunctions before = conductor.getAndSet(next);
    if (before != null) {
      before.close();
    }
  }

  /**
   * The Conductor behind this client, for callers that want its exceptions rather than codes.
   *
   * @throws ConductorFailure CONDUCTOR_UNAVAILABLE if there is none
   */
  public ConductorFunctions functions() {
    ConductorFunctions functions = conductor.get();
    if (functions == null) {
      throw new ConductorFailure(CONDUCTOR_UNAVAILABLE, "the client is not connected");
    }
    return functions;
  }

  /** Whether a query may wait for someone else. */
  public boolean waits() {
    ConductorFunctions functions = conductor.get();
    return functions != null && functions.waits();
  }

  /** HEALTH_OK, HEALTH_NOT_INITIALIZED without a connection, HEALTH_UNREACHABLE if it fails. */
  public int healthCheck() {
    ConductorFunctions functions = conductor.get();
    if (functions == null) {
      return HEALTH_NOT_INITIALIZED;
    }
    return code(c -> functions.services()) == OK ? HEALTH_OK : HEALTH_UNREACHABLE;
  }

  /** Asks for a prompt of the base model, for the default tenant, without a salt. */
  public QueryResult query(String modelName, long blockSize, int[] tokenIds) {
    return query(new QueryArguments(modelName, blockSize, tokenIds));
  }

  /** Asks how long a prefix of a prompt each instance holds. */
  public QueryResult query(QueryArguments arguments) {
    if (arguments == null || arguments.modelName() == null || arguments.tokenIds() == null) {
      return new QueryResult(INVALID_PARAMS, Map.of());
    }
    try {
      Wire.QueryResult result =
          functions()
              .query(
                  new Wire.QueryRequest(
                      arguments.tenantId(),
                      arguments.modelName(),
                      arguments.loraName(),
                      arguments.blockSize(),
                      arguments.tokenIds(),
                      emptyToAbsent(arguments.cacheSalt()),
                      emptyToAbsent(arguments.instanceFilter())));
      Map<String, QueryResult.InstanceHit> hits = new LinkedHashMap<>();
      result.instances().forEach((id, hit) -> hits.put(id, hit(hit)));
      return new QueryResult(OK, hits);
    } catch (ConductorFailure e) {
      return new QueryResult(e.code(), Map.of());
    }
  }

  private static String emptyToAbsent(String text) {
    return text.isEmpty() ? null : text;
  }

  private static QueryResult.InstanceHit hit(Wire.CacheHit hit) {
    Map<String, Long> dp = new LinkedHashMap<>();
    hit.dp().forEach((rank, tokens) -> dp.put(rank.toString(), tokens));
    Map<String, QueryResult.RankHit> ranks = new LinkedHashMap<>();
    hit.rankMatches()
        .forEach(
            (rank, match) ->
                ranks.put(
                    rank.toString(),
                    new QueryResult.RankHit(
                        match.device(), match.cpuLocal(), match.cpuShare(), match.disk())));
    return new QueryResult.InstanceHit(
        hit.longestMatched(), dp, ranks, hit.device(), hit.cpuLocal(), hit.cpuShare(), hit.disk());
  }

  /**
   * Registers a publisher by the field names of the Python client.
   *
   * @throws IllegalArgumentException as {@link PublisherConfig#of} says
   */
  public int register(Map<String, ?> config) {
    return register(PublisherConfig.of(config));
  }

  /** Registers a publisher. */
  public int register(PublisherConfig config) {
    HashProfile profile = config.hashProfile();
    var service =
        new Wire.ServiceConfig(
            config.endpoint(),
            config.replayEndpoint(),
            kind(config.publisherType()),
            config.modelName(),
            config.loraName(),
            config.tenantId(),
            config.instanceId(),
            config.blockSize(),
            config.dpRank(),
            config.cacheGroup(),
            new Wire.HashProfile(
                profile.strategy(),
                profile.algorithm(),
                profile.pythonHashSeed(),
                profile.rootDigest(),
                profile.indexProjection()));
    return code(c -> c.register(service));
  }

  private static int kind(String type) {
    return switch (type) {
      case "vLLM" -> Wire.ServiceConfig.VLLM;
      case "Mooncake" -> Wire.ServiceConfig.MOONCAKE;
      default -> Wire.ServiceConfig.SGLANG;
    };
  }

  private static String type(int kind) {
    return switch (kind) {
      case Wire.ServiceConfig.VLLM -> "vLLM";
      case Wire.ServiceConfig.MOONCAKE -> "Mooncake";
      case Wire.ServiceConfig.SGLANG -> "SGLang";
      default -> throw new ConductorFailure(RPC_FAIL, "a publisher of an unknown kind");
    };
  }

  /** Unregisters rank 0 of an instance of the default tenant. */
  public int unregister(String instanceId) {
    return unregister(instanceId, "default", 0);
  }

  /** Unregisters a publisher; SERVICE_NOT_FOUND if it is not registered. */
  public int unregister(String instanceId, String tenantId, int dpRank) {
    if (instanceId == null) {
      return INVALID_PARAMS;
    }
    String tenant = QueryArguments.orEmpty(tenantId);
    return code(c -> c.unregister(new Wire.UnregisterArgs(instanceId, tenant, dpRank)));
  }

  private int code(Function<ConductorFunctions, ?> call) {
    try {
      call.apply(functions());
      return OK;
    } catch (ConductorFailure e) {
      return e.code();
    }
  }

  /** A snapshot of the indexed contexts. */
  public GlobalViewResult getGlobalView() {
    try {
      Wire.GlobalView view = functions().globalView();
      List<GlobalViewResult.Context> contexts =
          view.contexts().stream().map(ConductorClient::context).toList();
      return new GlobalViewResult(OK, view.contextCount(), contexts);
    } catch (ConductorFailure e) {
      return new GlobalViewResult(e.code(), 0, List.of());
    }
  }

  private static GlobalViewResult.Context context(Wire.ContextView view) {
    return new GlobalViewResult.Context(
        view.modelName(),
        view.loraName(),
        view.blockSize(),
        view.tenantId(),
        view.prefixCount(),
        profile(view.hashProfile()),
        view.instanceRanks());
  }

  private static HashProfile profile(Wire.HashProfile profile) {
    return new HashProfile(
        profile.strategy(),
        profile.algorithm(),
        profile.pythonHashSeed(),
        profile.rootDigest(),
        profile.indexProjection());
  }

  /** The registered publishers. */
  public ServicesResult listServices() {
    try {
      List<PublisherConfig> services =
          functions().services().stream().map(ConductorClient::publisher).toList();
      return new ServicesResult(OK, services.size(), services);
    } catch (ConductorFailure e) {
      return new ServicesResult(e.code(), 0, List.of());
    }
  }

  private static PublisherConfig publisher(Wire.ServiceConfig service) {
    return new PublisherConfig(
        service.instanceId(),
        service.endpoint(),
        service.modelName(),
        service.blockSize(),
        profile(service.hashProfile()),
        service.replayEndpoint(),
        type(service.publisherKind()),
        service.loraName(),
        service.tenantId(),
        service.dpRank(),
        service.cacheGroup());
  }
}
