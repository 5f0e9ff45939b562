package baton.embeds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import baton.embeds.PromptEmbedsCache.Totals;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each rule of the cache. Most tests have room for exactly three payloads of {@link #SIZE}. */
@Timeout(60)
class PromptEmbedsCacheTest {
  private static final int OVERHEAD = PromptEmbedsCache.OVERHEAD_BYTES;
  private static final int SIZE = 1000;
  private static final int CHARGE = SIZE + OVERHEAD;
  private static final int MIB = 1 << 20;

  private final PromptEmbedsCache cache = new PromptEmbedsCache(3 * CHARGE);

  private static boolean put(PromptEmbedsCache cache, String identifier, int size) {
    return cache.put(identifier, Payloads.buffer(identifier.hashCode(), size), null);
  }

  private boolean put(String identifier, int size) {
    return put(cache, identifier, size);
  }

  private void putAll(String... identifiers) {
    for (String identifier : identifiers) {
      assertThat(put(identifier, SIZE)).isTrue();
    }
  }

  private Upload uploadOf(int size) {
    Upload upload = cache.upload(0);
    upload.append(Payloads.buffer(1, size));
    return upload;
  }

  private boolean hit(String identifier) {
    return Payloads.read(cache, identifier, null) != null;
  }

  /** Which of a to f are there; looks each of them up, in this order. */
  private List<String> held() {
    List<String> held = new ArrayList<>();
    for (String identifier : List.of("a", "b", "c", "d", "e", "f")) {
      if (hit(identifier)) {
        held.add(identifier);
      }
    }
    return held;
  }

  // Who stays

  @Test
  void fullCache_anotherPut_evictsTheOneStoredFirst() {
    putAll("a", "b", "c", "d");

    assertThat(held()).containsExactly("b", "c", "d");
    assertThat(cache.totals().evictions()).isOne();
  }

  @Test
  void hit_beforeThePut_saves() {
    putAll("a", "b", "c");

    assertThat(hit("a")).isTrue();
    putAll("d");

    assertThat(held()).containsExactly("a", "c", "d");
  }

  @Test
  void hits_inAnyOrder_setTheOrderOfEviction() {
    putAll("a", "b", "c");
    hit("b");
    hit("c");
    hit("a");

    putAll("d");
    assertThat(cache.stats().entries()).isEqualTo(3);
    hit("c");
    putAll("e");

    assertThat(held()).containsExactly("c", "d", "e");
  }

  @Test
  void miss_ofAnything_savesNobody() {
    putAll("a", "b", "c");

    assertThat(hit("x")).isFalse();
    putAll("d");

    assertThat(held()).containsExactly("b", "c", "d");
  }

  @Test
  void largePut_evictsFromTheColdEndUntilItFits_andNoMore() {
    putAll("a", "b", "c");

    put("d", SIZE + 1);

    assertThat(held()).containsExactly("c", "d");
    assertThat(cache.totals().evictions()).isEqualTo(2);
    assertThat(cache.stats().usedBytes()).isEqualTo(2 * CHARGE + 1);
  }

  @Test
  void putOfWhatJustFits_evictsNobody() {
    putAll("a", "b");

    put("c", SIZE - 1);

    assertThat(held()).containsExactly("a", "b", "c");
    assertThat(cache.totals().evictions()).isZero();
  }

  @Test
  void anyPuts_usedBytes_areTheChargesAndNeverAboveCapacity() {
    for (int i = 1; i <= 500; i++) {
      int size = 1 + i * 31 % (2 * CHARGE);
      assertThat(put("id-" + i, size)).isTrue();
      assertThat(cache.stats().usedBytes()).isBetween((long) size + OVERHEAD, 3L * CHARGE);
    }
    putAll("a", "b", "c");
    assertThat(cache.stats().usedBytes()).isEqualTo(3L * CHARGE);
  }

  @Test
  void putThatNeedsManyEvictions_takesAllOfThem() {
    PromptEmbedsCache large = new PromptEmbedsCache(1000L * CHARGE);
    for (int i = 0; i < 1000; i++) {
      put(large, "id-" + i, SIZE);
    }

    assertThat(put(large, "all but one", 999 * CHARGE - OVERHEAD)).isTrue();

    assertThat(large.stats())
        .isEqualTo(new PromptEmbedsCacheStats(1000L * CHARGE, 2, 0, 0, 0, 1000L * CHARGE));
    assertThat(large.totals().evictions()).isEqualTo(999);
    assertThat(Payloads.read(large, "id-999", null)).isNotNull();
    assertThat(large.memoryBytes())
        .isEqualTo(Payloads.units(SIZE) + Payloads.units(999 * CHARGE - OVERHEAD));
  }

  // Replacement

  @Test
  void replacement_byTheSameSize_evictsNobody() {
    putAll("a", "b", "c");

    assertThat(put("b", SIZE)).isTrue();

    assertThat(held()).containsExactly("a", "b", "c");
    assertThat(cache.totals().evictions()).isZero();
  }

  @Test
  void replacement_bySomethingLarger_evictsNoMoreThanTheDifferenceTakes() {
    putAll("a", "b", "c");

    put("c", SIZE + CHARGE);
    assertThat(cache.totals().evictions()).isOne();
    assertThat(cache.stats().usedBytes()).isEqualTo(3L * CHARGE);

    assertThat(held()).containsExactly("b", "c");
  }

  @Test
  void replacement_bySomethingLargerThatFits_evictsNobody() {
    putAll("a");
    put("b", SIZE - 100);
    putAll("c");

    assertThat(put("a", SIZE + 100)).isTrue();

    assertThat(held()).containsExactly("a", "b", "c");
    assertThat(cache.stats().usedBytes()).isEqualTo(3L * CHARGE);
  }

  @Test
  void replacementOfTheColdest_bySomethingLarger_evictsTheNextColdestAndNeverItself() {
    putAll("a", "b", "c");

    assertThat(put("a", SIZE + 1)).isTrue();

    assertThat(held()).containsExactly("a", "c");
    assertThat(cache.totals().evictions()).isOne();
  }

  @Test
  void replacementOfTheColdest_byWhatTakesTheWholeCache_evictsAllOthers() {
    putAll("a", "b", "c");

    assertThat(put("a", 3 * CHARGE - OVERHEAD)).isTrue();

    assertThat(cache.totals().evictions()).isEqualTo(2);
    assertThat(held()).containsExactly("a");
  }

  @Test
  void replacementOfTheColdest_thatNeedsManyEvictions_neverEvictsItself() {
    PromptEmbedsCache large = new PromptEmbedsCache(300L * CHARGE);
    for (int i = 0; i < 300; i++) {
      put(large, "id-" + i, SIZE);
    }

    put(large, "id-0", 200 * CHARGE - OVERHEAD);

    assertThat(large.totals().evictions()).isEqualTo(199);
    assertThat(large.stats().entries()).isEqualTo(101);
    assertThat(large.stats().usedBytes()).isEqualTo(300L * CHARGE);
  }

  @Test
  void replacement_bySomethingSmaller_releasesTheDifference() {
    putAll("a", "b", "c");

    put("b", 1);
    assertThat(cache.stats().usedBytes()).isEqualTo(3L * CHARGE - (SIZE - 1));
    put("d", SIZE - 1 - OVERHEAD);

    assertThat(held()).containsExactly("a", "b", "c", "d");
    assertThat(cache.stats().usedBytes()).isEqualTo(3L * CHARGE);
  }

  @Test
  void replacement_isAUse() {
    putAll("a", "b", "c");

    putAll("a", "d");

    assertThat(held()).containsExactly("a", "c", "d");
  }

  @Test
  void replacement_isWhatComesBack_andNoSecondEntry() {
    put("a", 700);

    cache.put("a", Payloads.buffer(77, 900), null);

    assertThat(Payloads.read(cache, "a", null)).isEqualTo(Payloads.bytes(77, 900));
    assertThat(cache.stats()).isEqualTo(new PromptEmbedsCacheStats(3 * CHARGE, 1, 1, 1, 0, 1412));
    assertThat(cache.totals()).isEqualTo(new Totals(1, 0, 2, 0, 0));
    assertThat(cache.memoryBytes()).isEqualTo(1024);
  }

  // What is never stored

  @Test
  void oversizePut_leavesTheOldEntryAndTheOrder_andCounts() {
    putAll("a", "b", "c");

    assertThat(put("a", 3 * CHARGE - OVERHEAD + 1)).isFalse();
    assertThat(cache.put("a", uploadOf(3 * CHARGE), null)).isFalse();
    assertThat(cache.stats())
        .isEqualTo(new PromptEmbedsCacheStats(3 * CHARGE, 3, 0, 0, 2, 3 * CHARGE));

    putAll("d");
    assertThat(held()).containsExactly("b", "c", "d");
  }

  @Test
  void oversizePut_leavesTheOldPayloadAsItWas() {
    putAll("a");

    put("a", 3 * CHARGE);

    assertThat(Payloads.read(cache, "a", null)).isEqualTo(Payloads.bytes("a".hashCode(), SIZE));
  }

  @Test
  void emptyPut_leavesTheOldEntry_andChangesNoCounter() {
    putAll("a", "b", "c");
    PromptEmbedsCacheStats stats = cache.stats();
    Totals totals = cache.totals();

    assertThat(cache.put("a", ByteBuffer.allocate(0), null)).isFalse();
    assertThat(cache.put("a", cache.upload(0), null)).isFalse();
    assertThat(cache.put("a", cache.upload(100), null)).isFalse();

    assertThat(cache.stats()).isEqualTo(stats);
    assertThat(cache.totals()).isEqualTo(totals);
    putAll("d");
    assertThat(held()).containsExactly("b", "c", "d");
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MIN_VALUE})
  void disabledCache_reportsZeros_butForWhatItDeclined(long capacity) {
    PromptEmbedsCache disabled = new PromptEmbedsCache(capacity);

    assertThat(disabled.enabled()).isFalse();
    assertThat(put(disabled, "a", 1)).isFalse();
    assertThat(put(disabled, "a", SIZE)).isFalse();
    assertThat(disabled.put("a", ByteBuffer.allocate(0), null)).isFalse();
    assertThat(disabled.get("a", null)).isNull();
    disabled.remove("a", null);
    disabled.trim();

    assertThat(disabled.stats()).isEqualTo(new PromptEmbedsCacheStats(0, 0, 0, 0, 2, 0));
    assertThat(disabled.stats().hitRatio()).isZero();
    assertThat(disabled.totals()).isEqualTo(new Totals(0, 0, 0, 0, 2));
    assertThat(disabled.memoryBytes()).isZero();
    assertThat(disabled.lingeringBytes()).isZero();
    assertThat(disabled.longestPayload()).isZero();
    assertThatThrownBy(() -> disabled.upload(1)).isInstanceOf(IllegalStateException.class);

    disabled.clear();
    assertThat(disabled.stats()).isEqualTo(new PromptEmbedsCacheStats(0, 0, 0, 0, 0, 0));
    assertThat(disabled.totals().oversize()).isEqualTo(2);
  }

  @ParameterizedTest
  @CsvSource({"1, 0", "511, 0", "512, 0", "513, 1", "514, 2", "1512, 1000"})
  void longestPayload_isTheCapacityWithoutTheOverhead(long capacity, long longest) {
    PromptEmbedsCache small = new PromptEmbedsCache(capacity);

    assertThat(small.enabled()).isTrue();
    assertThat(small.longestPayload()).isEqualTo(longest);
  }

  @ParameterizedTest
  @ValueSource(longs = {-5, 0, 1, 511, 512, 513, 514, 700, 1512})
  void canHold_isTrueExactlyWhenAPutOfThatSizeStores(long capacity) {
    int longest = (int) Math.max(0, capacity - OVERHEAD);
    for (int size : new int[] {0, 1, 2, 511, 512, 1000, longest, longest + 1}) {
      PromptEmbedsCache asked = new PromptEmbedsCache(capacity);
      assertThat(asked.canHold(size)).as("%d bytes", size).isEqualTo(put(asked, "a", size));
      assertThat(asked.canHold(size)).as("%d bytes again", size).isEqualTo(put(asked, "b", size));
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {Long.MIN_VALUE, -1, 0, Long.MAX_VALUE - 100, Long.MAX_VALUE})
  void canHold_ofSizesThatNoPayloadHas_isFalse(long bytes) {
    assertThat(cache.canHold(bytes)).isFalse();
    assertThat(new PromptEmbedsCache(0).canHold(bytes)).isFalse();
  }

  @Test
  void canHold_touchesNeitherCountersNorOrder() {
    putAll("a", "b", "c");
    PromptEmbedsCacheStats stats = cache.stats();
    Totals totals = cache.totals();

    cache.canHold(0);
    cache.canHold(SIZE);
    cache.canHold(Long.MAX_VALUE);
    cache.longestPayload();

    assertThat(cache.stats()).isEqualTo(stats);
    assertThat(cache.totals()).isEqualTo(totals);
    putAll("d");
    assertThat(held()).containsExactly("b", "c", "d");
  }

  @Test
  void admits_answersLikeCanHold_andCountsWhatIsTooLarge() {
    assertThat(cache.admits(0)).isFalse();
    assertThat(cache.admits(3 * CHARGE - OVERHEAD)).isTrue();
    assertThat(cache.stats().oversizeRejections()).isZero();

    assertThat(cache.admits(3 * CHARGE - OVERHEAD + 1)).isFalse();
    assertThat(cache.stats().oversizeRejections()).isOne();
  }

  // Counters

  @Test
  void hitRatio_beforeAnyLookup_isZero() {
    putAll("a");

    assertThat(cache.stats().hitRatio()).isEqualTo(0.0);
  }

  @Test
  void lookups_hitsAndMisses_areCounted() {
    putAll("a");
    hit("a");
    hit("a");
    hit("a");
    hit("b");

    assertThat(cache.stats()).isEqualTo(new PromptEmbedsCacheStats(3 * CHARGE, 1, 3, 4, 0, CHARGE));
    assertThat(cache.stats().hitRatio()).isEqualTo(0.75);
    assertThat(cache.totals()).isEqualTo(new Totals(3, 1, 1, 0, 0));
  }

  @Test
  void stats_areAsWhenTheyWereTaken() {
    PromptEmbedsCacheStats before = cache.stats();

    putAll("a");
    hit("a");

    assertThat(before).isEqualTo(new PromptEmbedsCacheStats(3 * CHARGE, 0, 0, 0, 0, 0));
  }

  @Test
  void clear_dropsAllAndResetsEveryStatistic_whileTotalsGoOn() {
    putAll("a", "b", "c", "d");
    held();
    put("x", 3 * CHARGE);
    assertThat(cache.totals()).isEqualTo(new Totals(3, 3, 4, 1, 1));

    cache.clear();

    assertThat(cache.stats()).isEqualTo(new PromptEmbedsCacheStats(3 * CHARGE, 0, 0, 0, 0, 0));
    assertThat(cache.stats().hitRatio()).isEqualTo(0.0);
    assertThat(cache.totals()).isEqualTo(new Totals(3, 3, 4, 1, 1));
    assertThat(cache.memoryBytes()).isZero();
    assertThat(held()).isEmpty();
  }

  @Test
  void clearedCache_usedAgain_countsFromTheClear_andStaysSizedAsItWas() {
    putAll("a", "b", "c", "d");
    held();
    put("x", 3 * CHARGE);
    cache.clear();

    putAll("a", "b", "c", "d");
    hit("d");
    hit("a");
    put("x", 3 * CHARGE);

    assertThat(cache.stats())
        .isEqualTo(new PromptEmbedsCacheStats(3 * CHARGE, 3, 1, 2, 1, 3 * CHARGE));
    assertThat(cache.totals()).isEqualTo(new Totals(4, 4, 8, 2, 2));
  }

  @Test
  void removal_ofAnEntry_givesItsRoomBackAndTouchesNoCounter() {
    putAll("a", "b", "c");

    cache.remove("b", null);
    cache.remove("b", null);
    cache.remove("x", null);

    assertThat(cache.stats())
        .isEqualTo(new PromptEmbedsCacheStats(3 * CHARGE, 2, 0, 0, 0, 2 * CHARGE));
    assertThat(cache.totals()).isEqualTo(new Totals(0, 0, 3, 0, 0));
    assertThat(cache.memoryBytes()).isEqualTo(2048);
    putAll("d");
    assertThat(held()).containsExactly("a", "c", "d");
  }

  // Scopes

  @Test
  void noSalt_andTheEmptyOne_areOneScope() {
    cache.put("a", Payloads.buffer(1, SIZE), null);
    assertThat(Payloads.read(cache, "a", "")).isEqualTo(Payloads.bytes(1, SIZE));

    cache.put("a", Payloads.buffer(2, SIZE), "");
    assertThat(Payloads.read(cache, "a", null)).isEqualTo(Payloads.bytes(2, SIZE));
    assertThat(cache.stats().entries()).isOne();
  }

  @Test
  void differentSalts_seeNothingOfEachOther() {
    cache.put("a", Payloads.buffer(1, SIZE), "s");
    cache.put("a", Payloads.buffer(2, SIZE), "t");

    assertThat(Payloads.read(cache, "a", "s")).isEqualTo(Payloads.bytes(1, SIZE));
    assertThat(Payloads.read(cache, "a", "t")).isEqualTo(Payloads.bytes(2, SIZE));
    assertThat(cache.get("a", null)).isNull();
    assertThat(cache.get("a", "st")).isNull();

    cache.remove("a", "t");
    cache.remove("a", null);
    assertThat(Payloads.read(cache, "a", "s")).isNotNull();
    assertThat(Payloads.read(cache, "a", "t")).isNull();
  }

  static List<Consumer<PromptEmbedsCache>> callsThatNameNoKey() {
    List<Consumer<PromptEmbedsCache>> calls = new ArrayList<>();
    for (String[] key :
        List.of(
            new String[] {"a", "s\0"},
            new String[] {"a", "\0"},
            new String[] {"a", "\ud83c"},
            new String[] {"\udfbc", null})) {
      calls.add(cache -> cache.get(key[0], key[1]));
      calls.add(cache -> cache.put(key[0], Payloads.buffer(1, SIZE), key[1]));
      calls.add(cache -> cache.remove(key[0], key[1]));
    }
    return calls;
  }

  @ParameterizedTest
  @MethodSource("callsThatNameNoKey")
  void nulOrHalfAPair_isRefused_whateverIsAsked(Consumer<PromptEmbedsCache> call) {
    putAll("a");
    PromptEmbedsCacheStats stats = cache.stats();

    assertThatThrownBy(() -> call.accept(cache)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> call.accept(new PromptEmbedsCache(0)))
        .isInstanceOf(IllegalArgumentException.class);

    assertThat(cache.stats()).isEqualTo(stats);
    assertThat(cache.memoryBytes()).isEqualTo(1024);
  }

  // Bytes

  @ParameterizedTest
  @ValueSource(
      ints = {
        1,
        2,
        511,
        512,
        513,
        1023,
        1024,
        1025,
        MIB - 1,
        MIB,
        MIB + 1,
        2 * MIB + 513,
        16 * MIB - 1,
        16 * MIB,
        16 * MIB + 1,
        40 * MIB,
        40 * MIB + 511
      })
  void payload_ofAnyLength_comesBackByteForByte(int size) {
    PromptEmbedsCache large = new PromptEmbedsCache(200L * MIB);
    byte[] bytes = Payloads.bytes(size, size);

    assertThat(large.put("direct", ByteBuffer.wrap(bytes), null)).isTrue();
    assertThat(large.memoryBytes()).isEqualTo(Payloads.units(size));
    storeInChunks(large, "announced", bytes, size);
    storeInChunks(large, "not announced", bytes, 0);
    storeInChunks(large, "announced too long", bytes, size + 100L * MIB);
    storeInChunks(large, "announced too short", bytes, size / 2);

    assertThat(large.stats().entries()).isEqualTo(5 - large.totals().evictions());
    for (String identifier : List.of("direct", "announced", "not announced")) {
      byte[] back = Payloads.read(large, identifier, null);
      assertThat(back == null || Arrays.equals(back, bytes)).as(identifier).isTrue();
    }
    assertThat(Payloads.read(large, "announced too long", null)).isEqualTo(bytes);
    assertThat(Payloads.read(large, "announced too short", null)).isEqualTo(bytes);
    assertThat(large.memoryBytes()).isEqualTo(large.stats().entries() * Payloads.units(size));
  }

  private static void storeInChunks(
      PromptEmbedsCache cache, String identifier, byte[] bytes, long announced) {
    Upload upload = cache.upload(announced);
    int chunk = 1;
    for (int sent = 0; sent < bytes.length; sent += chunk) {
      chunk = Math.min(Math.min(chunk * 3, 70_001), bytes.length - sent);
      upload.append(ByteBuffer.wrap(bytes, sent, chunk));
      assertThat(upload.length()).isEqualTo(sent + chunk);
    }
    assertThat(cache.put(identifier, upload, null)).isTrue();
  }

  @Test
  void put_takesWhatRemainsOfABuffer_ofAnyKind() {
    byte[] bytes = Payloads.bytes(5, 3000);
    ByteBuffer direct = ByteBuffer.allocateDirect(3000).put(bytes).position(100).limit(1100);
    ByteBuffer readOnly = ByteBuffer.wrap(bytes, 2000, 10).slice().asReadOnlyBuffer();

    cache.put("a", direct, null);
    cache.put("b", readOnly, null);

    assertThat(direct.hasRemaining()).isFalse();
    assertThat(direct.limit()).isEqualTo(1100);
    assertThat(Payloads.read(cache, "a", null)).isEqualTo(Arrays.copyOfRange(bytes, 100, 1100));
    assertThat(Payloads.read(cache, "b", null)).isEqualTo(Arrays.copyOfRange(bytes, 2000, 2010));
  }

  @Test
  void payload_laidIntoTheGapsOfOthers_comesBackByteForByte() {
    PromptEmbedsCache large = new PromptEmbedsCache(4L * MIB);
    for (int i = 0; i < 600; i++) {
      put(large, "id-" + i, 1 + i % 2000);
    }
    for (int i = 0; i < 600; i += 2) {
      large.remove("id-" + i, null);
    }

    put(large, "in the gaps", MIB);

    assertThat(Payloads.read(large, "in the gaps", null))
        .isEqualTo(Payloads.bytes("in the gaps".hashCode(), MIB));
    for (int i = 1; i < 600; i += 2) {
      String identifier = "id-" + i;
      assertThat(Payloads.read(large, identifier, null))
          .as(identifier)
          .isEqualTo(Payloads.bytes(identifier.hashCode(), 1 + i % 2000));
    }
  }

  @Test
  void slice_beginsWhereAsked_andIsNeverEmpty() {
    PromptEmbedsCache large = new PromptEmbedsCache(40L * MIB);
    byte[] bytes = Payloads.bytes(3, 20 * MIB);
    large.put("a", ByteBuffer.wrap(bytes), null);

    try (Payload payload = large.get("a", null)) {
      assertThat(payload.length()).isEqualTo(20 * MIB);
      for (int offset : new int[] {0, 1, 511, 512, MIB - 1, MIB, 16 * MIB - 1, 16 * MIB}) {
        ByteBuffer slice = payload.slice(offset, 700);
        assertThat(slice.remaining()).isBetween(1, 700);
        assertThat(slice.isReadOnly()).isTrue();
        assertThat(slice)
            .as("at %d", offset)
            .isEqualTo(ByteBuffer.wrap(bytes, offset, slice.remaining()));
      }
      assertThat(payload.slice(20 * MIB - 1, 700).remaining()).isOne();
    }
  }

  @Test
  void slice_outsideThePayload_throws() {
    putAll("a");

    try (Payload payload = cache.get("a", null)) {
      assertThatThrownBy(() -> payload.slice(-1, 1)).isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> payload.slice(SIZE, 1))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> payload.slice(0, 0)).isInstanceOf(IndexOutOfBoundsException.class);
    }
  }

  // Memory

  static List<Consumer<PromptEmbedsCache>> waysOutOfTheCache() {
    return List.of(
        cache -> put(cache, "x", 3 * CHARGE - OVERHEAD),
        cache -> cache.put("a", Payloads.buffer(2, 3 * CHARGE - OVERHEAD), null),
        cache -> cache.remove("a", null),
        PromptEmbedsCache::clear);
  }

  @ParameterizedTest
  @MethodSource("waysOutOfTheCache")
  void heldPayload_thatLeavesTheCache_isFreedWithTheLastClose(Consumer<PromptEmbedsCache> leave) {
    putAll("a");
    Payload first = cache.get("a", null);
    Payload second = cache.get("a", null);
    first.hold();
    assertThat(cache.lingeringBytes()).isZero();
    assertThat(cache.memoryBytes()).isEqualTo(1024);

    leave.accept(cache);
    long others = cache.stats().entries() == 0 ? 0 : Payloads.units(3 * CHARGE - OVERHEAD);
    byte[] expected = Payloads.bytes("a".hashCode(), SIZE);
    for (int holds = 3; holds > 0; holds--) {
      assertThat(cache.lingeringBytes()).isEqualTo(SIZE);
      assertThat(cache.memoryBytes()).isEqualTo(others + 1024);
      put("y", SIZE);
      cache.remove("y", null);
      assertThat(Payloads.read(first)).isEqualTo(expected);
      others = cache.stats().entries() == 0 ? 0 : others;
      (holds == 2 ? second : first).close();
    }

    assertThat(cache.lingeringBytes()).isZero();
    assertThat(cache.memoryBytes()).isZero();
  }

  @ParameterizedTest
  @MethodSource("waysOutOfTheCache")
  void payloadThatNobodyHolds_leavingTheCache_isFreedAtOnce(Consumer<PromptEmbedsCache> leave) {
    putAll("a");

    leave.accept(cache);

    assertThat(cache.lingeringBytes()).isZero();
    assertThat(cache.memoryBytes())
        .isEqualTo(cache.stats().entries() == 0 ? 0 : Payloads.units(3 * CHARGE - OVERHEAD));
  }

  @Test
  void closedPayload_thatIsStillInTheCache_isNotFreed() {
    putAll("a");

    cache.get("a", null).close();
    cache.get("a", null).close();

    assertThat(cache.memoryBytes()).isEqualTo(1024);
    assertThat(Payloads.read(cache, "a", null)).isEqualTo(Payloads.bytes("a".hashCode(), SIZE));
  }

  @Test
  void discardedUpload_freesItsMemory() {
    Upload upload = uploadOf(SIZE);
    assertThat(cache.memoryBytes()).isGreaterThanOrEqualTo(1024);

    upload.discard();
    upload.discard();

    assertThat(cache.memoryBytes()).isZero();
  }

  @Test
  void refusedUpload_freesItsMemory() {
    Upload unnamed = uploadOf(SIZE);
    assertThat(cache.put("a", uploadOf(3 * CHARGE), null)).isFalse();
    assertThat(cache.put("a", cache.upload(SIZE), null)).isFalse();
    assertThatThrownBy(() -> cache.put("a", unnamed, "\0"))
        .isInstanceOf(IllegalArgumentException.class);

    assertThat(cache.memoryBytes()).isZero();
    assertThat(cache.stats().entries()).isZero();
  }

  @Test
  void upload_untilItIsPut_isSeenAndChargedNowhere() {
    Upload upload = uploadOf(SIZE);

    assertThat(cache.stats()).isEqualTo(new PromptEmbedsCacheStats(3 * CHARGE, 0, 0, 0, 0, 0));
    assertThat(hit("a")).isFalse();
    cache.clear();
    assertThat(cache.put("a", upload, null)).isTrue();

    assertThat(Payloads.read(cache, "a", null)).isEqualTo(Payloads.bytes(1, SIZE));
    assertThat(cache.memoryBytes()).isEqualTo(1024);
  }

  @Test
  void announcedUpload_takesNoMoreThanARunAhead() {
    PromptEmbedsCache large = new PromptEmbedsCache(1L << 40);
    Upload upload = large.upload(1L << 39);
    assertThat(large.memoryBytes()).isZero();

    upload.append(Payloads.buffer(1, 1));

    assertThat(large.memoryBytes()).isEqualTo(MIB);
  }

  @Test
  void trim_afterClear_leavesTheCacheUsable() {
    PromptEmbedsCache large = new PromptEmbedsCache(100L * MIB);
    for (int round = 0; round < 3; round++) {
      put(large, "a", 40 * MIB);
      put(large, "b", 20 * MIB);
      large.clear();
      large.trim();
      assertThat(large.memoryBytes()).isZero();
    }

    put(large, "a", 20 * MIB);
    put(large, "b", 20 * MIB);
    large.remove("a", null);
    large.trim();
    put(large, "c", 40 * MIB);
    large.trim();

    for (String identifier : List.of("b", "c")) {
      int size = identifier.equals("b") ? 20 * MIB : 40 * MIB;
      assertThat(Payloads.read(large, identifier, null))
          .isEqualTo(Payloads.bytes(identifier.hashCode(), size));
    }
    assertThat(large.memoryBytes()).isEqualTo(60L * MIB);
  }

  @Test
  void trim_whilePayloadsAreHeldAndReceived_takesNothingFromThem() {
    PromptEmbedsCache large = new PromptEmbedsCache(100L * MIB);
    put(large, "a", 17 * MIB);
    Payload held = large.get("a", null);
    Upload upload = large.upload(0);
    upload.append(Payloads.buffer(9, 17 * MIB));
    large.clear();

    large.trim();
    upload.append(Payloads.buffer(9, MIB));

    assertThat(Payloads.read(held)).isEqualTo(Payloads.bytes("a".hashCode(), 17 * MIB));
    held.close();
    large.trim();
    large.put("b", upload, null);
    byte[] back = Payloads.read(large, "b", null);
    assertThat(ByteBuffer.wrap(back, 0, 17 * MIB)).isEqualTo(Payloads.buffer(9, 17 * MIB));
    assertThat(ByteBuffer.wrap(back, 17 * MIB, MIB)).isEqualTo(Payloads.buffer(9, MIB));
  }

  // Misuse

  @Test
  void freedPayload_usedInAnyWay_throws() {
    putAll("a");
    Payload payload = cache.get("a", null);
    cache.remove("a", null);
    payload.close();

    assertThatThrownBy(() -> payload.slice(0, 1)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(payload::hold).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(payload::close).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(payload::close).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(payload::hold).isInstanceOf(IllegalStateException.class);
    assertThat(cache.memoryBytes()).isZero();
    assertThat(cache.lingeringBytes()).isZero();
  }

  @Test
  void endedUpload_usedInAnyWay_throws() {
    Upload stored = uploadOf(SIZE);
    cache.put("a", stored, null);
    Upload discarded = uploadOf(SIZE);
    discarded.discard();

    for (Upload upload : List.of(stored, discarded)) {
      assertThatThrownBy(() -> upload.append(Payloads.buffer(1, 1)))
          .isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(() -> upload.append(ByteBuffer.allocate(0)))
          .isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(() -> cache.put("b", upload, null))
          .isInstanceOf(IllegalStateException.class);
      upload.discard();
    }

    assertThat(Payloads.read(cache, "a", null)).isEqualTo(Payloads.bytes(1, SIZE));
    assertThat(cache.stats().entries()).isOne();
    assertThat(cache.memoryBytes()).isEqualTo(1024);
  }
}
