package baton.http;

import baton.conductor.ContextKey;
import baton.conductor.HashQuery;
import baton.conductor.Publisher;
import baton.conductor.PublisherKey;
import baton.hash.HashProfile;
import baton.hash.InvalidHashProfile;
import baton.publisher.PublisherType;
import baton.rpc.Wire.QueryRequest;

/** The fields of each request, read in whatever order they come. */
final class Requests {
  private Requests() {}

  static Publisher register(BodyReader body) {
    String endpoint = null;
    String replayEndpoint = "";
    String type = null;
    String model = null;
    String lora = "";
    String tenant = "";
    String instance = null;
    Long blockSize = null;
    Long rank = null;
    Long group = null;
    HashProfile profile = null;
    body.beginObject(null);
    for (String field = body.nextField(); field != null; field = body.nextField()) {
      switch (field) {
        case "endpoint" -> endpoint = body.string(field);
        case "replay_endpoint" -> replayEndpoint = body.string(field);
        case "type" -> type = body.string(field);
        case "modelname" -> model = body.string(field);
        case "lora_name" -> lora = body.string(field);
        case "tenant_id" -> tenant = body.string(field);
        case "instance_id" -> instance = body.string(field);
        case "block_size" -> blockSize = body.integer(field);
        case "dp_rank" -> rank = body.integer(field);
        case "cache_group" -> group = body.tryNull() ? null : (Long) body.integer(field);
        case "hash_profile" -> profile = hashProfile(body);
        default -> throw BodyReader.unknownField("", field);
      }
    }
    body.end();
    PublisherType publisherType = publisherType(required("type", type));
    return new Publisher(
        required("endpoint", endpoint),
        replayEndpoint,
        publisherType,
        required("modelname", model),
        lora,
        tenant,
        publisherType == PublisherType.MOONCAKE && instance == null
            ? ""
            : required("instance_id", instance),
        required("block_size", blockSize),
        int32("dp_rank", required("dp_rank", rank)),
        group,
        required("hash_profile", profile));
  }

  private static PublisherType publisherType(String name) {
    PublisherType type = PublisherType.of(name);
    if (type == null) {
      throw BadRequest.field("invalid_value", "type", "must be vLLM, SGLang or Mooncake");
    }
    return type;
  }

  private static HashProfile hashProfile(BodyReader body) {
    String strategy = null;
    String algorithm = null;
    String seed = null;
    String projection = null;
    body.beginObject("hash_profile");
    for (String field = body.nextField(); field != null; field = body.nextField()) {
      String path = "hash_profile." + field;
      switch (field) {
        case "strategy" -> strategy = body.string(path);
        case "algorithm" -> algorithm = body.string(path);
        case "python_hash_seed" -> seed = body.string(path);
        case "index_projection" -> projection = body.string(path);
        default -> throw BodyReader.unknownField("hash_profile.", field);
      }
    }
    required("hash_profile.strategy", strategy);
    if (strategy.equals("vllm_v1")) {
      required("hash_profile.python_hash_seed", seed);
    }
    try {
      return new HashProfile(
          strategy,
          required("hash_profile.algorithm", algorithm),
          seed,
          required("hash_profile.index_projection", projection));
    } catch (InvalidHashProfile e) {
      String reason = e.isUnsupported() ? "unsupported" : "invalid_value";
      throw BadRequest.field(
          reason, "hash_profile." + e.field(), "is not supported: " + e.getMessage());
    }
  }

  static PublisherKey unregister(BodyReader body) {
    String tenant = "";
    String instance = null;
    Long rank = null;
    body.beginObject(null);
    for (String field = body.nextField(); field != null; field = body.nextField()) {
      switch (field) {
        case "instance_id" -> instance = body.string(field);
        case "tenant_id" -> tenant = body.string(field);
        case "dp_rank" -> rank = body.integer(field);
        default -> throw BodyReader.unknownField("", field);
      }
    }
    body.end();
    return new PublisherKey(
        required("instance_id", instance),
        ContextKey.tenant(tenant),
        int32("dp_rank", required("dp_rank", rank)));
  }

  static QueryRequest query(BodyReader body) {
    QueryFields fields = new QueryFields();
    int[] tokens = null;
    body.beginObject(null);
    for (String field = body.nextField(); field != null; field = body.nextField()) {
      if (field.equals("token_ids")) {
        tokens = body.tokens(field);
      } else {
        fields.read(field, body);
      }
    }
    body.end();
    ContextKey context = fields.context();
    return new QueryRequest(
        context.tenantId(),
        context.modelName(),
        context.loraName(),
        context.blockSize(),
        required("token_ids", tokens),
        emptyToAbsent(fields.salt),
        emptyToAbsent(fields.instance));
  }

  private static String emptyToAbsent(String text) {
    return text.isEmpty() ? null : text;
  }

  static HashQuery queryByHash(BodyReader body) {
    QueryFields fields = new QueryFields();
    long[] keys = null;
    body.beginObject(null);
    for (String field = body.nextField(); field != null; field = body.nextField()) {
      if (field.equals("seq_hashes") || field.equals("block_hash")) {
        if (keys != null) {
          throw BadRequest.field("invalid_value", field, "is given under both of its names");
        }
        keys = body.hashes(field);
      } else {
        fields.read(field, body);
      }
    }
    body.end();
    return new HashQuery(fields.context(), required("seq_hashes", keys), fields.instance);
  }

  /** What both kinds of query have in common. */
  private static final class QueryFields {
    String model;
    String lora = "";
    String tenant = "";
    String salt = "";
    String instance = "";
    Long blockSize;

    void read(String field, BodyReader body) {
      switch (field) {
        case "model" -> model = body.string(field);
        case "block_size" -> blockSize = body.integer(field);
        case "lora_name" -> lora = body.string(field);
        case "tenant_id" -> tenant = body.string(field);
        case "cache_salt" -> salt = body.tryNull() ? "" : body.string(field);
        case "instance_id" -> instance = body.string(field);
        default -> throw BodyReader.unknownField("", field);
      }
    }

    ContextKey context() {
      if (required("model", model).isEmpty()) {
        throw BadRequest.field("invalid_value", "model", "must not be empty");
      }
      if (required("block_size", blockSize) <= 0) {
        throw BadRequest.field("out_of_range", "block_size", "must be above 0, not " + blockSize);
      }
      return new ContextKey(ContextKey.tenant(tenant), model, lora, blockSize);
    }
  }

  private static <T> T required(String field, T value) {
    if (value == null) {
      throw BadRequest.missing(field);
    }
    return value;
  }

  private static int int32(String field, long value) {
    if (value < 0 || value > Integer.MAX_VALUE) {
      throw BadRequest.field("out_of_range", field, "must be from 0 to 2147483647, not " + value);
    }
    return (int) value;
  }
}
