package baton.it;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * How an engine writes its batches; vLLM and SGLang have changed it more than once. Batches are
 * trees of maps, lists, numbers, texts and byte arrays, for any MessagePack library to encode.
 *
 * @param engine vLLM or SGLang
 */
record Dialect(String engine, boolean mapBatch, boolean mapEvents, Hashes hashes) {
  enum Hashes {
    UNSIGNED,
    SIGNED,
    BYTES
  }

  static final Dialect VLLM = new Dialect("vLLM", false, true, Hashes.UNSIGNED);
  static final Dialect SGLANG = new Dialect("SGLang", false, true, Hashes.SIGNED);

  /** Every mix of batch form, event form and hash form. */
  static Stream<Dialect> all() {
    return Stream.of("vLLM", "SGLang")
        .flatMap(
            engine ->
                Arrays.stream(Hashes.values())
                    .flatMap(
                        hashes ->
                            Stream.of(
                                new Dialect(engine, false, false, hashes),
                                new Dialect(engine, false, true, hashes),
                                new Dialect(engine, true, false, hashes),
                                new Dialect(engine, true, true, hashes))));
  }

  static Object mooncakeBatch(Object... events) {
    return Arrays.asList(System.currentTimeMillis(), List.of(events), 0);
  }

  Object batch(Object... events) {
    return batchOfRank(null, events);
  }

  Object batchOfRank(Integer rank, Object... events) {
    double now = System.currentTimeMillis() / 1000.0;
    if (!mapBatch) {
      return Arrays.asList(now, List.of(events), rank);
    }
    Map<String, Object> batch = new LinkedHashMap<>();
    batch.put("ts", now);
    batch.put("events", List.of(events));
    if (rank != null) {
      batch.put(isVllm() ? "data_parallel_rank" : "attn_dp_rank", rank);
    }
    return batch;
  }

  /** As a current engine writes it, with all of its fields. */
  Object stored(List<Long> keys, String medium) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("block_hashes", hashes(keys));
    fields.put("parent_block_hash", null);
    fields.put("token_ids", List.of(1, 2, 3, 4));
    fields.put("block_size", Prompt.BLOCK_SIZE);
    fields.put("lora_id", null);
    fields.put("medium", medium);
    if (isVllm()) {
      fields.put("lora_name", null);
      fields.put("extra_keys", Arrays.asList((Object) null));
      fields.put("group_idx", 0);
      fields.put("kv_cache_spec_kind", "full_attention");
      fields.put("kv_cache_spec_sliding_window", null);
    }
    return event("BlockStored", fields);
  }

  Object removed(List<Long> keys, String medium) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("block_hashes", hashes(keys));
    fields.put("medium", medium);
    return event("BlockRemoved", fields);
  }

  Object cleared() {
    return event("AllBlocksCleared", Map.of());
  }

  private Object event(String type, Map<String, Object> fields) {
    if (mapEvents) {
      Map<String, Object> event = new LinkedHashMap<>(Map.of("type", type));
      event.putAll(fields);
      return event;
    }
    List<Object> event = new ArrayList<>(List.of(type));
    event.addAll(fields.values());
    return event;
  }

  private List<Object> hashes(List<Long> keys) {
    return keys.stream().map(this::hash).toList();
  }

  private Object hash(long key) {
    return switch (hashes) {
      case UNSIGNED -> new BigInteger(Long.toUnsignedString(key));
      case SIGNED -> key;
      // A SHA-256, of which vLLM's profile takes the last 8 bytes and SGLang's the first.
      case BYTES -> ByteBuffer.allocate(32).putLong(isVllm() ? 24 : 0, key).array();
    };
  }

  private boolean isVllm() {
    return engine.equals("vLLM");
  }

  @Override
  public String toString() {
    return "%s batch as %s, events as %s, hashes %s"
        .formatted(
            engine,
            mapBatch ? "map" : "array",
            mapEvents ? "maps" : "arrays",
            hashes.name().toLowerCase());
  }
}
