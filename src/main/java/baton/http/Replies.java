package baton.http;

import baton.conductor.ContextView;
import baton.conductor.Publisher;
import baton.conductor.PublisherStatus;
import baton.config.ConfiguredPublishers;
import baton.embeds.PromptEmbedsCacheStats;
import baton.publisher.EventCounts;
import baton.publisher.EventKind;
import baton.publisher.Refusal;
import baton.publisher.StreamStatus;
import baton.rpc.LocalConductor;
import baton.rpc.Wire;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The replies' shapes; those about publishers and prompts are the Mooncake Conductor's to the
 * letter.
 */
final class Replies {
  private Replies() {}

  @RegisterForReflection
  record Registered(String status, @JsonProperty("instance_id") String instanceId) {
    static Registered of(Wire.RegisterResult result) {
      return new Registered("registered successfully", result.instanceId());
    }
  }

  @RegisterForReflection
  record Unregistered(
      String status, @JsonProperty("removed_instances") List<String> removedInstances) {
    static Unregistered of(Wire.UnregisterResult result) {
      return new Unregistered("unregistered successfully", List.of(result.removedKey()));
    }
  }

  @RegisterForReflection
  record Hits(Map<String, Hit> instances) {
    static Hits of(Wire.QueryResult hits) {
      Map<String, Hit> instances = new LinkedHashMap<>();
      hits.instances().forEach((id, hit) -> instances.put(id, Hit.of(hit)));
      return new Hits(instances);
    }
  }

  @RegisterForReflection
  record Hit(
      @JsonProperty("longest_matched") long longestMatched,
      Map<String, Long> dp,
      @JsonProperty("rank_matches") Map<String, Tiers> rankMatches,
      long device,
      @JsonProperty("cpu_local") long cpuLocal,
      @JsonProperty("cpu_share") long cpuShare,
      long disk) {
    static Hit of(Wire.CacheHit hit) {
      Map<String, Long> dp = new LinkedHashMap<>();
      hit.dp().forEach((rank, tokens) -> dp.put(rank.toString(), tokens));
      Map<String, Tiers> ranks = new LinkedHashMap<>();
      hit.rankMatches().forEach((rank, match) -> ranks.put(rank.toString(), Tiers.of(match)));
      return new Hit(
          hit.longestMatched(),
          dp,
          ranks,
          hit.device(),
          hit.cpuLocal(),
          hit.cpuShare(),
          hit.disk());
    }
  }

  @RegisterForReflection
  record Tiers(
      long device,
      @JsonProperty("cpu_local") long cpuLocal,
      @JsonProperty("cpu_share") long cpuShare,
      long disk) {
    static Tiers of(Wire.RankHit tokens) {
      return new Tiers(tokens.device(), tokens.cpuLocal(), tokens.cpuShare(), tokens.disk());
    }
  }

  @RegisterForReflection
  record Services(int count, List<Service> services) {
    static Services of(List<Wire.ServiceConfig> publishers) {
      return new Services(publishers.size(), publishers.stream().map(Service::of).toList());
    }
  }

  @RegisterForReflection
  record Service(
      @JsonProperty("Endpoint") String endpoint,
      @JsonProperty("ReplayEndpoint") String replayEndpoint,
      @JsonProperty("Type") String type,
      @JsonProperty("ModelName") String modelName,
      @JsonProperty("LoraName") String loraName,
      @JsonProperty("TenantID") String tenantId,
      @JsonProperty("InstanceID") String instanceId,
      @JsonProperty("BlockSize") long blockSize,
      @JsonProperty("DPRank") int dpRank,
      @JsonProperty("CacheGroup") Long cacheGroup,
      @JsonProperty("HashProfile") Profile hashProfile) {
    static Service of(Wire.ServiceConfig publisher) {
      return new Service(
          publisher.endpoint(),
          publisher.replayEndpoint(),
          type(publisher.publisherKind()),
          publisher.modelName(),
          publisher.loraName(),
          publisher.tenantId(),
          publisher.instanceId(),
          publisher.blockSize(),
          publisher.dpRank(),
          publisher.cacheGroup(),
          Profile.of(publisher.hashProfile()));
    }

    private static String type(int kind) {
      return switch (kind) {
        case Wire.ServiceConfig.VLLM -> "vLLM";
        case Wire.ServiceConfig.MOONCAKE -> "Mooncake";
        case Wire.ServiceConfig.SGLANG -> "SGLang";
        default -> "unknown";
      };
    }
  }

  @RegisterForReflection
  record Profile(
      String strategy,
      String algorithm,
      @JsonProperty("python_hash_seed") String pythonHashSeed,
      @JsonProperty("root_digest") String rootDigest,
      @JsonProperty("index_projection") String indexProjection) {
    static Profile of(Wire.HashProfile profile) {
      return new Profile(
          profile.strategy(),
          profile.algorithm(),
          profile.pythonHashSeed(),
          profile.rootDigest(),
          profile.indexProjection());
    }
  }

  @RegisterForReflection
  record Statuses(int count, List<Status> publishers) {
    static Statuses of(List<PublisherStatus> statuses) {
      Instant now = Instant.now();
      return new Statuses(statuses.size(), statuses.stream().map(s -> Status.of(s, now)).toList());
    }
  }

  /**
   * A publisher's stream.
   *
   * @param since when it came into its state, ISO 8601
   * @param lastSequence -1 before the first
   * @param lastMessageAgeMs null before the first
   * @param partialSince the first number from which all is known; null if all is
   */
  @RegisterForReflection
  record Status(
      @JsonProperty("instance_id") String instanceId,
      @JsonProperty("tenant_id") String tenantId,
      @JsonProperty("dp_rank") int dpRank,
      String type,
      String endpoint,
      @JsonProperty("replay_endpoint") String replayEndpoint,
      String state,
      String since,
      @JsonProperty("last_sequence") long lastSequence,
      @JsonProperty("last_message_age_ms") Long lastMessageAgeMs,
      @JsonProperty("partial_since") Long partialSince,
      boolean suspect,
      List<String> problems,
      long messages,
      long duplicates,
      Map<String, Long> events,
      Map<String, Long> refused,
      long gaps,
      long missing,
      long replays,
      long replayed,
      long losses,
      long restarts,
      @JsonProperty("held_bytes") long heldBytes) {
    static Status of(PublisherStatus status, Instant now) {
      Publisher publisher = status.publisher();
      StreamStatus stream = status.stream();
      EventCounts counts = stream.counts();
      Map<String, Long> events = new LinkedHashMap<>();
      for (EventKind kind : EventKind.values()) {
        events.put(kind.label(), counts.applied(kind));
      }
      Map<String, Long> refused = new LinkedHashMap<>();
      for (Refusal reason : Refusal.values()) {
        refused.put(reason.label(), counts.refused(reason));
      }
      return new Status(
          publisher.instanceId(),
          publisher.tenantId(),
          publisher.dpRank(),
          publisher.type().label(),
          publisher.endpoint(),
          publisher.replayEndpoint(),
          stream.state().label(),
          stream.since().toString(),
          stream.lastSequence(),
          stream.lastMessage() == null
              ? null
              : (Long) Math.max(0, Duration.between(stream.lastMessage(), now).toMillis()),
          stream.partialSince() < 0 ? null : (Long) stream.partialSince(),
          stream.suspect(),
          stream.problems(),
          counts.messages(),
          counts.duplicates(),
          events,
          refused,
          counts.gaps(),
          counts.missing(),
          counts.replays(),
          counts.replayed(),
          counts.losses(),
          counts.restarts(),
          stream.heldBytes());
    }
  }

  @RegisterForReflection
  record GlobalView(@JsonProperty("context_count") int contextCount, List<Context> contexts) {
    static GlobalView of(Wire.GlobalView view) {
      return new GlobalView(
          view.contextCount(), view.contexts().stream().map(c -> Context.of(c, null)).toList());
    }

    static GlobalView of(List<ContextView> views) {
      return new GlobalView(views.size(), views.stream().map(Context::of).toList());
    }
  }

  /**
   * A context.
   *
   * @param digest 16 hex digits, the same wherever the same blocks are known of the same instances;
   *     null for a Conductor elsewhere, which has none
   */
  @RegisterForReflection
  record Context(
      @JsonProperty("model_name") String modelName,
      @JsonProperty("lora_name") String loraName,
      @JsonProperty("block_size") long blockSize,
      @JsonProperty("tenant_id") String tenantId,
      @JsonProperty("prefix_count") long prefixCount,
      @JsonInclude(JsonInclude.Include.NON_NULL) String digest,
      @JsonProperty("hash_profile") Profile hashProfile,
      Map<String, Set<Long>> instances) {
    static Context of(ContextView view) {
      return of(LocalConductor.context(view), HexFormat.of().toHexDigits(view.digest()));
    }

    static Context of(Wire.ContextView view, String digest) {
      return new Context(
          view.modelName(),
          view.loraName(),
          view.blockSize(),
          view.tenantId(),
          view.prefixCount(),
          digest,
          Profile.of(view.hashProfile()),
          view.instanceRanks());
    }
  }

  /**
   * The configuration.
   *
   * @param file the path of the file of publishers; null for none
   * @param loaded when that was last applied, ISO 8601
   * @param degraded whether what it says now is refused
   * @param lastRefusal null if there was none
   * @param afterRestart keys whose values in the file count from the next start on
   */
  @RegisterForReflection
  record Configuration(
      String file,
      String loaded,
      boolean degraded,
      @JsonProperty("last_refusal") Refused lastRefusal,
      @JsonProperty("after_restart") List<String> afterRestart,
      List<Setting> settings) {
    static Configuration of(ConfiguredPublishers.InForce inForce) {
      return new Configuration(
          inForce.file(),
          inForce.loaded().toString(),
          inForce.degraded(),
          inForce.lastRefusal() == null ? null : Refused.of(inForce.lastRefusal()),
          inForce.afterRestart(),
          inForce.settings().stream()
              .map(s -> new Setting(s.key(), s.value(), s.origin()))
              .toList());
    }
  }

  /**
   * @param at when, ISO 8601
   */
  @RegisterForReflection
  record Refused(String at, List<String> faults) {
    static Refused of(ConfiguredPublishers.Refusal refusal) {
      return new Refused(
          refusal.at().toString(),
          refusal.faults().stream().map(fault -> fault.toString()).toList());
    }
  }

  /**
   * A value in force.
   *
   * @param value null for none
   * @param origin who gave it
   */
  @RegisterForReflection
  record Setting(String key, String value, String origin) {}

  /**
   * What came of a payload.
   *
   * @param reason why it is not stored; null if it is
   */
  @RegisterForReflection
  record Stored(boolean stored, @JsonInclude(JsonInclude.Include.NON_NULL) String reason) {
    static final Stored YES = new Stored(true, null);
  }

  @RegisterForReflection
  record Miss(String reason) {
    static final Miss MISS = new Miss("miss");
  }

  @RegisterForReflection
  record CanHold(@JsonProperty("can_hold") boolean canHold) {}

  @RegisterForReflection
  record CacheStats(
      @JsonProperty("capacity_bytes") long capacityBytes,
      long entries,
      @JsonProperty("hit_ratio") double hitRatio,
      long hits,
      long lookups,
      @JsonProperty("oversize_rejections") long oversizeRejections,
      @JsonProperty("used_bytes") long usedBytes) {
    static CacheStats of(PromptEmbedsCacheStats stats) {
      return new CacheStats(
          stats.capacityBytes(),
          stats.entries(),
          stats.hitRatio(),
          stats.hits(),
          stats.lookups(),
          stats.oversizeRejections(),
          stats.usedBytes());
    }
  }
}
