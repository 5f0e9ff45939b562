package baton.publisher;

import static baton.publisher.TestStream.map;
import static baton.publisher.TestStream.with;
import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The decoding failures that others met (cases.md; the rows' numbers are in the names shown). */
class CasesWireFormatTest {
  private static final List<Integer> T1 = List.of(1, 2, 3, 4);

  private static List<Object> list(Object... values) {
    return Arrays.asList(values);
  }

  private static Map<String, Object> stored(Object hash) {
    return map(
        "type",
        "BlockStored",
        "block_hashes",
        list(hash),
        "parent_block_hash",
        null,
        "token_ids",
        T1,
        "block_size",
        16,
        "lora_id",
        null,
        "medium",
        "GPU",
        "lora_name",
        null,
        "extra_keys",
        list((Object) null),
        "group_idx",
        0,
        "kv_cache_spec_kind",
        "full_attention");
  }

  private static Map<String, Object> sglangStored(Object... more) {
    return with(
        map(
            "type",
            "BlockStored",
            "block_hashes",
            list(7),
            "parent_block_hash",
            null,
            "token_ids",
            T1,
            "block_size",
            4,
            "lora_id",
            null),
        more);
  }

  private static Map<String, Object> removed(Object hash, Object... more) {
    return with(map("type", "BlockRemoved", "block_hashes", list(hash)), more);
  }

  private static Map<String, Object> pooled(Object... more) {
    return with(
        map(
            "event_type",
            "stored",
            "event_id",
            1,
            "timestamp",
            1,
            "model_name",
            "m",
            "block_size",
            16,
            "medium",
            "cpu",
            "object_key",
            "o",
            "seq_hashes",
            list(7)),
        more);
  }

  @Test
  @DisplayName("row 1: map events and array events do the same")
  void storedEvent_asMapOrArray_doesTheSame() {
    TestStream stream = TestStream.vllm();

    stream.decode(
        stored(11),
        list(
            "BlockStored",
            list(11),
            null,
            T1,
            16,
            null,
            "GPU",
            null,
            list((Object) null),
            0,
            "full_attention",
            null));

    assertThat(stream.heard()).containsExactly("stored DEVICE [11]", "stored DEVICE [11]");
    assertThat(stream.refused()).isEmpty();
    assertThat(stream.counts().applied(EventKind.STORED)).isEqualTo(2);
  }

  @Test
  @DisplayName("row 1: unknown fields, in maps and after arrays, are ignored")
  void storedEvent_withUnknownFields_isStored() {
    TestStream stream = TestStream.vllm();
    Object nested = list(map("a", list(1, map("b", null))), new byte[3]);

    stream.decode(
        with(stored(1), "future", nested),
        list(
            "BlockStored",
            list(2),
            null,
            T1,
            16,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            nested,
            7));

    assertThat(stream.heard()).containsExactly("stored DEVICE [1]", "stored DEVICE [2]");
  }

  @Test
  @DisplayName("row 2: an SGLang map without its default fields is on the device")
  void sglangMap_withoutDefaults_isStoredOnTheDevice() {
    TestStream stream = TestStream.sglang();

    stream.decode(sglangStored("block_size", 2, "token_ids", list(11, 12)));

    assertThat(stream.heard()).containsExactly("stored DEVICE [7]");
  }

  @Test
  @DisplayName("row 3: an SGLang array with a salt after the medium is decoded")
  void sglangArray_withATrailingSalt_isStored() {
    TestStream stream = TestStream.sglang();

    stream.decode(
        list("BlockStored", list(7), null, T1, 4, null, "GPU", map("cache_salt", "a")),
        list("BlockStored", list(8), null, T1, 4, null, "GPU", "a", "session", list(1)),
        sglangStored("cache_salt", "a", "session_id", "s", "group_idx", 3, "lora_name", "x"));

    assertThat(stream.heard())
        .containsExactly("stored DEVICE [7]", "stored DEVICE [8]", "stored DEVICE [7]");
    assertThat(stream.refused()).isEmpty();
  }

  @Test
  @DisplayName("row 4: a hash above 2^63 is stored and removed")
  void hash_above63Bits_isStoredAndRemoved() {
    TestStream stream = TestStream.vllm();
    BigInteger hash = new BigInteger("13360216285664366642");

    stream.decode(stored(hash), removed(hash));

    assertThat(stream.heard())
        .containsExactly(
            "stored DEVICE [13360216285664366642]", "removed DEVICE [13360216285664366642]");
  }

  @Test
  @DisplayName("row 4: an SGLang hash below zero is the unsigned one with its bits")
  void sglangHash_signedOrUnsigned_isTheSameBlock() {
    TestStream stream = TestStream.sglang();

    stream.decode(
        sglangStored("block_hashes", list(-1)),
        removed(BigInteger.TWO.pow(64).subtract(BigInteger.ONE)));

    assertThat(stream.heard())
        .containsExactly(
            "stored DEVICE [18446744073709551615]", "removed DEVICE [18446744073709551615]");
  }

  @Test
  @DisplayName("rows 6 and 7: of 32 bytes vLLM's last eight are the key, SGLang's first eight")
  void hash_asBytes_isProjectedAsTheEngineDoes() {
    byte[] digest = new byte[32];
    digest[7] = 1;
    digest[31] = 2;
    TestStream vllm = TestStream.vllm();
    TestStream sglang = TestStream.sglang();

    vllm.decode(stored(digest), stored(2), stored(new byte[] {0, 0, 0, 0, 0, 0, 0, 2}));
    sglang.decode(sglangStored("block_hashes", list(digest, 1)));

    assertThat(vllm.heard()).hasSize(3).containsOnly("stored DEVICE [2]");
    assertThat(sglang.heard()).containsExactly("stored DEVICE [1, 1]");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 7})
  @DisplayName("row 6: fewer than eight bytes are no hash")
  void hash_ofTooFewBytes_losesOnlyItsEvent(int length) {
    TestStream stream = TestStream.vllm();

    stream.decode(
        stored(1),
        with(stored(0), "block_hashes", list(5, new byte[length])),
        removed(new byte[length]),
        stored(2));

    assertThat(stream.heard()).containsExactly("stored DEVICE [1]", "stored DEVICE [2]");
    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.MALFORMED_EVENT, 2L));
  }

  @Test
  @DisplayName("row 8: a token id outside uint32 harms nothing, since the hash is enough")
  void tokenId_outOfRange_isNoReasonToRefuse() {
    TestStream stream = TestStream.vllm();

    stream.decode(
        stored(1), with(stored(2), "token_ids", list(1, 2, 3, 4294967296L, -1, "x")), stored(3));

    assertThat(stream.heard())
        .containsExactly("stored DEVICE [1]", "stored DEVICE [2]", "stored DEVICE [3]");
  }

  private static List<Object> badEvents() {
    return List.of(
        7,
        "BlockStored",
        list(),
        list(7),
        list("BlockStored"),
        list("BlockStored", list(1), null, T1),
        list("BlockStored", null, null, T1, 16),
        list("BlockStored", 1, null, T1, 16),
        list("BlockStored", list(1.5), null, T1, 16),
        list("BlockStored", list("1"), null, T1, 16),
        list("BlockStored", list((Object) null), null, T1, 16),
        list("BlockRemoved"),
        list("BlockMoved", list(1)),
        map(),
        map("type", null),
        map("type", 1),
        map("type", "BlockStored"),
        map("type", "blockstored", "block_hashes", list(1), "block_size", 16),
        map("block_hashes", list(1), "block_size", 16),
        map("type", "BlockRemoved"),
        with(stored(1), "medium", 3),
        with(stored(1), "block_size", "16"),
        with(stored(1), "block_size", null),
        with(stored(1), "block_size", 16.0),
        with(stored(1), "block_size", -16),
        with(stored(1), "group_idx", "0"),
        with(stored(1), "lora_name", 3));
  }

  @ParameterizedTest
  @MethodSource("badEvents")
  @DisplayName("row 8: one bad event does not lose the others")
  void badEvent_betweenTwoGoodOnes_losesOnlyItself(Object bad) {
    TestStream stream = TestStream.vllm();

    Refusal refusal = stream.decode(stored(1), bad, removed(3));

    assertThat(refusal).isNull();
    assertThat(stream.heard()).containsExactly("stored DEVICE [1]", "removed DEVICE [3]");
    assertThat(stream.refused().values()).containsExactly(1L);
  }

  @Test
  @DisplayName("row 8: nothing of a refused event stays for the next")
  void event_afterARefusedOne_startsFromDefaults() {
    TestStream stream = TestStream.vllm("adapter");

    stream.decode(
        with(
            stored(1),
            "lora_name",
            "adapter",
            "lora_id",
            1,
            "medium",
            "moon",
            "group_idx",
            1,
            "block_hashes",
            list(1, 2, 3)),
        list("BlockStored", list(4), null, T1, 16),
        list("BlockStored", list(5), null, T1, 16, 1, null, "adapter"),
        list("AllBlocksCleared"));

    assertThat(stream.heard()).containsExactly("stored DEVICE [5]", "cleared all");
    assertThat(stream.refused())
        .isEqualTo(Map.of(Refusal.UNKNOWN_MEDIUM, 1L, Refusal.WRONG_LORA, 1L));
  }

  @ParameterizedTest
  @CsvSource({
    "gpu, DEVICE",
    "GPU, DEVICE",
    "Npu, DEVICE",
    "device, DEVICE",
    "HBM, DEVICE",
    ", DEVICE",
    "cpu, CPU",
    "CPU_PINNED, CPU",
    "cpu_pinned, CPU",
    "disk, DISK",
    "SSD, DISK"
  })
  @DisplayName("row 14: vLLM's media in any case; nil is the device")
  void vllmMedium_known_namesItsTier(String medium, Medium tier) {
    TestStream stream = TestStream.vllm();

    stream.decode(with(stored(1), "medium", medium), removed(1, "medium", medium));

    assertThat(stream.heard())
        .containsExactly("stored " + tier + " [1]", "removed " + tier + " [1]");
  }

  @ParameterizedTest
  @CsvSource({
    "gpu, DEVICE",
    "GPU, DEVICE",
    ", DEVICE",
    "cpu, CPU",
    "CPU_PINNED, CPU",
    "DISK, DISK"
  })
  @DisplayName("row 14: SGLang's media in any case; nil is the device")
  void sglangMedium_known_namesItsTier(String medium, Medium tier) {
    TestStream stream = TestStream.sglang();

    stream.decode(sglangStored("medium", medium), removed(1, "medium", medium));

    assertThat(stream.heard())
        .containsExactly("stored " + tier + " [7]", "removed " + tier + " [1]");
  }

  @ParameterizedTest
  @ValueSource(strings = {"CPU_TIER1", "EXTERNAL", "", " gpu", "gpu0", "ＧＰＵ", "remote"})
  @DisplayName("row 14: an unknown medium is counted, and never the device")
  void medium_unknown_isCountedAndSkipped(String medium) {
    for (TestStream stream : List.of(TestStream.vllm(), TestStream.sglang())) {
      stream.decode(
          with(stored(1), "medium", medium),
          removed(1, "medium", medium),
          map("type", "AllBlocksCleared", "medium", medium));

      assertThat(stream.heard()).isEmpty();
      assertThat(stream.refused()).isEqualTo(Map.of(Refusal.UNKNOWN_MEDIUM, 3L));
    }
  }

  @Test
  @DisplayName("row 14: media that only vLLM has are unknown for SGLang")
  void sglangMedium_ofVllm_isUnknown() {
    TestStream stream = TestStream.sglang();

    stream.decode(
        sglangStored("medium", "npu"),
        sglangStored("medium", "hbm"),
        sglangStored("medium", "device"),
        sglangStored("medium", "ssd"));

    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.UNKNOWN_MEDIUM, 4L));
  }

  @Test
  @DisplayName("row 15: an offload event without tokens and block size is stored by its hash")
  void offloadEvent_withoutTokens_isStored() {
    TestStream stream = TestStream.vllm();

    stream.decode(
        stored(1),
        with(stored(1), "token_ids", list(), "block_size", 0, "medium", "CPU"),
        with(stored(1), "token_ids", list(), "block_size", 0, "medium", "disk"));

    assertThat(stream.heard())
        .containsExactly("stored DEVICE [1]", "stored CPU [1]", "stored DISK [1]");
  }

  @Test
  @DisplayName("row 15: on the device a block size of 0 is the wrong one")
  void deviceEvent_ofBlockSizeZero_isRefused() {
    TestStream stream = TestStream.vllm();

    stream.decode(
        with(stored(1), "block_size", 0), with(stored(1), "block_size", 0, "medium", null));

    assertThat(stream.heard()).isEmpty();
    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.WRONG_BLOCK_SIZE, 2L));
  }

  @Test
  @DisplayName("row 16: old and new names that agree are applied once")
  void poolEvent_withAgreeingAliases_isAppliedOnce() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    stream.decode(
        pooled(
            "type",
            "BlockStored",
            "block_hashes",
            list(7),
            "parent_hash",
            3,
            "parent_block_hash",
            3));

    assertThat(stream.heard()).containsExactly("stored CPU [7]");
    assertThat(stream.refused()).isEmpty();
  }

  @Test
  @DisplayName("row 16: the old names alone are enough")
  void poolEvent_withOnlyTheOldNames_isApplied() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    stream.decode(
        map("type", "stored", "medium", "disk", "object_key", "o", "block_hashes", list(8)));

    assertThat(stream.heard()).containsExactly("stored DISK [8]");
  }

  @Test
  @DisplayName("row 16: old and new names that differ are refused with a reason")
  void poolEvent_withDifferingAliases_isRefused() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    stream.decode(
        pooled("type", "removed"),
        pooled("type", "something"),
        pooled("block_hashes", list(8)),
        pooled("block_hashes", list()),
        pooled("block_hashes", list(7, 7)),
        pooled("parent_hash", 3, "parent_block_hash", 4),
        with(pooled("block_hashes", list(8)), "event_type", "removed"));

    assertThat(stream.heard()).isEmpty();
    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.CONFLICTING_FIELDS, 7L));
  }

  @Test
  @DisplayName("row 18: what the master leaves nil is left to the registration")
  void poolEvent_withNilFields_leavesThemToTheRegistration() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    stream.decode(
        pooled(
            "model_name",
            null,
            "block_size",
            null,
            "lora_name",
            null,
            "tenant_id",
            null,
            "backend_id",
            null,
            "dp_rank",
            null,
            "additional_salt",
            null));

    assertThat(stream.sink().lastObject)
        .isEqualTo(new PoolSink.PoolObject("default", null, "", 0, "", "o", Medium.CPU, 7));
  }

  @Test
  @DisplayName("row 18: what the master tells goes on as it is")
  void poolEvent_withAllFields_passesThemOn() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    stream.decode(pooled("lora_name", "l", "tenant_id", "t", "backend_id", "b", "medium", "DISK"));

    assertThat(stream.sink().lastObject)
        .isEqualTo(new PoolSink.PoolObject("t", "m", "l", 16, "b", "o", Medium.DISK, 7));
  }

  @Test
  void poolEvents_removedAndCleared_nameTheirObjectAndBackend() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    stream.decode(
        map("event_type", "removed", "object_key", "o", "medium", "cpu_pinned"),
        map("event_type", "cleared", "backend_id", "b", "tenant_id", "t"),
        map("event_type", "cleared"));

    assertThat(stream.heard())
        .containsExactly("removed CPU o", "cleared b of t", "cleared  of default");
  }

  @Test
  void poolEvent_thatDoesNotFit_isCountedByItsReason() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    stream.decode(
        7,
        list("stored"),
        map("medium", "cpu"),
        map("event_type", "moved"),
        pooled("medium", "gpu"),
        pooled("medium", null),
        pooled("object_key", null),
        pooled("block_size", -1),
        pooled("block_size", "16"),
        pooled());

    assertThat(stream.heard()).containsExactly("stored CPU [7]");
    assertThat(stream.refused())
        .isEqualTo(
            Map.of(
                Refusal.MALFORMED_EVENT,
                6L,
                Refusal.UNKNOWN_EVENT,
                1L,
                Refusal.UNKNOWN_MEDIUM,
                2L));
  }

  @Test
  void poolEvent_thatTheIndexRefuses_isCountedAsRefusedOnly() {
    TestStream stream = TestStream.pool(TestStream.VLLM);
    stream.sink().poolAnswer = Refusal.UNKNOWN_CONTEXT;

    stream.decode(pooled());

    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.UNKNOWN_CONTEXT, 1L));
    assertThat(stream.counts().applied(EventKind.STORED)).isZero();
  }

  @Test
  void poolBatch_ofAnyRank_isApplied() {
    TestStream stream = TestStream.pool(TestStream.VLLM);

    for (Object rank : list(0, 5, null)) {
      assertThat(stream.decodePayload(list(1700000000000L, list(pooled()), rank))).isNull();
    }

    assertThat(stream.heard()).hasSize(3);
  }

  private static List<Object> envelopes() {
    List<Object> events = list(stored(1));
    return List.of(
        list(1.5, events, 0),
        list(1.5, events, null),
        list(1.5, events),
        list(7, events, 0),
        list(1.5, events, 0, "more"),
        map("ts", 1.5, "events", events, "data_parallel_rank", 0),
        map("ts", 1.5, "events", events, "data_parallel_rank", null),
        map("events", events),
        map("data_parallel_rank", 0, "events", events, "ts", 1.5, "more", list(1)),
        map("attn_dp_rank", 0, "events", events, "ts", 1.5));
  }

  @ParameterizedTest
  @MethodSource("envelopes")
  @DisplayName("row 19: a batch may be an array or a map, its keys in any order or absent")
  void batch_ofAnyEnvelope_doesTheSame(Object payload) {
    TestStream stream = TestStream.vllm();

    assertThat(stream.decodePayload(payload)).isNull();
    assertThat(stream.heard()).containsExactly("stored DEVICE [1]");
  }

  private static List<Object> malformedBatches() {
    return List.of(
        7,
        "text",
        true,
        list(),
        list(1.5),
        list(1.5, 7, 0),
        list(1.5, map("type", "AllBlocksCleared"), 0),
        list(1.5, list(stored(1)), "0"),
        list(1.5, list(stored(1)), 0.5),
        map("events", "none"),
        map("events", list(stored(1)), "data_parallel_rank", "0"));
  }

  @ParameterizedTest
  @MethodSource("malformedBatches")
  void batch_ofTheWrongShape_isRefusedAsAWhole(Object payload) {
    TestStream stream = TestStream.vllm();

    assertThat(stream.decodePayload(payload)).isEqualTo(Refusal.MALFORMED_BATCH);
    assertThat(stream.heard()).isEmpty();
  }

  @Test
  @DisplayName("row 20: an empty event list is a batch that does nothing")
  void batch_withoutEvents_doesNothing() {
    TestStream stream = TestStream.vllm();

    assertThat(stream.decodePayload(list(5.0, list(), 0))).isNull();
    assertThat(stream.decodePayload(map("ts", 5.0))).isNull();
    assertThat(stream.decodePayload(map())).isNull();
    assertThat(stream.heard()).isEmpty();
    assertThat(stream.refused()).isEmpty();
  }

  @Test
  @DisplayName("row 42: cleared without a medium is all media, with one only that")
  void cleared_withOrWithoutAMedium_isOneMediumOrAll() {
    TestStream stream = TestStream.vllm();

    stream.decode(
        map("type", "AllBlocksCleared"),
        map("type", "AllBlocksCleared", "medium", null),
        map("type", "AllBlocksCleared", "medium", "GPU"),
        list("AllBlocksCleared"),
        list("AllBlocksCleared", "cpu"));

    assertThat(stream.heard())
        .containsExactly(
            "cleared all", "cleared all", "cleared DEVICE", "cleared all", "cleared CPU");
    assertThat(stream.counts().applied(EventKind.CLEARED)).isEqualTo(5);
  }

  private static List<Object> otherRanks() {
    return list(
        1, -1, Integer.MAX_VALUE, 1L << 32, Long.MAX_VALUE, Long.MIN_VALUE, Long.MIN_VALUE + 1);
  }

  @ParameterizedTest
  @MethodSource("otherRanks")
  @DisplayName("row 68: a batch of another rank is refused, and the next one is not")
  void batch_ofAnotherRank_isRefusedAndTheStreamGoesOn(Object rank) {
    TestStream stream = TestStream.vllm();

    assertThat(stream.decodePayload(list(1.5, list(stored(1)), rank)))
        .isEqualTo(Refusal.WRONG_RANK);
    assertThat(stream.decodePayload(map("events", list(stored(1)), "data_parallel_rank", rank)))
        .isEqualTo(Refusal.WRONG_RANK);
    assertThat(stream.heard()).isEmpty();
    assertThat(stream.decode(stored(2))).isNull();
    assertThat(stream.heard()).containsExactly("stored DEVICE [2]");
  }

  @Test
  @DisplayName("row 97: only the first cache group counts")
  void event_ofAnotherGroup_isRefused() {
    TestStream stream = TestStream.vllm();

    stream.decode(
        with(stored(1), "kv_cache_spec_kind", "mla_attention"),
        with(stored(2), "group_idx", 1, "block_size", 64, "kv_cache_spec_kind", "sliding_window"),
        with(stored(3), "group_idx", 1),
        with(stored(4), "group_idx", -1),
        with(stored(5), "kv_cache_spec_sliding_window", 128),
        removed(6, "group_idx", 1),
        with(stored(7), "group_idx", null, "kv_cache_spec_sliding_window", null),
        with(stored(8), "kv_cache_spec_kind", "sink_full_attention"),
        with(stored(9), "kv_cache_spec_kind", null),
        removed(10, "group_idx", 0));

    assertThat(stream.heard())
        .containsExactly(
            "stored DEVICE [1]",
            "stored DEVICE [7]",
            "stored DEVICE [8]",
            "stored DEVICE [9]",
            "removed DEVICE [10]");
    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.UNSUPPORTED_GROUP, 5L));
  }

  @Test
  @DisplayName("row 99: a Mamba event is counted and gives no prefix")
  void event_ofMambaBlocks_isRefused() {
    TestStream stream = TestStream.vllm();

    stream.decode(
        with(stored(1), "kv_cache_spec_kind", "mamba", "block_size", 3840),
        with(stored(1), "kv_cache_spec_kind", "Full_Attention"),
        with(stored(1), "kv_cache_spec_kind", ""));

    assertThat(stream.heard()).isEmpty();
    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.UNSUPPORTED_GROUP, 3L));
  }

  @Test
  @DisplayName("row 102: another block size than registered is refused, and says which")
  void event_ofAnotherBlockSize_isCountedWithBothSizes() {
    TestStream stream = TestStream.vllm();

    stream.decode(
        with(stored(1), "block_size", 32),
        with(stored(1), "block_size", 8),
        with(stored(1), "block_size", 32, "medium", "cpu"));

    assertThat(stream.heard()).isEmpty();
    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.WRONG_BLOCK_SIZE, 3L));
    assertThat(stream.decoder().detail(Refusal.WRONG_BLOCK_SIZE)).isEqualTo(" (32, registered 16)");
  }

  @ParameterizedTest
  @CsvSource({"1, true", "3, true", "4, true", "0, false", "5, false", "-1, false"})
  @DisplayName("row 102: an SGLang page may be partial, but not empty or larger")
  void sglangPage_upToTheBlockSize_isStored(int blockSize, boolean isStored) {
    TestStream stream = TestStream.sglang();

    stream.decode(sglangStored("block_size", blockSize));

    assertThat(stream.heard().isEmpty()).isEqualTo(!isStored);
    assertThat(stream.refused())
        .isEqualTo(isStored ? Map.of() : Map.of(Refusal.WRONG_BLOCK_SIZE, 1L));
  }

  @Test
  @DisplayName("row 104: a parent of any kind is no obstacle")
  void event_withAnUnknownParent_isStored() {
    TestStream stream = TestStream.vllm();

    for (Object parent : list(null, 99, -1, new byte[32], new byte[2], "x", list(1, 2))) {
      stream.decode(with(stored(1), "parent_block_hash", parent));
    }

    assertThat(stream.heard()).hasSize(7).containsOnly("stored DEVICE [1]");
    assertThat(stream.refused()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "'', , , true",
    "'', , '', true",
    "'', 1, , false",
    "'', 1, adapter, false",
    "'', , adapter, false",
    "'', 0, , false",
    "adapter, , adapter, true",
    "adapter, 1, adapter, true",
    "adapter, 0, adapter, false",
    "adapter, -1, adapter, false",
    "adapter, 1, other, false",
    "adapter, 1, , false",
    "adapter, , , false"
  })
  void vllmEvent_ofALora_mustFitTheRegistration(
      String registered, Long id, String name, boolean isStored) {
    TestStream stream = TestStream.vllm(registered);

    stream.decode(with(stored(1), "lora_id", id, "lora_name", name));

    assertThat(stream.heard().isEmpty()).isEqualTo(!isStored);
    assertThat(stream.refused()).isEqualTo(isStored ? Map.of() : Map.of(Refusal.WRONG_LORA, 1L));
  }

  @Test
  void sglangEvent_withALoraId_isRefused() {
    TestStream stream = TestStream.sglang();

    stream.decode(sglangStored("lora_id", 1), sglangStored("lora_id", 0));

    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.WRONG_LORA, 2L));
  }

  @Test
  void blocks_thatFindNoRoom_areCountedAsRefusedOfAnAppliedEvent() {
    TestStream stream = TestStream.vllm();
    stream.sink().blocksWithoutRoom = 1;

    stream.decode(with(stored(0), "block_hashes", list(1, 2)));

    assertThat(stream.counts().applied(EventKind.STORED)).isEqualTo(1);
    assertThat(stream.refused()).isEqualTo(Map.of(Refusal.LIMIT, 1L));
  }

  @Test
  void hashes_ofALargeAndThenASmallEvent_areOnlyTheSmallOnes() {
    TestStream stream = TestStream.vllm();
    Object[] many = new Object[10_000];
    Arrays.setAll(many, i -> i);

    stream.decode(removed(0, "block_hashes", list(many)), removed(5));

    assertThat(stream.heard().get(0)).startsWith("removed DEVICE [0, 1, 2").endsWith(", 9999]");
    assertThat(stream.heard().get(1)).isEqualTo("removed DEVICE [5]");
  }
}
