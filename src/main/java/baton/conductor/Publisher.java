package baton.conductor;

import baton.hash.HashProfile;
import baton.publisher.PublisherType;

/**
 * A registration: one event stream and what its events mean.
 *
 * @param instanceId the engine instance; may be empty for Mooncake
 * @param replayEndpoint empty for none
 * @param loraName empty for the base model
 * @param tenantId never empty
 * @param blockSize tokens in a block
 * @param cacheGroup null or 0
 */
public record Publisher(
    String endpoint,
    String replayEndpoint,
    PublisherType type,
    String modelName,
    String loraName,
    String tenantId,
    String instanceId,
    long blockSize,
    int dpRank,
    Long cacheGroup,
    HashProfile hashProfile) {

  /**
   * @throws Rejection if a value is not allowed
   */
  public Publisher {
    requireNonempty("endpoint", endpoint);
    Endpoints.require("endpoint", endpoint);
    if (!replayEndpoint.isEmpty()) {
      Endpoints.require("replay_endpoint", replayEndpoint);
    }
    requireNonempty("modelname", modelName);
    if (type != PublisherType.MOONCAKE) {
      requireNonempty("instance_id", instanceId);
    }
    tenantId = ContextKey.tenant(tenantId);
    if (blockSize <= 0) {
      throw Rejection.outOfRange("block_size", "must be above 0, not " + blockSize);
    }
    if (dpRank < 0) {
      throw Rejection.outOfRange("dp_rank", "must be from 0 to 2147483647, not " + dpRank);
    }
    if (cacheGroup != null && cacheGroup != 0) {
      throw Rejection.unsupported("cache_group", "must be null or 0, not " + cacheGroup);
    }
  }

  private static void requireNonempty(String field, String value) {
    if (value.isEmpty()) {
      throw Rejection.invalidValue(field, "must not be empty");
    }
  }

  /** What identifies it. */
  public PublisherKey key() {
    return new PublisherKey(instanceId, tenantId, dpRank);
  }

  ContextKey context() {
    return new ContextKey(tenantId, modelName, loraName, blockSize);
  }

  boolean isEngine() {
    return type != PublisherType.MOONCAKE;
  }
}
