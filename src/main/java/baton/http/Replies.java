package baton.http;

import baton.embeds.PromptEmbedsCacheStats;
import baton.rpc.Wire;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.quarkus.runtime.annotations.RegisterForReflection;
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
  record GlobalView(@JsonProperty("context_count") int contextCount, List<Context> contexts) {
    static GlobalView of(Wire.GlobalView view) {
      return new GlobalView(
          view.contextCount(), view.contexts().stream().map(Context::of).toList());
    }
  }

  @RegisterForReflection
  record Context(
      @JsonProperty("model_name") String modelName,
      @JsonProperty("lora_name") String loraName,
      @JsonProperty("block_size") long blockSize,
      @JsonProperty("tenant_id") String tenantId,
      @JsonProperty("prefix_count") long prefixCount,
      @JsonProperty("hash_profile") Profile hashProfile,
      Map<String, Set<Long>> instances) {
    static Context of(Wire.ContextView view) {
      return new Context(
          view.modelName(),
          view.loraName(),
          view.blockSize(),
          view.tenantId(),
          view.prefixCount(),
          Profile.of(view.hashProfile()),
          view.instanceRanks());
    }
  }

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
