package baton.config;

import baton.conductor.Claims;
import baton.conductor.Publisher;
import baton.conductor.Rejection;
import baton.hash.HashProfile;
import baton.hash.InvalidHashProfile;
import baton.publisher.PublisherType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * Makes publishers of named entries, and finds all that is wrong with them: what a registration
 * refuses one by one is put right here for the moment, to find the next.
 */
final class PublisherEntries {
  private final Claims claims;
  private final Map<String, Publisher> publishers = new LinkedHashMap<>();
  private final List<Fault> faults = new ArrayList<>();

  /**
   * @param claims empty ones
   */
  PublisherEntries(Claims claims) {
    this.claims = claims;
  }

  /** What came of the entries without a fault, by name. */
  Map<String, Publisher> publishers() {
    return publishers;
  }

  List<Fault> faults() {
    return faults;
  }

  /**
   * @param where the entry, for what it lacks
   * @param fields as in {@link Key#PUBLISHER_FIELDS}
   */
  void add(String name, String where, Map<String, Given> fields) {
    Entry entry = new Entry(name, where, fields);
    Publisher publisher = entry.publisher();
    for (Rejection rejection : claims.against(publisher)) {
      entry.tell(rejection, publisher);
    }
    claims.add(publisher);
    if (entry.isSound()) {
      publishers.put(name, publisher);
    }
    faults.addAll(entry.faults);
  }

  /** What tells publishers apart. */
  private static final Set<String> IDENTITY = Set.of("instance_id", "tenant_id", "dp_rank");

  /** What tells contexts apart, and what an engine binds its context to. */
  private static final Set<String> CONTEXT =
      Set.of("hash_profile", "type", "tenant_id", "modelname", "lora_name", "block_size");

  /** One entry, on its way to be a publisher. */
  private static final class Entry {
    private final String name;
    private final String where;
    private final Map<String, Given> given;
    private final Map<String, String> values = new HashMap<>();

    /** Fields whose values here are not the operator's. */
    private final Set<String> replaced = new HashSet<>();

    private final List<Fault> faults = new ArrayList<>();

    Entry(String name, String where, Map<String, Given> given) {
      this.name = name;
      this.where = where;
      this.given = given;
    }

    /** The publisher that is meant, or, if there are faults, one that clashes with nobody's. */
    Publisher publisher() {
      if (name.isBlank()) {
        faults.add(new Fault(where, "has no name"));
      }
      take("endpoint", null);
      take("replay_endpoint", "");
      take("type", null);
      take("modelname", null);
      take("lora_name", "");
      take("tenant_id", "");
      take("instance_id", name);
      take("block_size", null);
      take("dp_rank", null);
      take("cache_group", "");
      requireNumber("block_size", 1, Long.MAX_VALUE);
      requireNumber("dp_rank", 0, Integer.MAX_VALUE);
      if (!values.get("cache_group").isEmpty()) {
        requireNumber("cache_group", Long.MIN_VALUE, Long.MAX_VALUE);
      }
      if (PublisherType.of(values.get("type")) == null) {
        refuse("type", "must be vLLM, SGLang or Mooncake" + Key.not(values.get("type")));
      }
      HashProfile profile = profile();
      while (true) {
        try {
          make(profile);
          standApart();
          return make(profile);
        } catch (Rejection e) {
          refuse(e.field(), e.getMessage());
        }
      }
    }

    private Publisher make(HashProfile profile) {
      String group = values.get("cache_group");
      return new Publisher(
          values.get("endpoint"),
          values.get("replay_endpoint"),
          PublisherType.of(values.get("type")),
          values.get("modelname"),
          values.get("lora_name"),
          values.get("tenant_id"),
          values.get("instance_id"),
          number("block_size"),
          (int) number("dp_rank"),
          group.isEmpty() ? null : (Long) number("cache_group"),
          profile);
    }

    /** What is not known must not be what another entry has by chance. */
    private void standApart() {
      if (replaced.stream().anyMatch(IDENTITY::contains)) {
        values.put("instance_id", UUID.randomUUID().toString());
      }
      if (replaced.stream().anyMatch(CONTEXT::contains)) {
        values.put("modelname", UUID.randomUUID().toString());
      }
    }

    private HashProfile profile() {
      take("hash_profile.algorithm", null);
      take("hash_profile.python_hash_seed", isVllm() ? null : "");
      take("hash_profile.index_projection", null);
      take("hash_profile.strategy", null);
      while (true) {
        try {
          return new HashProfile(
              values.get("hash_profile.strategy"),
              values.get("hash_profile.algorithm"),
              values.get("hash_profile.python_hash_seed"),
              values.get("hash_profile.index_projection"));
        } catch (InvalidHashProfile e) {
          refuse("hash_profile." + e.field(), e.getMessage());
        }
      }
    }

    /**
     * @param absent the value if none is given; null if one is needed
     */
    private void take(String field, String absent) {
      Given value = given.get(field.replace('_', '-'));
      if (value != null && !value.isRefused()) {
        values.put(field, value.value());
      } else if (value == null && absent != null) {
        values.put(field, absent);
      } else {
        if (value == null) {
          faults.add(new Fault(where, field + " is missing"));
        }
        replace(field);
      }
    }

    private void requireNumber(String field, long min, long max) {
      String problem = Numbers.problem(values.get(field), min, max);
      if (problem != null) {
        refuse(field, problem);
      }
    }

    private long number(String field) {
      return Long.parseLong(values.get(field).strip());
    }

    private void refuse(String field, String problem) {
      String value = values.get(field);
      tell(field, withValue(problem, value));
      replace(field);
    }

    private void tell(String field, String problem) {
      Given value = given.get(field.replace('_', '-'));
      faults.add(value == null ? new Fault(where, problem) : value.fault(problem));
    }

    /** A problem with the value, if it does not show that itself. */
    private static String withValue(String problem, String value) {
      if (problem.contains(", not \"")
          || problem.endsWith(", not " + value)
          || problem.endsWith("not be empty")
          || problem.contains(" " + value + " ")) {
        return problem;
      }
      return problem + (problem.contains(" must ") ? Key.not(value) : ": " + Key.quoted(value));
    }

    /** Puts a sound value in a field's place. */
    private void replace(String field) {
      replaced.add(field.startsWith("hash_profile.") ? "hash_profile" : field);
      values.put(
          field,
          switch (field) {
            case "endpoint" -> "ipc://" + UUID.randomUUID();
            case "replay_endpoint", "tenant_id", "cache_group" -> "";
            // It needs no name of an engine.
            case "type" -> "Mooncake";
            case "block_size" -> "1";
            case "dp_rank", "hash_profile.python_hash_seed" -> "0";
            case "hash_profile.strategy" -> "sglang";
            case "hash_profile.algorithm" -> isVllm() ? "sha256" : "sha256_raw";
            case "hash_profile.index_projection" -> isVllm() ? "low64_be" : "first64_be";
            default -> UUID.randomUUID().toString();
          });
      if (field.equals("hash_profile.strategy")) {
        // Whether the others are right cannot be told without it.
        values.put("hash_profile.algorithm", "sha256_raw");
        values.put("hash_profile.index_projection", "first64_be");
      }
    }

    private boolean isVllm() {
      Given strategy = given.get("hash-profile.strategy");
      return strategy != null && "vllm_v1".equals(strategy.value());
    }

    /** Tells what other entries, or what is allowed here, have against it. */
    void tell(Rejection rejection, Publisher publisher) {
      String problem = rejection.getMessage();
      String field = rejection.field();
      if (rejection.reason() == Rejection.Reason.UNAVAILABLE) {
        tell("endpoint", problem);
      } else if (field == null) {
        tell("instance_id", "publisher " + publisher.key() + " is the one of another entry too");
      } else if (field.equals("hash_profile")) {
        tell("hash_profile.strategy", problem);
      } else if (!replaced.contains(field)) {
        tell(field, withValue(problem, values.get(field)));
      }
    }

    /** False if it has a fault, one that was told before included. */
    boolean isSound() {
      return faults.isEmpty() && replaced.isEmpty();
    }
  }
}
