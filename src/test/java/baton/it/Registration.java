package baton.it;

import baton.hash.HashProfile;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** A publisher as a router registers it. */
record Registration(
    String type,
    String endpoint,
    String model,
    String instance,
    String tenant,
    int rank,
    HashProfile profile) {
  private static final AtomicInteger NUMBERS = new AtomicInteger();

  /** A vLLM engine, alone with its model. */
  static Registration vllm(String endpoint) {
    return of("vLLM", endpoint);
  }

  /** An engine of that type, alone with its model. */
  static Registration of(String type, String endpoint) {
    int number = NUMBERS.incrementAndGet();
    HashProfile profile = type.equals("SGLang") ? Prompt.SGLANG : Prompt.VLLM;
    return new Registration(
        type, endpoint, "model-" + number, "engine-" + number, "default", 0, profile);
  }

  /** A Mooncake store's master, whose blocks are those of this engine's kind. */
  Registration pool(String poolEndpoint) {
    return new Registration("Mooncake", poolEndpoint, model, "", tenant, 0, profile);
  }

  /** Another engine with the same model. */
  Registration another(String otherEndpoint) {
    String name = "engine-" + NUMBERS.incrementAndGet();
    return new Registration(type, otherEndpoint, model, name, tenant, 0, profile);
  }

  /** Another data-parallel rank of the same engine. */
  Registration rank(int otherRank, String otherEndpoint) {
    return new Registration(type, otherEndpoint, model, instance, tenant, otherRank, profile);
  }

  Registration tenant(String otherTenant) {
    return new Registration(type, endpoint, model, instance, otherTenant, rank, profile);
  }

  Map<String, Object> body() {
    Map<String, Object> body = key();
    body.put("type", type);
    body.put("endpoint", endpoint);
    body.put("modelname", model);
    body.put("block_size", Prompt.BLOCK_SIZE);
    Map<String, Object> hashing = new LinkedHashMap<>();
    hashing.put("strategy", profile.strategy());
    hashing.put("algorithm", profile.algorithm());
    hashing.put("index_projection", profile.indexProjection());
    hashing.put("python_hash_seed", profile.pythonHashSeed());
    body.put("hash_profile", hashing);
    return body;
  }

  Map<String, Object> key() {
    Map<String, Object> key = new LinkedHashMap<>();
    key.put("instance_id", instance);
    key.put("tenant_id", tenant);
    key.put("dp_rank", rank);
    return key;
  }
}
