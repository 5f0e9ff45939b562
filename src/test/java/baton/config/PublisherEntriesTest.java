package baton.config;

import static org.assertj.core.api.Assertions.assertThat;

import baton.conductor.Claims;
import baton.conductor.Publisher;
import baton.hash.HashProfile;
import baton.publisher.PublisherType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is said of entries with faults, and what becomes of those without. */
@Timeout(30)
class PublisherEntriesTest {
  /**
   * Something that may be wrong with one field.
   *
   * @param value null for none at all
   */
  record Wrong(String field, String value) {}

  /** For an entry of an engine with vLLM's profile. */
  static final List<Wrong> FAULTS = faultList();

  private static List<Wrong> faultList() {
    List<Wrong> faults = new ArrayList<>();
    Map<String, List<String>> values = new LinkedHashMap<>();
    List<String> noEndpoints =
        List.of(
            "tcp://h",
            "tcp://h:0",
            "tcp://h:65536",
            "tcp://h:x",
            "udp://h:1",
            "h:1",
            "tcp://a*:1",
            " tcp://h:1",
            "inproc://x",
            "tcp://169.254.169.254:80");
    values.put("endpoint", noEndpoints);
    values.put("replay-endpoint", noEndpoints);
    values.put("type", List.of("", "vllm", "VLLM", "vLLM ", "TensorRT"));
    values.put("modelname", List.of(""));
    values.put("instance-id", List.of(""));
    values.put("block-size", List.of("", "0", "-1", "x", "1.5", "0x10", "9223372036854775808"));
    values.put("dp-rank", List.of("", "-1", "2147483648", "x", "0.0"));
    values.put("cache-group", List.of("1", "-1", "x", "0.0"));
    values.put("hash-profile.strategy", List.of("", "vllm", "VLLM_V1", "v2"));
    values.put("hash-profile.algorithm", List.of("", "md5", "sha256_raw"));
    values.put("hash-profile.python-hash-seed", List.of("", "-1", "4294967296", "0x0", "Random"));
    values.put("hash-profile.index-projection", List.of("", "first64_be", "low64"));
    values.forEach((field, wrong) -> wrong.forEach(value -> faults.add(new Wrong(field, value))));
    for (String needed :
        List.of(
            "endpoint",
            "type",
            "modelname",
            "block-size",
            "dp-rank",
            "hash-profile.strategy",
            "hash-profile.algorithm",
            "hash-profile.python-hash-seed",
            "hash-profile.index-projection")) {
      faults.add(new Wrong(needed, null));
    }
    return faults;
  }

  /** A sound entry; any two with other numbers go well together, in one context. */
  private static Map<String, String> engine(int number) {
    Map<String, String> fields = new LinkedHashMap<>();
    fields.put("endpoint", "tcp://host-" + number + ":5557");
    fields.put("type", "vLLM");
    fields.put("modelname", "m");
    fields.put("block-size", "16");
    fields.put("dp-rank", "0");
    fields.put("hash-profile.strategy", "vllm_v1");
    fields.put("hash-profile.algorithm", "sha256_cbor");
    fields.put("hash-profile.python-hash-seed", "0");
    fields.put("hash-profile.index-projection", "low64_be");
    return fields;
  }

  private static Map<String, String> with(Map<String, String> fields, String... changes) {
    Map<String, String> changed = new LinkedHashMap<>(fields);
    for (int i = 0; i < changes.length; i += 2) {
      if (changes[i + 1] == null) {
        changed.remove(changes[i]);
      } else {
        changed.put(changes[i], changes[i + 1]);
      }
    }
    return changed;
  }

  private static Map<String, String> with(Map<String, String> fields, Wrong wrong) {
    return with(fields, wrong.field(), wrong.value());
  }

  private static String where(String name, String field) {
    return "baton.publishers." + name + "." + field + " in test";
  }

  /** Looked at by those who allow some endpoints, and some number of publishers. */
  private static PublisherEntries entries(
      int limit, String allowed, Map<String, Map<String, String>> all) {
    var entries = new PublisherEntries(new Claims(limit, List.of(allowed.split(","))));
    all.forEach(
        (name, fields) -> {
          Map<String, Given> given = new LinkedHashMap<>();
          fields.forEach(
              (field, value) ->
                  given.put(field, new Given(value, where(name, field), "test", 100)));
          entries.add(name, "publisher " + name + " in test", given);
        });
    return entries;
  }

  private static PublisherEntries entries(Map<String, Map<String, String>> all) {
    return entries(100, "tcp://*,ipc://*", all);
  }

  private static PublisherEntries entry(Map<String, String> fields) {
    return entries(Map.of("a", fields));
  }

  private static PublisherEntries pair(Map<String, String> a, Map<String, String> b) {
    Map<String, Map<String, String>> both = new LinkedHashMap<>();
    both.put("a", a);
    both.put("b", b);
    return entries(both);
  }

  private static String fault(PublisherEntries entries) {
    assertThat(entries.faults()).hasSize(1);
    return entries.faults().get(0).toString();
  }

  private static void assertTells(String fault, String name, Wrong wrong) {
    if (wrong.value() == null) {
      assertThat(fault)
          .isEqualTo(
              "publisher " + name + " in test: " + wrong.field().replace('-', '_') + " is missing");
    } else {
      assertThat(fault).startsWith(where(name, wrong.field()) + ": ").contains(wrong.value());
      if (wrong.value().isEmpty()) {
        assertThat(fault).containsAnyOf("not be empty", "not \"\"");
      }
    }
  }

  // One entry.

  @Test
  void entry_withNothingOptional_hasTheDefaults() {
    PublisherEntries entries = entry(engine(1));

    assertThat(entries.faults()).isEmpty();
    assertThat(entries.publishers())
        .containsExactly(
            Map.entry(
                "a",
                new Publisher(
                    "tcp://host-1:5557",
                    "",
                    PublisherType.VLLM,
                    "m",
                    "",
                    "default",
                    "a",
                    16,
                    0,
                    null,
                    new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be"))));
  }

  @Test
  void entry_withEverything_hasIt() {
    PublisherEntries entries =
        entry(
            with(
                engine(1),
                "replay-endpoint",
                "tcp://host-1:5558",
                "lora-name",
                "l",
                "tenant-id",
                "t",
                "instance-id",
                "i",
                "cache-group",
                "0",
                "dp-rank",
                "2147483647",
                "block-size",
                " 32 "));

    assertThat(entries.faults()).isEmpty();
    Publisher publisher = entries.publishers().get("a");
    assertThat(publisher.key()).hasToString("i|t|2147483647");
    assertThat(publisher.replayEndpoint()).isEqualTo("tcp://host-1:5558");
    assertThat(publisher.loraName()).isEqualTo("l");
    assertThat(publisher.cacheGroup()).isZero();
    assertThat(publisher.blockSize()).isEqualTo(32);
  }

  @Test
  void tenant_thatIsEmpty_isTheDefaultOne() {
    assertThat(entry(with(engine(1), "tenant-id", "")).publishers().get("a").tenantId())
        .isEqualTo("default");
  }

  @Test
  void mooncake_hasTheEntrysNameOrNone() {
    var named = entry(with(engine(1), "type", "Mooncake"));
    assertThat(named.publishers().get("a").key()).hasToString("a|default|0");

    var nameless = entry(with(engine(1), "type", "Mooncake", "instance-id", ""));
    assertThat(nameless.faults()).isEmpty();
    assertThat(nameless.publishers().get("a").key()).hasToString("|default|0");
  }

  @ParameterizedTest
  @ValueSource(strings = {"sglang", "sglang_bigram"})
  void sglang_needsNoSeed(String strategy) {
    PublisherEntries entries =
        entry(
            with(
                engine(1),
                "type",
                "SGLang",
                "hash-profile.strategy",
                strategy,
                "hash-profile.algorithm",
                "sha256_raw",
                "hash-profile.index-projection",
                "first64_be",
                "hash-profile.python-hash-seed",
                null));

    assertThat(entries.faults()).isEmpty();
    assertThat(entries.publishers().get("a").hashProfile())
        .isEqualTo(new HashProfile(strategy, "sha256_raw", "0", "first64_be"));
  }

  @ParameterizedTest
  @FieldSource("FAULTS")
  void fault_alone_isToldOnceWithEntryFieldAndValue(Wrong wrong) {
    PublisherEntries entries = entry(with(engine(1), wrong));

    assertTells(fault(entries), "a", wrong);
    assertThat(entries.publishers()).isEmpty();
  }

  @Test
  void entry_thatIsEmpty_lacksAllThatIsNeeded() {
    assertThat(entry(Map.of()).faults())
        .extracting(Fault::problem)
        .containsExactlyInAnyOrder(
            "endpoint is missing",
            "type is missing",
            "modelname is missing",
            "block_size is missing",
            "dp_rank is missing",
            "hash_profile.strategy is missing",
            "hash_profile.algorithm is missing",
            "hash_profile.index_projection is missing");
  }

  @Test
  void entry_thatIsAllWrong_isToldAllOfIt() {
    // Whether algorithm and projection are right depends on the strategy, so they are not judged.
    Map<String, String> fields = new LinkedHashMap<>();
    for (Wrong wrong : FAULTS) {
      if (wrong.value() != null) {
        fields.putIfAbsent(wrong.field(), wrong.value());
      }
    }
    fields.put("type", "vllm");
    fields.put("hash-profile.strategy", "vllm_v1");

    assertThat(entry(fields).faults())
        .extracting(Fault::where)
        .containsExactlyInAnyOrderElementsOf(
            fields.keySet().stream()
                // A pool's publisher may go without.
                .filter(f -> !Set.of("instance-id", "hash-profile.strategy").contains(f))
                .map(f -> where("a", f))
                .toList());
  }

  @Test
  void value_thatWasRefusedBefore_isNotToldAgain() {
    for (String field : Key.PUBLISHER_FIELDS) {
      PublisherEntries entries = entry(withRefused(engine(1), field));
      assertThat(entries.faults()).as(field).isEmpty();
      assertThat(entries.publishers()).as("it is made up: " + field).isEmpty();
    }
  }

  private static Map<String, String> withRefused(Map<String, String> fields, String field) {
    Map<String, String> changed = new LinkedHashMap<>(fields);
    changed.put(field, Given.REFUSED);
    return changed;
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "\t"})
  void name_thatIsBlank_isRefused(String name) {
    for (Map<String, String> fields :
        List.of(engine(1), Map.<String, String>of(), with(engine(1), "modelname", ""))) {
      PublisherEntries entries = entries(Map.of(name, fields));
      assertThat(entries.faults()).extracting(Fault::problem).contains("has no name");
      assertThat(entries.publishers()).isEmpty();
    }
  }

  @Test
  void longValue_isShownShortened() {
    for (String field : List.of("endpoint", "type", "block-size", "hash-profile.strategy")) {
      String value = "x".repeat(100_000);
      assertThat(fault(entry(with(engine(1), field, value)))).hasSizeLessThan(250).contains("xx…");
    }
  }

  // What entries do to each other.

  @Test
  void key_ofTwoEntries_isRefused() {
    PublisherEntries entries =
        pair(with(engine(1), "instance-id", "x"), with(engine(2), "instance-id", "x"));

    assertThat(fault(entries))
        .startsWith(where("b", "instance-id"))
        .contains("publisher x|default|0 is the one of another entry too");
    assertThat(entries.publishers()).containsOnlyKeys("a");
  }

  @Test
  void key_thatIsAnothersName_isRefused() {
    assertThat(fault(pair(engine(1), with(engine(2), "instance-id", "a"))))
        .contains("a|default|0 is the one of another entry too");
  }

  @Test
  void entry_thatIsThereTwice_isOneFault() {
    assertThat(
            fault(pair(with(engine(1), "instance-id", "x"), with(engine(1), "instance-id", "x"))))
        .contains("x|default|0 is the one of another entry too");
  }

  @ParameterizedTest
  @CsvSource({
    "tcp://host:5557, tcp://host:5557",
    "tcp://host:5557, tcp://HOST:5557",
    "tcp://host:5557, tcp://host:05557",
    "tcp://*:5557, tcp://*:05557",
    "tcp://[::1]:5557, tcp://[::1]:05557",
    "tcp://[fd00::A]:5557, tcp://[fd00::a]:5557",
    "ipc:///tmp/x, ipc:///tmp/x"
  })
  void endpoint_ofTwoEntries_isRefusedInAnySpelling(String one, String other) {
    assertThat(fault(pair(with(engine(1), "endpoint", one), with(engine(2), "endpoint", other))))
        .startsWith(where("b", "endpoint"))
        .contains(other)
        .contains("is registered as a|default|0");
  }

  @Test
  void hashProfile_thatItsContextDoesNotHave_isRefused() {
    PublisherEntries entries =
        pair(engine(1), with(engine(2), "hash-profile.python-hash-seed", "1"));

    assertThat(fault(entries))
        .startsWith("baton.publishers.b.hash-profile.")
        .contains("bound to another hash profile");
  }

  @ParameterizedTest
  @ValueSource(strings = {"modelname", "lora-name", "tenant-id", "block-size"})
  void hashProfile_inAnotherContext_isFine(String differs) {
    PublisherEntries entries =
        pair(engine(1), with(engine(2), "hash-profile.python-hash-seed", "1", differs, "4"));

    assertThat(entries.faults()).isEmpty();
    assertThat(entries.publishers()).hasSize(2);
  }

  @Test
  void endpoint_thatIsNotAllowed_isRefusedAndNamed() {
    Map<String, String> fields =
        with(engine(1), "replay-endpoint", "tcp://elsewhere:1", "endpoint", "tcp://10.1.1.1:1");
    assertThat(entries(10, "tcp://10.*,ipc:///run/*", Map.of("a", fields)).faults())
        .extracting(Fault::toString)
        .singleElement()
        .asString()
        .startsWith(where("a", "replay-endpoint"))
        .contains("not among the endpoints", "tcp://elsewhere:1");

    fields.put("endpoint", "tcp://110.1.1.1:1");
    assertThat(entries(10, "tcp://10.*", Map.of("a", fields)).faults()).hasSize(2);
  }

  @Test
  void endpoint_thatIsWrong_isNotRefusedForWhatStandsInItsPlace() {
    for (String value : new String[] {null, "", "h:1"}) {
      assertThat(
              entries(10, "tcp://host-*", Map.of("a", with(engine(1), "endpoint", value))).faults())
          .hasSize(1);
    }
  }

  @Test
  void publishers_beyondTheLimit_areRefused() {
    Map<String, Map<String, String>> all = new LinkedHashMap<>();
    for (int i = 0; i < 5; i++) {
      all.put("e" + i, engine(i));
    }
    PublisherEntries entries = entries(3, "*", all);

    assertThat(entries.faults())
        .extracting(Fault::toString)
        .containsExactly(
            where("e3", "endpoint") + ": the limit of 3 publishers is reached",
            where("e4", "endpoint") + ": the limit of 3 publishers is reached");
    assertThat(entries.publishers()).containsOnlyKeys("e0", "e1", "e2");
  }

  @ParameterizedTest
  @FieldSource("FAULTS")
  void fault_ofOne_isNoneOfAnother(Wrong wrong) {
    // The second one has what might be put in place of what is wrong with the first.
    List<Map<String, String>> others =
        List.of(
            engine(2),
            with(engine(2), "hash-profile.python-hash-seed", "1"),
            with(engine(2), "instance-id", "a", "dp-rank", "1"),
            with(engine(2), "instance-id", "a", "tenant-id", "t"),
            with(engine(2), "modelname", "a", "hash-profile.python-hash-seed", "1"),
            with(engine(2), "block-size", "1", "hash-profile.python-hash-seed", "1"),
            with(engine(2), "type", "Mooncake", "hash-profile.python-hash-seed", "1"));
    for (Map<String, String> other : others) {
      if (!entry(with(engine(1), wrong)).faults().isEmpty()
          && pair(engine(1), other).faults().isEmpty()) {
        assertTells(fault(pair(with(engine(1), wrong), other)), "a", wrong);
        assertTells(fault(pairReversed(with(engine(1), wrong), other)), "a", wrong);
      }
    }
  }

  private static PublisherEntries pairReversed(Map<String, String> a, Map<String, String> b) {
    Map<String, Map<String, String>> both = new LinkedHashMap<>();
    both.put("b", b);
    both.put("a", a);
    return entries(both);
  }

  @Test
  void fault_thatHidesWhatItIs_bindsNothing() {
    // An engine's context is bound to its profile; of these nobody knows context or profile.
    Map<String, String> other = with(engine(2), "hash-profile.python-hash-seed", "1");
    for (String field :
        List.of(
            "type",
            "modelname",
            "block-size",
            "hash-profile.strategy",
            "hash-profile.algorithm",
            "hash-profile.python-hash-seed",
            "hash-profile.index-projection")) {
      Wrong wrong = new Wrong(field, null);
      assertTells(fault(pair(with(engine(1), wrong), other)), "a", wrong);
    }
    assertThat(pair(withRefused(engine(1), "tenant-id"), other).faults()).isEmpty();
    assertThat(pair(withRefused(engine(1), "lora-name"), other).faults()).isEmpty();
  }

  @Test
  void fault_thatHidesWhoItIs_takesNobodysKey() {
    Map<String, String> other = with(engine(2), "instance-id", "a");
    for (String field : List.of("instance-id", "tenant-id", "dp-rank")) {
      assertThat(pair(withRefused(engine(1), field), other).faults()).as(field).isEmpty();
    }
  }

  // All of it together.

  /** One fault for each of some of the fields. */
  @Provide
  Arbitrary<Map<String, Wrong>> wrongs() {
    // Two that are not allowed, but are endpoints, may be the same, which is a fault too.
    return Arbitraries.of(FAULTS)
        .filter(wrong -> !"tcp://169.254.169.254:80".equals(wrong.value()))
        .list()
        .ofMaxSize(6)
        .map(
            list -> {
              Map<String, Wrong> byField = new LinkedHashMap<>();
              list.forEach(wrong -> byField.put(wrong.field(), wrong));
              // Without a strategy nobody can tell whether the others are right.
              if (byField.containsKey("hash-profile.strategy")) {
                byField.keySet().removeIf(f -> f.matches("hash-profile\\.(?!strategy).*"));
              }
              // A pool's publisher needs no name, and without a type it may be one.
              if (byField.containsKey("type")) {
                byField.remove("instance-id");
              }
              return byField;
            });
  }

  @Property(tries = 2000)
  void anyFaults_inThreeEntries_areToldOneByOne(
      @ForAll("wrongs") Map<String, Wrong> first,
      @ForAll("wrongs") Map<String, Wrong> second,
      @ForAll("wrongs") Map<String, Wrong> third) {
    List<Map<String, Wrong>> wrongs = List.of(first, second, third);
    Map<String, Map<String, String>> all = new LinkedHashMap<>();
    for (int i = 0; i < wrongs.size(); i++) {
      Map<String, String> fields = engine(i);
      for (Wrong wrong : wrongs.get(i).values()) {
        fields = with(fields, wrong);
      }
      all.put("e" + i, fields);
    }
    PublisherEntries entries = entries(all);
    List<String> told = new ArrayList<>(entries.faults().stream().map(Fault::toString).toList());
    for (int i = 0; i < wrongs.size(); i++) {
      String name = "e" + i;
      assertThat(entries.publishers().containsKey(name)).isEqualTo(wrongs.get(i).isEmpty());
      for (Wrong wrong : wrongs.get(i).values()) {
        String start =
            wrong.value() == null
                ? "publisher " + name + " in test: " + wrong.field().replace('-', '_')
                : where(name, wrong.field()) + ": ";
        assertThat(told).as("%s of %s", wrong, name).anyMatch(fault -> fault.startsWith(start));
        told.remove(told.stream().filter(fault -> fault.startsWith(start)).findFirst().get());
      }
    }
    assertThat(told).as("made up").isEmpty();
  }
}
