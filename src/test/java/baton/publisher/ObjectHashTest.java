package baton.publisher;

import static baton.publisher.TestStream.map;
import static baton.publisher.TestStream.with;
import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which block a pool's object is: every key layout of the engines' connectors. */
class ObjectHashTest {
  private static final String HASH =
      "00112233445566778899aabbccddeeff" + "0123456789abcdeffedcba9876543210";
  private static final long LAST = 0xfedcba9876543210L;
  private static final long FIRST = 0x0011223344556677L;

  private static ObjectHash vllm(String key) {
    return ObjectHash.of(key.replace("HASH", HASH), TestStream.VLLM);
  }

  private static ObjectHash sglang(String key) {
    return ObjectHash.of(key.replace("HASH", HASH), TestStream.SGLANG);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "m@HASH@0",
        "org/model-7b@HASH@15",
        "@HASH@0",
        "m@0@HASH@3",
        "m@0xHASH@3",
        "m@0XHASH@3",
        "m@fedcba9876543210@0",
        "m@FEDCBA9876543210@0",
        "m@aafedcba9876543210@0",
        "m@tp_rank:0@pcp0@dcp0@pp_rank:0@HASH",
        "m@tp_rank:12@pcp1@dcp2@pp_rank:3@group:0@HASH",
        "m@tp_rank:0@pcp0@dcp0@pp_rank:0@cache_role:kv@HASH",
        "m@tp_rank:0@pcp0@dcp0@pp_rank:0@cache_family:mla@HASH",
        "m@tp_rank:0@pcp0@dcp0@pp_rank:0@group:0@cache_role:a b@cache_family:é@HASH",
        "with@sign@tp_rank:0@pcp0@dcp0@pp_rank:0@HASH",
        "with\nnewline@tp_rank:0@pcp0@dcp0@pp_rank:0@HASH",
        "m@pcp0@dcp0@head_or_tp_rank:0@HASH",
        "m@pcp0@dcp0@head_or_tp_rank:1@pp_rank:2@HASH",
        "m@pcp0@dcp0@head_or_tp_rank:1@pp_rank:2@group:0@HASH",
        "m@pcp0@dcp0@head_or_tp_rank:1@layer_id:4@HASH",
        "m@pcp0@dcp0@head_or_tp_rank:1@pp_rank:2@group:0@cache_role:r@cache_family:f@layer_id:4@HASH",
        "m@pcp0@dcp0@head_or_tp_rank:1@HASH@7",
        "m@pcp0@dcp0@head_or_tp_rank:1@pp_rank:2@group:0@cache_role:r@cache_family:f@HASH@7"
      })
  void vllmKey_ofAKnownLayout_showsTheLastSixteenDigits(String key) {
    assertThat(vllm(key)).isEqualTo(new ObjectHash(LAST, true));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "m@1@HASH@3",
        "m@group-a@HASH@3",
        "m@tp_rank:0@pcp0@dcp0@pp_rank:0@group:1@HASH",
        "m@tp_rank:0@pcp0@dcp0@pp_rank:0@group:2@cache_role:r@HASH",
        "m@pcp0@dcp0@head_or_tp_rank:1@group:1@HASH",
        "m@pcp0@dcp0@head_or_tp_rank:1@pp_rank:0@group:3@layer_id:0@HASH",
        "m@pcp0@dcp0@head_or_tp_rank:1@group:1@HASH@2"
      })
  void vllmKey_ofAnotherGroup_isToldApart(String key) {
    assertThat(vllm(key)).isEqualTo(new ObjectHash(LAST, false));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "m",
        "HASH",
        "m@HASH",
        "m@HASH@x",
        "m@HASH@",
        "m@HASH@1@2@3",
        "a@b@c@HASH@0",
        "m@xyz@0",
        "m@012345678@0",
        "m@fedcba987654321@0",
        "m@afedcba9876543210@0",
        "m@0x@0",
        "m@0xfedcba987654321@0",
        "m@0xafedcba9876543210@0",
        "m@０１２３４５６７８９０１２３４５@0",
        "m@tp_rank:0@pcp0@dcp0@pp_rank:0",
        "m@tp_rank:0@pcp0@dcp0@HASH",
        "m@tp_rank:x@pcp0@dcp0@pp_rank:0@HASH",
        "m@tp_rank:0@pcp0@dcp0@pp_rank:0@aHASH",
        "m@tp_rank:0@pcp0@dcp0@pp_rank:0@cache_role:r@group:0@HASH",
        "m@tp_rank:0@pcp0@dcp0@pp_rank:0@HASH@1",
        "m@pcp0@dcp0@head_or_tp_rank:0@HASH@1@2",
        "m@dcp0@pcp0@head_or_tp_rank:0@HASH",
        "m@pcp0@dcp0@head_or_tp_rank:0@123456789abcdef",
        "m@HASH@0\n"
      })
  void vllmKey_ofAnotherForm_showsNoHash(String key) {
    assertThat(vllm(key).key()).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HASH",
        "HASH_0_k",
        "HASH_0_v",
        "HASH_1_2_k",
        "model_HASH",
        "model_HASH_k",
        "a_b_c_HASH_d",
        "HASH__",
        "_HASH",
        "org/model_7b_HASH_0_k",
        "HASH_ffff_k"
      })
  void sglangKey_withOneIsolatedHash_showsItsFirstSixteenDigits(String key) {
    assertThat(sglang(key)).isEqualTo(new ObjectHash(FIRST, true));
    assertThat(sglang(key.replace("HASH", HASH.toUpperCase(java.util.Locale.ROOT))))
        .isEqualTo(new ObjectHash(FIRST, true));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "model",
        "HASH_HASH",
        "HASH_0_k_HASH",
        "a_HASH_b_HASH_c",
        "aHASH",
        "HASHa",
        "HASH-0",
        "model-HASH",
        "0xHASH",
        "model@HASH@0",
        "HASH\n"
      })
  void sglangKey_withoutOneIsolatedHash_showsNoHash(String key) {
    assertThat(sglang(key).key()).isNull();
  }

  @Test
  void sglangKey_withAHashOf63Or65Digits_showsNoHash() {
    assertThat(sglang(HASH.substring(1)).key()).isNull();
    assertThat(sglang(HASH + "0").key()).isNull();
  }

  @Test
  void key_beyondAllBounds_showsNoHashAndTakesNoTime() {
    assertThat(vllm("@tp_rank:1".repeat(500_000)).key()).isNull();
    assertThat(vllm(("@pcp" + "1".repeat(50) + "@dcp1").repeat(70)).key()).isNull();
    assertThat(sglang("a_".repeat(2_000_000) + "HASH").key()).isNull();
  }

  @ParameterizedTest
  @CsvSource({
    "fedcba9876543210, fedcba9876543210, fedcba9876543210",
    "0xfedcba9876543210, fedcba9876543210, fedcba9876543210",
    "0XFEDCBA9876543210, fedcba9876543210, fedcba9876543210",
    "00112233445566778899aabbccddeeff, 8899aabbccddeeff, 0011223344556677",
    "ffffffffffffffff, ffffffffffffffff, ffffffffffffffff",
    "0000000000000000, 0, 0"
  })
  void hex_ofADigest_projectsToItsLastOrFirstDigits(String hex, String vllm, String sglang) {
    assertThat(ObjectHash.projectHex(hex, TestStream.VLLM))
        .isEqualTo(Long.parseUnsignedLong(vllm, 16));
    assertThat(ObjectHash.projectHex(hex, TestStream.SGLANG))
        .isEqualTo(Long.parseUnsignedLong(sglang, 16));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "0x",
        "fedcba987654321",
        "0xfedcba987654321",
        "afedcba9876543210",
        "fedcba987654321g",
        "-fedcba987654321",
        "+edcba9876543210",
        " fedcba9876543210 ",
        "0x0xfedcba9876543210",
        "０１２３４５６７８９０１２３４５",
        "fedcba98_7654321"
      })
  void hex_thatIsShortOddOrNoHex_isNone(String hex) {
    assertThat(ObjectHash.projectHex(hex, TestStream.VLLM)).isNull();
    assertThat(ObjectHash.projectHex(hex, TestStream.SGLANG)).isNull();
  }

  // Through the decoder: the three places where an event may tell its hash.

  private static Map<String, Object> stored(Object... more) {
    return with(map("event_type", "stored", "medium", "cpu", "object_key", "no hash"), more);
  }

  private static String key(String digits) {
    return "m@" + digits + "@0";
  }

  @Test
  void hash_toldByThreeFieldsThatAgree_isTaken() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    stream.decode(
        stored(
            "connector_block_hash",
            "0x00000000000000000000000000000007",
            "object_key",
            key("aa00000000000000aa0000000000000007"),
            "seq_hashes",
            List.of(7)));

    assertThat(stream.heard()).containsExactly("stored CPU [7]");
    assertThat(stream.refused()).isEmpty();
  }

  @Test
  void hash_toldByTwoFieldsThatDisagree_isRefused() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    String seven = "0000000000000007";
    stream.decode(
        stored("connector_block_hash", seven, "object_key", key("0000000000000008")),
        stored("connector_block_hash", seven, "seq_hashes", List.of(8)),
        stored("object_key", key(seven), "seq_hashes", List.of(8)),
        stored("object_key", key(seven), "block_hashes", List.of(8)),
        stored("connector_block_hash", seven, "object_key", key(seven), "seq_hashes", List.of(8)));

    assertThat(stream.heard()).isEmpty();
    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.BAD_HASH, 5L));
  }

  @Test
  void connectorHash_thatIsNoHash_isRefusedWhateverElseIsTold() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    stream.decode(
        stored("connector_block_hash", "7", "seq_hashes", List.of(7)),
        stored("connector_block_hash", "", "seq_hashes", List.of(7)),
        stored("connector_block_hash", "000000000000000xx7"),
        stored("connector_block_hash", "00000000000000007"));

    assertThat(stream.heard()).isEmpty();
    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.BAD_HASH, 4L));
  }

  @Test
  void seqHashes_ofASingleEntry_areTheLastResort() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    stream.decode(
        stored("seq_hashes", List.of(5)),
        stored("seq_hashes", List.of(BigInteger.TWO.pow(64).subtract(BigInteger.ONE))),
        stored("block_hashes", List.of(6)),
        stored("seq_hashes", List.of(5, 6)),
        stored("seq_hashes", List.of()),
        stored());

    assertThat(stream.heard())
        .containsExactly("stored CPU [5]", "stored CPU [18446744073709551615]", "stored CPU [6]");
    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.BAD_HASH, 3L));
  }

  @Test
  void seqHashes_ofSeveralEntries_sayNothingAboutTheKeysHash() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    stream.decode(stored("object_key", key("0000000000000007"), "seq_hashes", List.of(1, 2)));

    assertThat(stream.heard()).containsExactly("stored CPU [7]");
  }

  @Test
  void object_ofAnotherGroup_isRefusedByItsKeyOrItsGroupId() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    stream.decode(
        stored("object_key", "m@1@0000000000000007@0"),
        stored("object_key", key("0000000000000007"), "group_id", 1),
        stored("object_key", key("0000000000000007"), "group_id", "1"),
        stored("object_key", "m@0@0000000000000007@0", "group_id", "0"),
        stored("object_key", "m@0@0000000000000007@0", "group_id", 0),
        stored("object_key", "m@0@0000000000000007@0", "group_id", null));

    assertThat(stream.heard()).hasSize(3).containsOnly("stored CPU [7]");
    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.UNSUPPORTED_GROUP, 3L));
  }

  @Test
  void sglangObject_withComponents_isStoredForEachUnderTheSameKey() {
    TestStream stream = TestStream.pool(TestStream.SGLANG);

    stream.decode(
        stored("object_key", HASH + "_0_k"),
        stored("object_key", HASH + "_0_v"),
        stored("object_key", HASH + "_" + HASH));

    String line = "stored CPU [" + Long.toUnsignedString(FIRST) + ']';
    assertThat(stream.heard()).containsExactly(line, line);
    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.BAD_HASH, 1L));
  }
}
