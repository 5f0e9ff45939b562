package baton.it;

import static baton.client.ConductorClient.CONDUCTOR_UNAVAILABLE;
import static baton.client.ConductorClient.HEALTH_NOT_INITIALIZED;
import static baton.client.ConductorClient.HEALTH_OK;
import static baton.client.ConductorClient.INVALID_PARAMS;
import static baton.client.ConductorClient.OK;
import static baton.client.ConductorClient.SERVICE_NOT_FOUND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.tuple;

import baton.client.ConductorClient;
import baton.client.GlobalViewResult;
import baton.client.HashProfile;
import baton.client.PublisherConfig;
import baton.client.QueryArguments;
import baton.client.QueryResult;
import baton.client.QueryResult.InstanceHit;
import baton.client.QueryResult.RankHit;
import baton.client.ServicesResult;
import baton.hash.BlockChain;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The document of the Python client, section by section, for the Java client of any Conductor that
 * has nothing registered.
 */
abstract class ClientSuite {
  private static final String ROOT_OF_SEED_0 =
      "4e1195df020de59e0d65a33a4279f1183e7ae4e5d980e309f8b55adff2e61c3e";
  private static final int BLOCK = Prompt.BLOCK_SIZE;
  private static final int[] TOKENS = {1, 2, 3, 4};
  private static final QueryResult NOBODY = new QueryResult(OK, Map.of());

  private ConductorClient client;
  private final List<EnginePublisher> publishers = new ArrayList<>();

  /** A client that may be used. */
  abstract ConductorClient connected();

  @BeforeEach
  void connect() {
    client = connected();
  }

  @AfterEach
  void leaveNothingBehind() {
    client.close();
    try (ConductorClient last = connected()) {
      for (PublisherConfig service : last.listServices().services()) {
        assertThat(last.unregister(service.instanceId(), service.tenantId(), service.dpRank()))
            .isEqualTo(OK);
      }
      assertThat(last.listServices()).isEqualTo(new ServicesResult(OK, 0, List.of()));
      assertThat(last.getGlobalView()).isEqualTo(new GlobalViewResult(OK, 0, List.of()));
    }
    publishers.forEach(EnginePublisher::close);
  }

  private EnginePublisher publisher() {
    EnginePublisher publisher = EnginePublisher.serve();
    publishers.add(publisher);
    return publisher;
  }

  private static Map<String, Object> vllm(String instance, String endpoint) {
    Map<String, Object> config = new HashMap<>();
    config.put("instance_id", instance);
    config.put("endpoint", endpoint);
    config.put("model_name", "my-model");
    config.put("block_size", BLOCK);
    config.put("hash_profile", profile("vllm_v1", "sha256_cbor", "0", "low64_be"));
    return config;
  }

  private static Map<String, Object> sglang(String strategy, String instance, String endpoint) {
    Map<String, Object> config = vllm(instance, endpoint);
    config.put("publisher_type", "SGLang");
    Map<String, String> profile = new HashMap<>(profile(strategy, "sha256_raw", "", "first64_be"));
    profile.remove("python_hash_seed");
    config.put("hash_profile", profile);
    return config;
  }

  private static Map<String, String> profile(
      String strategy, String algorithm, String seed, String projection) {
    return Map.of(
        "strategy", strategy,
        "algorithm", algorithm,
        "python_hash_seed", seed,
        "index_projection", projection);
  }

  private static Map<String, Object> with(Map<String, Object> config, String key, Object value) {
    return Api.with(config, key, value);
  }

  /** An endpoint that nobody serves. */
  private static String unserved(int number) {
    return "tcp://127.0.0.1:" + (2100 + number);
  }

  private void register(Map<String, Object> config) {
    assertThat(client.register(config)).as(config.toString()).isEqualTo(OK);
  }

  /** Registers, and waits until the subscription is there: what is sent before, nobody hears. */
  private EnginePublisher follow(Map<String, Object> config, EnginePublisher publisher) {
    register(config);
    return publisher.awaitSubscriber();
  }

  private static InstanceHit hit(long device, long cpuLocal, long cpuShare, long disk) {
    return new InstanceHit(
        disk,
        Map.of("0", device),
        Map.of("0", new RankHit(device, cpuLocal, cpuShare, disk)),
        device,
        cpuLocal,
        cpuShare,
        disk);
  }

  private static QueryResult only(String instance, InstanceHit hit) {
    return new QueryResult(OK, Map.of(instance, hit));
  }

  private static QueryResult zeros(String instance) {
    return only(instance, hit(0, 0, 0, 0));
  }

  private void eventually(int[] tokens, QueryResult expected) {
    Router.eventually(
        () -> assertThat(client.query("my-model", BLOCK, tokens)).isEqualTo(expected));
  }

  private static QueryArguments arguments(String tenant, String lora, String salt, String filter) {
    return new QueryArguments("my-model", lora, BLOCK, tenant, TOKENS, salt, filter);
  }

  // Quick start

  @Test
  void quickStart_emptyServiceList_findsNothing() {
    assertThat(client.healthCheck()).isEqualTo(HEALTH_OK);
    int[] tokens = IntStream.range(0, 32).toArray();
    assertThat(client.query("my-model", 16, tokens)).isEqualTo(NOBODY);
    assertThat(client.listServices()).isEqualTo(new ServicesResult(OK, 0, List.of()));
    assertThat(client.getGlobalView()).isEqualTo(new GlobalViewResult(OK, 0, List.of()));
  }

  @Test
  void close_doesNotUnregister() {
    register(vllm("vllm-0", unserved(1)));
    client.close();
    assertThat(client.healthCheck()).isEqualTo(HEALTH_NOT_INITIALIZED);
    assertThat(client.listServices().ret()).isEqualTo(CONDUCTOR_UNAVAILABLE);
    try (ConductorClient other = connected()) {
      assertThat(other.listServices().count()).isEqualTo(1);
    }
  }

  // Queries

  @Test
  void query_registeredWithoutEvents_isThereWithZeros() {
    register(vllm("vllm-0", unserved(1)));
    assertThat(client.query("my-model", BLOCK, TOKENS)).isEqualTo(zeros("vllm-0"));
    assertThat(client.query("my-model", BLOCK, new int[0])).isEqualTo(zeros("vllm-0"));
    int[] extremes = {Integer.MIN_VALUE, -1, 0, Integer.MAX_VALUE};
    assertThat(client.query("my-model", BLOCK, extremes)).isEqualTo(zeros("vllm-0"));
  }

  @Test
  void query_unknownContextOrInstance_isOkAndEmpty() {
    register(vllm("vllm-0", unserved(1)));
    assertThat(client.query("another", BLOCK, TOKENS)).isEqualTo(NOBODY);
    assertThat(client.query("my-model", BLOCK + 1, TOKENS)).isEqualTo(NOBODY);
    assertThat(client.query(arguments("blue", "", "", ""))).isEqualTo(NOBODY);
    assertThat(client.query(arguments("default", "adapter", "", ""))).isEqualTo(NOBODY);
    assertThat(client.query(arguments("default", "", "", "vllm-1"))).isEqualTo(NOBODY);
  }

  @ParameterizedTest
  @CsvSource({"'',4", "my-model,0", "my-model,-1", "my-model,-9223372036854775808"})
  void query_invalidValue_isInvalidParamsWithoutHits(String model, long blockSize) {
    register(vllm("vllm-0", unserved(1)));
    assertThat(client.query(model, blockSize, TOKENS))
        .isEqualTo(new QueryResult(INVALID_PARAMS, Map.of()));
    assertThat(client.healthCheck()).isEqualTo(HEALTH_OK);
  }

  @Test
  void query_blocksInSeveralTiers_countsAreCumulative() {
    EnginePublisher publisher = publisher();
    follow(vllm("vllm-0", publisher.endpoint()), publisher);
    Prompt prompt = Prompt.ofBlocks(Prompt.VLLM, 5);
    publisher.send(
        Dialect.VLLM.batch(
            Dialect.VLLM.stored(prompt.keys().subList(0, 2), "GPU"),
            Dialect.VLLM.stored(prompt.key(2), "CPU"),
            Dialect.VLLM.stored(prompt.key(3), "disk")));
    eventually(prompt.tokens(), only("vllm-0", hit(8, 12, 12, 16)));
    int[] shorter = Arrays.copyOf(prompt.tokens(), 11);
    assertThat(client.query("my-model", BLOCK, shorter))
        .as("complete blocks only")
        .isEqualTo(only("vllm-0", hit(8, 8, 8, 8)));

    publisher.send(Dialect.VLLM.batch(Dialect.VLLM.removed(prompt.key(1), "GPU")));
    eventually(prompt.tokens(), only("vllm-0", hit(4, 4, 4, 4)));
  }

  @Test
  void query_sharedPool_countsForEveryInstance() {
    EnginePublisher engine = publisher();
    EnginePublisher pool = publisher();
    follow(vllm("vllm-0", engine.endpoint()), engine);
    register(vllm("vllm-1", unserved(1)));
    Map<String, Object> store = with(vllm("", pool.endpoint()), "publisher_type", "Mooncake");
    store.remove("instance_id");
    follow(store, pool);
    Prompt prompt = Prompt.ofBlocks(Prompt.VLLM, 2);
    engine.send(Dialect.VLLM.batch(Dialect.VLLM.stored(prompt.key(0), "GPU")));
    pool.send(
        Dialect.mooncakeBatch(
            PoolEvent.stored("my-model", "a", "default", prompt.keys().get(0), "cpu"),
            PoolEvent.stored("my-model", "a", "default", prompt.keys().get(1), "disk")));
    eventually(
        prompt.tokens(),
        new QueryResult(OK, Map.of("vllm-0", hit(4, 4, 4, 8), "vllm-1", hit(0, 0, 4, 8))));
  }

  @Test
  void query_severalRanks_keysAreDecimalAndInstanceIsTheirMaximum() {
    EnginePublisher zero = publisher();
    EnginePublisher ten = publisher();
    follow(vllm("vllm-0", zero.endpoint()), zero);
    follow(with(vllm("vllm-0", ten.endpoint()), "dp_rank", 10), ten);
    Prompt prompt = Prompt.ofBlocks(Prompt.VLLM, 3);
    zero.send(Dialect.VLLM.batch(Dialect.VLLM.stored(prompt.keys().subList(0, 2), "GPU")));
    ten.send(
        Dialect.VLLM.batch(
            Dialect.VLLM.stored(prompt.key(0), "GPU"),
            Dialect.VLLM.stored(prompt.keys().subList(1, 3), "CPU")));
    eventually(
        prompt.tokens(),
        only(
            "vllm-0",
            new InstanceHit(
                12,
                Map.of("0", 8L, "10", 4L),
                Map.of("0", new RankHit(8, 8, 8, 8), "10", new RankHit(4, 12, 12, 12)),
                8,
                12,
                12,
                12)));
  }

  @Test
  void query_instanceFilter_showsThatInstanceOnly() {
    EnginePublisher publisher = publisher();
    follow(vllm("vllm-0", publisher.endpoint()), publisher);
    register(vllm("vllm-1", unserved(1)));
    Prompt prompt = Prompt.ofBlocks(Prompt.VLLM, 1);
    publisher.send(Dialect.VLLM.batch(Dialect.VLLM.stored(prompt.keys(), "GPU")));
    eventually(
        TOKENS, new QueryResult(OK, Map.of("vllm-0", hit(4, 4, 4, 4), "vllm-1", hit(0, 0, 0, 0))));
    assertThat(client.query(arguments("default", "", "", "vllm-0")))
        .isEqualTo(only("vllm-0", hit(4, 4, 4, 4)));
    assertThat(client.query(arguments("default", "", "", "vllm-1"))).isEqualTo(zeros("vllm-1"));
  }

  @Test
  void query_cacheSaltAndLora_areOfTheHash() {
    EnginePublisher publisher = publisher();
    Map<String, Object> config = vllm("vllm-0", publisher.endpoint());
    follow(with(config, "lora_name", "adapter"), publisher);
    BlockChain chain = Prompt.VLLM.chain(TOKENS, BLOCK, "adapter", "salt");
    List<Long> key = List.of(chain.nextKey());
    publisher.send(
        Dialect.VLLM.batch(
            Api.with(stringKeys(Dialect.VLLM.stored(key, "GPU")), "lora_name", "adapter")));
    Router.eventually(
        () ->
            assertThat(client.query(arguments("default", "adapter", "salt", "")))
                .isEqualTo(only("vllm-0", hit(4, 4, 4, 4))));
    assertThat(client.query(arguments("default", "adapter", "", ""))).isEqualTo(zeros("vllm-0"));
    assertThat(client.query(arguments("default", "adapter", "pepper", "")))
        .isEqualTo(zeros("vllm-0"));
    assertThat(client.query(arguments("default", "", "salt", ""))).isEqualTo(NOBODY);
  }

  private static Map<String, Object> stringKeys(Object map) {
    Map<String, Object> fields = new HashMap<>();
    ((Map<?, ?>) map).forEach((key, value) -> fields.put((String) key, value));
    return fields;
  }

  @Test
  void query_emptyTenant_isDefault() {
    register(with(vllm("vllm-0", unserved(1)), "tenant_id", ""));
    assertThat(client.query(arguments("", "", "", ""))).isEqualTo(zeros("vllm-0"));
    assertThat(client.query(arguments("default", "", "", ""))).isEqualTo(zeros("vllm-0"));
    assertThat(client.listServices().services().get(0).tenantId()).isEqualTo("default");
    assertThat(client.getGlobalView().contexts().get(0).tenantId()).isEqualTo("default");
    assertThat(client.unregister("vllm-0", "", 0)).isEqualTo(OK);
  }

  @ParameterizedTest
  @CsvSource({"sglang,10", "sglang_bigram,9"})
  void query_sglang_countsThePartialBlock(String strategy, long positions) {
    EnginePublisher publisher = publisher();
    follow(sglang(strategy, "sglang-0", publisher.endpoint()), publisher);
    int[] tokens = IntStream.rangeClosed(1, 10).toArray();
    var profile = new baton.hash.HashProfile(strategy, "sha256_raw", "0", "first64_be");
    BlockChain chain = profile.chain(tokens, BLOCK, "", "");
    List<Long> keys = new ArrayList<>();
    for (int i = 0; i < chain.length(); i++) {
      keys.add(chain.nextKey());
    }
    assertThat(keys).hasSize(3);
    publisher.send(Dialect.SGLANG.batch(Dialect.SGLANG.stored(keys, "GPU")));
    eventually(tokens, only("sglang-0", hit(positions, positions, positions, positions)));
    assertThat(client.query("my-model", BLOCK, new int[0])).isEqualTo(zeros("sglang-0"));
    if (strategy.equals("sglang_bigram")) {
      assertThat(client.query("my-model", BLOCK, new int[] {1})).isEqualTo(zeros("sglang-0"));
    }
  }

  @Test
  void query_promptOfManyTokens_countsThemAll() {
    EnginePublisher publisher = publisher();
    follow(vllm("vllm-0", publisher.endpoint()), publisher);
    Prompt prompt = Prompt.ofBlocks(Prompt.VLLM, 20_000);
    publisher.send(Dialect.VLLM.batch(Dialect.VLLM.stored(prompt.keys(), "GPU")));
    eventually(prompt.tokens(), only("vllm-0", hit(80_000, 80_000, 80_000, 80_000)));
  }

  @Test
  void query_fromManyThreads_everyoneGetsTheirOwn() throws Exception {
    for (int i = 0; i < 8; i++) {
      register(with(vllm("vllm-" + i, unserved(i)), "model_name", "model-" + i));
    }
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Callable<List<QueryResult>>> work = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        String model = "model-" + i;
        work.add(
            () ->
                IntStream.range(0, 25).mapToObj(n -> client.query(model, BLOCK, TOKENS)).toList());
      }
      List<Future<List<QueryResult>>> answers = threads.invokeAll(work);
      for (int i = 0; i < 8; i++) {
        assertThat(answers.get(i).get()).hasSize(25).containsOnly(zeros("vllm-" + i));
      }
    } finally {
      threads.shutdownNow();
    }
  }

  // Registering

  @Test
  void register_theDocumentsExample_isListedWithTheDerivedRoot() {
    Map<String, Object> config = with(vllm("vllm-0", "tcp://127.0.0.1:5557"), "block_size", 16);
    config.put("publisher_type", "vLLM");
    config.put("dp_rank", 0);
    register(config);
    HashProfile resolved =
        new HashProfile("vllm_v1", "sha256_cbor", "0", ROOT_OF_SEED_0, "low64_be");
    assertThat(client.listServices())
        .isEqualTo(
            new ServicesResult(
                OK,
                1,
                List.of(
                    new PublisherConfig(
                        "vllm-0", "tcp://127.0.0.1:5557", "my-model", 16, resolved))));
    assertThat(client.getGlobalView())
        .isEqualTo(
            new GlobalViewResult(
                OK,
                1,
                List.of(
                    new GlobalViewResult.Context(
                        "my-model",
                        "",
                        16,
                        "default",
                        0,
                        resolved,
                        Map.of("vllm-0", Set.of(0L))))));
  }

  @Test
  void register_everyField_isListedAsGiven() {
    Map<String, Object> config = sglang("sglang", "sglang-0", unserved(1));
    config.put("replay_endpoint", unserved(2));
    config.put("lora_name", "adapter-Ä");
    config.put("tenant_id", "blue");
    config.put("dp_rank", Integer.MAX_VALUE);
    config.put("cache_group", 0);
    config.put("block_size", Long.MAX_VALUE);
    register(config);
    List<PublisherConfig> services = client.listServices().services();
    assertThat(services).hasSize(1);
    PublisherConfig listed = services.get(0);
    assertThat(listed.hashProfile().pythonHashSeed()).as("normalised").isEqualTo("0");
    assertThat(listed)
        .isEqualTo(
            new PublisherConfig(
                "sglang-0",
                unserved(1),
                "my-model",
                Long.MAX_VALUE,
                listed.hashProfile(),
                unserved(2),
                "SGLang",
                "adapter-Ä",
                "blue",
                Integer.MAX_VALUE,
                0L));
  }

  @Test
  void register_sameAgain_isOkAndChangesNothing() {
    register(vllm("vllm-0", unserved(1)));
    register(vllm("vllm-0", unserved(1)));
    register(with(vllm("vllm-0", unserved(1)), "tenant_id", "default"));
    assertThat(client.listServices().count()).isEqualTo(1);
  }

  @Test
  void register_conflict_isInvalidParamsAndChangesNothing() {
    Map<String, Object> first = vllm("vllm-0", unserved(1));
    register(first);
    ServicesResult services = client.listServices();
    GlobalViewResult view = client.getGlobalView();
    List<Map<String, Object>> conflicts =
        List.of(
            with(first, "endpoint", unserved(2)),
            with(first, "model_name", "another"),
            with(first, "block_size", 8),
            with(first, "cache_group", 0),
            with(first, "instance_id", "vllm-1"),
            with(
                vllm("vllm-1", unserved(2)),
                "hash_profile",
                profile("vllm_v1", "sha256_cbor", "1", "low64_be")));
    assertThat(conflicts).allSatisfy(c -> assertThat(client.register(c)).isEqualTo(INVALID_PARAMS));
    assertThat(client.listServices()).isEqualTo(services);
    assertThat(client.getGlobalView()).isEqualTo(view);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "instance_id",
        "endpoint",
        "model_name",
        "block_size",
        "hash_profile",
        "hash_profile.strategy",
        "hash_profile.algorithm",
        "hash_profile.python_hash_seed",
        "hash_profile.index_projection"
      })
  void register_missingValue_isInvalidParams(String key) {
    Map<String, Object> whole = vllm("vllm-0", unserved(1));
    whole.put("hash_profile", new HashMap<>((Map<?, ?>) whole.get("hash_profile")));
    assertThat(client.register(Api.without(whole, key))).isEqualTo(INVALID_PARAMS);
    assertThat(client.healthCheck()).isEqualTo(HEALTH_OK);
  }

  @Test
  void register_invalidValue_isInvalidParams() {
    Map<String, Object> good = vllm("vllm-0", unserved(1));
    List<Map<String, Object>> bad =
        List.of(
            with(good, "endpoint", ""),
            with(good, "endpoint", "127.0.0.1:5557"),
            with(good, "replay_endpoint", "nowhere"),
            with(good, "model_name", ""),
            with(good, "instance_id", ""),
            with(good, "block_size", 0),
            with(good, "block_size", -16),
            with(good, "dp_rank", -1),
            with(good, "cache_group", 1),
            with(good, "cache_group", -1),
            with(good, "hash_profile", profile("vllm_v2", "sha256_cbor", "0", "low64_be")),
            with(good, "hash_profile", profile("vllm_v1", "sha256_raw", "0", "low64_be")),
            with(good, "hash_profile", profile("vllm_v1", "sha256_cbor", "0", "first64_be")),
            with(good, "hash_profile", profile("vllm_v1", "sha256", "4294967296", "low64_be")),
            with(good, "hash_profile", profile("vllm_v1", "sha256", "-1", "low64_be")),
            with(good, "hash_profile", profile("vllm_v1", "sha256", "0x1", "low64_be")),
            with(good, "hash_profile", profile("sglang", "sha256", "0", "low64_be")));
    assertThat(bad).allSatisfy(c -> assertThat(client.register(c)).isEqualTo(INVALID_PARAMS));
    assertThat(client.listServices().count()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "vllm_v1,sha256,0,low64_be",
    "vllm_v1,sha256,random,low64_be",
    "vllm_v1,sha256_cbor,4294967295,low64_be",
    "sglang,sha256_raw,0,first64_be",
    "sglang_bigram,sha256_raw,'',first64_be"
  })
  void register_supportedRecipe_isOk(
      String strategy, String algorithm, String seed, String projection) {
    Map<String, String> recipe = profile(strategy, algorithm, seed, projection);
    register(with(vllm("vllm-0", unserved(1)), "hash_profile", recipe));
    assertThat(client.listServices().services().get(0).hashProfile().rootDigest()).isNotNull();
  }

  @Test
  void register_configThatIsNone_isAnExceptionThatNamesTheKey() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> client.register(Map.of("modelname", "m")))
        .withMessageContaining("modelname");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> client.register(with(vllm("a", unserved(1)), "block_size", true)))
        .withMessageContaining("block_size");
    assertThat(client.healthCheck()).isEqualTo(HEALTH_OK);
  }

  // Unregistering

  @Test
  void unregister_registered_stopsAndRemovesItsBlocks() {
    EnginePublisher publisher = publisher();
    Map<String, Object> config = vllm("vllm-0", publisher.endpoint());
    follow(config, publisher);
    publisher.send(
        Dialect.VLLM.batch(Dialect.VLLM.stored(Prompt.ofBlocks(Prompt.VLLM, 1).keys(), "GPU")));
    eventually(TOKENS, only("vllm-0", hit(4, 4, 4, 4)));
    assertThat(client.getGlobalView().contexts().get(0).prefixCount()).isEqualTo(1);

    assertThat(client.unregister("vllm-0")).isEqualTo(OK);
    assertThat(client.query("my-model", BLOCK, TOKENS)).isEqualTo(NOBODY);
    assertThat(client.getGlobalView().contextCount()).isZero();
    assertThat(client.unregister("vllm-0")).isEqualTo(SERVICE_NOT_FOUND);
    register(config);
    assertThat(client.query("my-model", BLOCK, TOKENS)).isEqualTo(zeros("vllm-0"));
  }

  @Test
  void unregister_anotherKey_isServiceNotFound() {
    register(with(vllm("vllm-0", unserved(1)), "dp_rank", 1));
    assertThat(client.unregister("vllm-0")).isEqualTo(SERVICE_NOT_FOUND);
    assertThat(client.unregister("vllm-0", "blue", 1)).isEqualTo(SERVICE_NOT_FOUND);
    assertThat(client.unregister("vllm-1", "default", 1)).isEqualTo(SERVICE_NOT_FOUND);
    assertThat(client.unregister("vllm-0", "default", 1)).isEqualTo(OK);
  }

  // Views

  @Test
  void globalView_severalContexts_showsRanksOfEachInstance() {
    register(vllm("vllm-0", unserved(1)));
    register(with(vllm("vllm-0", unserved(2)), "dp_rank", 3));
    register(vllm("vllm-1", unserved(3)));
    register(with(vllm("vllm-0", unserved(4)), "tenant_id", "blue"));
    GlobalViewResult view = client.getGlobalView();
    assertThat(view.ret()).isEqualTo(OK);
    assertThat(view.contextCount()).isEqualTo(2);
    assertThat(view.contexts())
        .extracting(GlobalViewResult.Context::tenantId, GlobalViewResult.Context::instances)
        .containsExactlyInAnyOrder(
            tuple("default", Map.of("vllm-0", Set.of(0L, 3L), "vllm-1", Set.of(0L))),
            tuple("blue", Map.of("vllm-0", Set.of(0L))));
    assertThat(client.listServices().count()).isEqualTo(4);
    assertThat(client.listServices().services())
        .extracting(PublisherConfig::endpoint)
        .containsExactlyInAnyOrder(unserved(1), unserved(2), unserved(3), unserved(4));
  }
}
