package baton.config;

import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.List;
import java.util.Optional;

/**
 * All keys under {@code baton.}: what each means, its unit, its default and what it may be. The
 * README's table is checked against it.
 */
@ConfigMapping(prefix = "baton")
public interface BatonConfig {
  /** The numbers that a key may have; without it, from 0 to 2147483647. */
  @Retention(RetentionPolicy.RUNTIME)
  @Target(ElementType.METHOD)
  @interface Range {
    long min() default 0;

    long max() default Integer.MAX_VALUE;
  }

  /** A key whose value is shown to nobody. */
  @Retention(RetentionPolicy.RUNTIME)
  @Target(ElementType.METHOD)
  @interface Secret {}

  Http http();

  Rpc rpc();

  Remote conductor();

  Zmq zmq();

  Recovery recovery();

  Registration registration();

  Index index();

  PromptEmbeds promptEmbeds();

  Admin admin();

  Configuration config();

  Readiness readiness();

  Demo demo();

  /**
   * The HTTP interface. Host and port are {@code quarkus.http.host} and {@code quarkus.http.port}.
   */
  interface Http {
    /** Bytes of a request body; a longer one is answered 413. */
    @WithDefault("67108864")
    @Range(min = 1)
    int maxBodyBytes();

    /**
     * Bytes of all request bodies in memory at the same time; beyond it requests are answered 503.
     */
    @WithDefault("536870912")
    @Range(min = 1, max = Long.MAX_VALUE)
    long maxBufferedBytes();
  }

  /** The RPC port, for Mooncake's own clients. */
  interface Rpc {
    /** RPC port; 0 for none. */
    @WithDefault("13334")
    @Range(max = 65535)
    int port();

    /** Address at which the RPC port listens. */
    @WithDefault("0.0.0.0")
    String host();

    /** Bytes of an RPC request's body; a longer one ends its connection. */
    @WithDefault("67108864")
    @Range(min = 1)
    int maxBodyBytes();

    /**
     * Bytes of all RPC requests in memory at the same time; one that needs more ends its
     * connection.
     */
    @WithDefault("536870912")
    @Range(min = 1, max = Long.MAX_VALUE)
    long maxBufferedBytes();

    /** RPC connections at the same time; one more is closed at once. */
    @WithDefault("4096")
    @Range(min = 1)
    int maxConnections();
  }

  /** A Conductor elsewhere that this process serves in place of its own index. */
  interface Remote {
    /**
     * {@code host:port} of another Conductor's RPC port, to be served in place of the own index;
     * without it, the own index is served.
     */
    Optional<String> address();

    /** Milliseconds that connecting to that Conductor may take. */
    @WithDefault("1000")
    @Range(min = 1)
    int connectTimeoutMs();

    /** Milliseconds that each request to that Conductor may take. */
    @WithDefault("3000")
    @Range(min = 1)
    int requestTimeoutMs();
  }

  /** The sockets that follow publishers. */
  interface Zmq {
    /** Threads that read sockets and apply events; 0 is one for each processor, at most 4. */
    @WithDefault("0")
    @Range(max = 256)
    int threads();

    /** Threads that move bytes between the network and the publishers' sockets. */
    @WithDefault("1")
    @Range(min = 1, max = 64)
    int ioThreads();

    /**
     * Messages kept for one publisher that sends faster than they are applied; then its sender has
     * to keep them, or drops them.
     */
    @WithDefault("10000")
    @Range(min = 1)
    int receiveHighWaterMark();

    /** Bytes of one event message; a longer one ends its connection. */
    @WithDefault("16777216")
    @Range(min = 1, max = Long.MAX_VALUE)
    long maxMessageBytes();
  }

  /** What happens to blocks when messages of their publisher are lost. */
  enum OnLoss {
    /** They are removed. */
    RETRACT,
    /** They stay, and the publisher is marked as suspect. */
    KEEP
  }

  /** How missed messages are recovered. */
  interface Recovery {
    /** Milliseconds that a publisher may be silent when it is asked for what was missed. */
    @WithDefault("5000")
    @Range(min = 1)
    int answerTimeoutMs();

    /** Milliseconds that a recovery may take; then what is missing counts as lost. */
    @WithDefault("20000")
    @Range(min = 1)
    int timeoutMs();

    /**
     * Messages of one publisher that may wait for those before them; with more, what is missing
     * counts as lost.
     */
    @WithDefault("100000")
    @Range(min = 1)
    int maxHeldMessages();

    /** Bytes of one publisher's messages that may wait for those before them; 0 for none. */
    @WithDefault("67108864")
    @Range(max = Long.MAX_VALUE)
    long maxHeldBytes();

    /**
     * Bytes of all publishers' messages that may wait for those before them; 0 is an eighth of the
     * largest heap.
     */
    @WithDefault("0")
    @Range(max = Long.MAX_VALUE)
    long maxTotalHeldBytes();

    /**
     * What happens to a publisher's blocks when messages are lost: {@code retract} or {@code keep}.
     */
    @WithDefault("retract")
    OnLoss onLoss();

    /**
     * Milliseconds of silence after which a publisher that can replay is asked whether something
     * was missed; 0 for never.
     */
    @WithDefault("10000")
    int checkIntervalMs();

    /**
     * Milliseconds after which the blocks of a publisher whose connection is gone are removed; 0
     * for never.
     */
    @WithDefault("0")
    int lostTimeoutMs();
  }

  /** What may be registered. */
  interface Registration {
    /** Publishers registered at the same time; one more is answered 503. */
    @WithDefault("10000")
    @Range(min = 1, max = 1_000_000)
    int maxPublishers();

    /**
     * Endpoints that may be registered, {@code *} standing for any text, separated by commas;
     * link-local addresses never may.
     */
    @WithDefault("tcp://*,ipc://*")
    List<String> allowedEndpoints();
  }

  /** The index. */
  interface Index {
    /**
     * Blocks held, counted once for each owner, and as many pool objects; further ones are refused
     * and counted. 0 is one for every 128 bytes of the largest heap.
     */
    @WithDefault("0")
    @Range(max = Long.MAX_VALUE)
    long maxBlocks();
  }

  /**
   * The prompt-embeds cache. Its size is {@code SG_PROMPT_EMBEDS_CACHE_GIB}, which is not under
   * this prefix: see {@link CacheSize}.
   */
  interface PromptEmbeds {
    /** Payloads being received at the same time; one more is answered 429. */
    @WithDefault("64")
    @Range(min = 1)
    int maxUploads();

    /**
     * Bytes of all payloads being received, and of those still being sent that the cache has let go
     * of; beyond it, an upload is answered 429, unless it is the only one. 0 is 1 GiB, or the
     * cache's size if that is less.
     */
    @WithDefault("0")
    @Range(max = Long.MAX_VALUE)
    long maxUploadBytes();
  }

  /** Who may use the endpoints under {@code /admin}. */
  interface Admin {
    /**
     * Secret that requests to the endpoints under {@code /admin} must bring ({@code Authorization:
     * Bearer …}); without one, only requests from this machine's loopback addresses are answered.
     */
    @Secret
    Optional<String> token();

    /**
     * Whether {@code /register} and {@code /unregister} need the same as {@code /admin}; the RPC
     * channel has no such guard.
     */
    @WithDefault("false")
    boolean guardRegistration();
  }

  /** The file of publishers, {@code CONDUCTOR_CONFIG_PATH}. */
  interface Configuration {
    /**
     * Milliseconds between two looks at the file of publishers; a change is applied when it is seen
     * twice; 0 for never.
     */
    @WithDefault("1000")
    int checkIntervalMs();
  }

  /** When Baton says that it is ready. */
  interface Readiness {
    /**
     * Milliseconds after the start when Baton is ready even if configured publishers are not
     * connected and caught up; 0 for at once.
     */
    @WithDefault("30000")
    int deadlineMs();
  }

  /** Engines that Baton plays itself, to be tried without any. */
  interface Demo {
    /** Engines that Baton plays itself, to be tried without any (3 in dev mode); 0 for none. */
    @WithDefault("0")
    @Range(max = 100)
    int engines();
  }

  /**
   * A publisher that is followed from the start, {@code baton.publishers.<name>}, with the fields
   * of {@code POST /register}. It is no part of the mapping: publishers change while Baton runs,
   * and to map two thousand of them took seven seconds.
   */
  interface Publisher {
    /** ZMQ endpoint of its events, {@code tcp://host:port}; needed. */
    Optional<String> endpoint();

    /** ZMQ endpoint where it can be asked for what was missed; without it, it cannot. */
    Optional<String> replayEndpoint();

    /** What it is: {@code vLLM}, {@code SGLang} or {@code Mooncake}; needed. */
    Optional<String> type();

    /** Its model's name; needed. */
    Optional<String> modelname();

    /** Its LoRA adapter; without it, the base model. */
    Optional<String> loraName();

    /** Its tenant; without it, {@code default}. */
    Optional<String> tenantId();

    /** What routers call it; without it, the publisher's name here. */
    Optional<String> instanceId();

    /** Tokens in a block, above 0; needed. */
    Optional<String> blockSize();

    /** Its data-parallel rank, from 0 on; needed. */
    Optional<String> dpRank();

    /** Its cache group: 0, which is the same as none. */
    Optional<String> cacheGroup();

    HashProfile hashProfile();
  }

  /** How an engine hashes its blocks. */
  interface HashProfile {
    /** How it hashes blocks: {@code vllm_v1}, {@code sglang} or {@code sglang_bigram}; needed. */
    Optional<String> strategy();

    /** {@code sha256} or {@code sha256_cbor} for vLLM, {@code sha256_raw} for SGLang; needed. */
    Optional<String> algorithm();

    /** vLLM's {@code PYTHONHASHSEED}, as it was written; needed for vLLM, unused for SGLang. */
    Optional<String> pythonHashSeed();

    /** {@code low64_be} for vLLM, {@code first64_be} for SGLang; needed. */
    Optional<String> indexProjection();
  }
}
