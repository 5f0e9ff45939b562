package baton.it;

import java.math.BigInteger;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The events of a Mooncake store's master, as the trees that {@link Dialect} describes. */
final class PoolEvent {
  private PoolEvent() {}

  /** An object of the pool that holds one block; the master names it as vLLM's connector does. */
  static Map<String, Object> stored(
      String model, String backend, String tenant, long key, String medium) {
    Map<String, Object> event = object("stored", model, backend, tenant, key, medium);
    event.put("parent_hash", null);
    event.put("token_ids", List.of(1, 2, 3, 4));
    return event;
  }

  static Map<String, Object> removed(
      String model, String backend, String tenant, long key, String medium) {
    return object("removed", model, backend, tenant, key, medium);
  }

  static Map<String, Object> cleared(String backend, String tenant) {
    return common("cleared", null, backend, tenant);
  }

  private static Map<String, Object> object(
      String type, String model, String backend, String tenant, long key, String medium) {
    String hash = "ab".repeat(24) + "%016x".formatted(key);
    Map<String, Object> event = common(type, model, backend, tenant);
    event.put("medium", medium);
    event.put("group_id", null);
    event.put("object_key", model + "@" + hash + "@0");
    event.put("connector_block_hash", hash);
    event.put("seq_hashes", List.of(new BigInteger(Long.toUnsignedString(key))));
    event.put("base_block_idx", 0);
    return event;
  }

  private static Map<String, Object> common(
      String type, String model, String backend, String tenant) {
    Map<String, Object> event = new LinkedHashMap<>();
    event.put("event_type", type);
    event.put("event_id", 1);
    event.put("timestamp", System.currentTimeMillis());
    event.put("model_name", model);
    event.put("block_size", Prompt.BLOCK_SIZE);
    event.put("additional_salt", null);
    event.put("lora_name", null);
    event.put("tenant_id", tenant);
    event.put("backend_id", backend);
    event.put("dp_rank", 0);
    return event;
  }
}
