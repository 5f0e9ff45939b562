package baton.msgpack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import baton.msgpack.MsgpackException.Kind;
import baton.msgpack.MsgpackReader.Type;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.value.Value;
import org.msgpack.value.ValueFactory;

/** The reader against msgpack-java's packer, and against bytes that nobody packed. */
class MsgpackReaderTest {
  private static final BigInteger UINT64_MAX = BigInteger.TWO.pow(64).subtract(BigInteger.ONE);
  private static final List<Integer> LENGTHS =
      List.of(0, 1, 15, 16, 31, 32, 33, 255, 256, 257, 65535, 65536, 70000);
  private static final List<Integer> COUNTS = List.of(0, 1, 15, 16, 17, 65535, 65536, 70000);

  @FunctionalInterface
  private interface Packing {
    void into(MessageBufferPacker packer) throws IOException;
  }

  private static byte[] packed(Packing packing) throws IOException {
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      packing.into(packer);
      return packer.toByteArray();
    }
  }

  /** Over the bytes in the middle of a larger array, so that nothing can be read by its ends. */
  private static MsgpackReader reader(byte... bytes) {
    byte[] larger = new byte[bytes.length + 40];
    Arrays.fill(larger, (byte) 0xc1);
    System.arraycopy(bytes, 0, larger, 20, bytes.length);
    return new MsgpackReader(larger, 20, bytes.length);
  }

  private static MsgpackReader hex(String hex) {
    return reader(HexFormat.of().parseHex(hex));
  }

  private static void assertRefused(Kind kind, MsgpackReader reader, Consumer<MsgpackReader> read) {
    int before = reader.position();
    assertThatExceptionOfType(MsgpackException.class)
        .isThrownBy(() -> read.accept(reader))
        .matches(e -> e.kind() == kind, kind.name());
    assertThat(reader.position()).isEqualTo(before);
  }

  /** Reads the next value with the method that fits its type; its elements are left unread. */
  private static Object read(MsgpackReader reader) {
    return switch (reader.type()) {
      case NIL -> reader.tryNil();
      case INTEGER -> reader.bits64();
      case STRING -> reader.string();
      case BINARY -> {
        int length = reader.binaryHeader();
        reader.advance(length);
        yield length;
      }
      case ARRAY -> reader.arrayHeader();
      case MAP -> reader.mapHeader();
      case BOOLEAN, FLOAT, EXTENSION -> {
        reader.skip();
        yield "skipped";
      }
    };
  }

  private static List<Long> integers() {
    List<Long> limits =
        List.of(0L, 31L, 32L, 127L, 128L, 255L, 32767L, 65535L, 1L << 31, (1L << 32) - 1);
    return Stream.concat(
            Stream.of(Long.MAX_VALUE, Long.MIN_VALUE),
            limits.stream().flatMap(v -> Stream.of(v - 1, v, v + 1, -v, -v - 1, 1 - v)))
        .distinct()
        .toList();
  }

  @ParameterizedTest
  @MethodSource("integers")
  void integer_packedInItsShortestForm_isReadBack(long value) throws IOException {
    byte[] bytes = packed(p -> p.packLong(value));
    MsgpackReader reader = reader(bytes);

    assertThat(reader.type()).isEqualTo(Type.INTEGER);
    assertThat(reader.checkValue()).isEqualTo(20 + bytes.length);
    assertThat(reader.bits64()).isEqualTo(value);
    assertThat(reader.hasRemaining()).isFalse();
    assertThat(reader(bytes).int64()).isEqualTo(value);
    if (value >= 0) {
      assertThat(reader(bytes).uint64()).isEqualTo(value);
    } else {
      assertRefused(Kind.RANGE, reader(bytes), MsgpackReader::uint64);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "cc01, 1",
    "ccff, 255",
    "cd0001, 1",
    "cdffff, 65535",
    "ce00000001, 1",
    "ceffffffff, 4294967295",
    "cf0000000000000001, 1",
    "d001, 1",
    "d0ff, -1",
    "d080, -128",
    "d1ffff, -1",
    "d18000, -32768",
    "d2ffffffff, -1",
    "d280000000, -2147483648",
    "d3ffffffffffffffff, -1",
    "d38000000000000000, -9223372036854775808",
    "cf7fffffffffffffff, 9223372036854775807"
  })
  void integer_inALongerForm_isReadBack(String hex, long value) {
    assertThat(hex(hex).int64()).isEqualTo(value);
    assertThat(hex(hex).bits64()).isEqualTo(value);
    assertThat(hex(hex).checkValue()).isEqualTo(20 + hex.length() / 2);
  }

  @Test
  void integer_above63Bits_isUnsignedOnly() throws IOException {
    byte[] most = packed(p -> p.packBigInteger(UINT64_MAX));
    byte[] half = packed(p -> p.packBigInteger(BigInteger.TWO.pow(63)));

    assertThat(reader(most).uint64()).isEqualTo(-1L);
    assertThat(reader(most).bits64()).isEqualTo(-1L);
    assertThat(reader(half).uint64()).isEqualTo(Long.MIN_VALUE);
    assertRefused(Kind.RANGE, reader(most), MsgpackReader::int64);
    assertRefused(Kind.RANGE, reader(half), MsgpackReader::int64);
  }

  @ParameterizedTest
  @FieldSource("LENGTHS")
  void string_ofEveryHeaderWidth_isReadBack(int length) throws IOException {
    String text = "x".repeat(length);
    byte[] bytes = packed(p -> p.packString(text));
    MsgpackReader reader = reader(bytes);

    assertThat(reader.type()).isEqualTo(Type.STRING);
    assertThat(reader.checkValue()).isEqualTo(20 + bytes.length);
    assertThat(reader.string()).isEqualTo(text);
    assertThat(reader.hasRemaining()).isFalse();
    byte[][] known = {{'y'}, text.getBytes(StandardCharsets.UTF_8)};
    assertThat(reader(bytes).stringOf(known)).isEqualTo(1);
    assertThat(reader(bytes).stringOf(new byte[][] {{'y'}})).isEqualTo(-1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"é", "模型-适配器", "🚀", "a\0b", "\uFFFF"})
  void string_ofAnyText_isReadBack(String text) throws IOException {
    assertThat(reader(packed(p -> p.packString(text))).string()).isEqualTo(text);
  }

  @ParameterizedTest
  @FieldSource("LENGTHS")
  void binary_ofEveryHeaderWidth_isReadInPlace(int length) throws IOException {
    byte[] content = new byte[length];
    Arrays.fill(content, (byte) 0x5a);
    byte[] bytes =
        packed(
            p -> {
              p.packBinaryHeader(length);
              p.writePayload(content);
            });
    MsgpackReader reader = reader(bytes);

    assertThat(reader.type()).isEqualTo(Type.BINARY);
    assertThat(reader.checkValue()).isEqualTo(20 + bytes.length);
    assertThat(reader.binaryHeader()).isEqualTo(length);
    int start = reader.position();
    assertThat(Arrays.copyOfRange(reader.array(), start, start + length)).isEqualTo(content);
    reader.advance(length);
    assertThat(reader.hasRemaining()).isFalse();
    assertRefused(Kind.MALFORMED, reader, r -> r.advance(1));
  }

  @ParameterizedTest
  @FieldSource("COUNTS")
  void array_ofEveryHeaderWidth_isReadBack(int count) throws IOException {
    byte[] bytes =
        packed(
            p -> {
              p.packArrayHeader(count);
              for (int i = 0; i < count; i++) {
                p.packInt(7);
              }
            });
    MsgpackReader reader = reader(bytes);

    assertThat(reader.type()).isEqualTo(Type.ARRAY);
    assertThat(reader.checkValue()).isEqualTo(20 + bytes.length);
    assertThat(reader.arrayHeader()).isEqualTo(count);
    assertThat(20 + bytes.length - reader.position()).isEqualTo(count);
  }

  @ParameterizedTest
  @FieldSource("COUNTS")
  void map_ofEveryHeaderWidth_isReadBack(int count) throws IOException {
    byte[] bytes =
        packed(
            p -> {
              p.packMapHeader(count);
              for (int i = 0; i < 2 * count; i++) {
                p.packInt(7);
              }
            });
    MsgpackReader reader = reader(bytes);

    assertThat(reader.type()).isEqualTo(Type.MAP);
    assertThat(reader.checkValue()).isEqualTo(20 + bytes.length);
    assertThat(reader.mapHeader()).isEqualTo(count);
    assertThat(20 + bytes.length - reader.position()).isEqualTo(2 * count);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 255, 256, 65535, 65536})
  void extension_ofEveryHeaderWidth_isSkipped(int length) throws IOException {
    byte[] bytes =
        packed(
            p -> {
              p.packExtensionTypeHeader((byte) -1, length);
              p.writePayload(new byte[length]);
              p.packNil();
            });
    MsgpackReader reader = reader(bytes);

    assertThat(reader.type()).isEqualTo(Type.EXTENSION);
    reader.skip();
    assertThat(reader.tryNil()).isTrue();
    assertThat(reader.hasRemaining()).isFalse();
  }

  @Test
  void nilBooleansAndFloats_areToldApartAndSkipped() throws IOException {
    MsgpackReader reader =
        reader(
            packed(
                p ->
                    p.packNil()
                        .packBoolean(true)
                        .packBoolean(false)
                        .packFloat(1.5f)
                        .packDouble(1.5)));

    assertThat(reader.type()).isEqualTo(Type.NIL);
    assertThat(reader.tryNil()).isTrue();
    for (Type type : List.of(Type.BOOLEAN, Type.BOOLEAN, Type.FLOAT, Type.FLOAT)) {
      assertThat(reader.tryNil()).isFalse();
      assertThat(reader.type()).isEqualTo(type);
      reader.skip();
    }
    assertThat(reader.hasRemaining()).isFalse();
  }

  @Test
  void littleEndianInt_ofTheArray_isReadInPlace() {
    MsgpackReader reader = hex("c4040102ff80");
    reader.binaryHeader();

    assertThat(reader.littleEndianInt(reader.position())).isEqualTo(0x80ff0201);
  }

  @Test
  void position_takenEarlier_canBeReturnedTo() {
    MsgpackReader reader = hex("01a161c0");
    int start = reader.position();
    reader.skip();
    reader.skip();
    reader.position(start);

    assertThat(reader.int64()).isEqualTo(1);
    assertThat(reader.string()).isEqualTo("a");
    assertThat(reader.tryNil()).isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "c0, NIL",
    "c2, BOOLEAN",
    "c3, BOOLEAN",
    "01, INTEGER",
    "ff, INTEGER",
    "cc80, INTEGER",
    "ca00000000, FLOAT",
    "cb0000000000000000, FLOAT",
    "a161, STRING",
    "d90161, STRING",
    "c40161, BINARY",
    "91c0, ARRAY",
    "dc0001c0, ARRAY",
    "810101, MAP",
    "de00010101, MAP",
    "d40101, EXTENSION",
    "c7000a, EXTENSION"
  })
  void typedRead_ofAnotherType_isRefusedWithoutMoving(String hex, Type type) {
    MsgpackReader reader = hex(hex);

    assertThat(reader.type()).isEqualTo(type);
    if (type != Type.INTEGER) {
      assertRefused(Kind.TYPE, reader, MsgpackReader::int64);
      assertRefused(Kind.TYPE, reader, MsgpackReader::uint64);
      assertRefused(Kind.TYPE, reader, MsgpackReader::bits64);
    }
    if (type != Type.STRING) {
      assertRefused(Kind.TYPE, reader, MsgpackReader::string);
      assertRefused(Kind.TYPE, reader, r -> r.stringOf(new byte[][] {{'a'}}));
    }
    if (type != Type.BINARY) {
      assertRefused(Kind.TYPE, reader, MsgpackReader::binaryHeader);
    }
    if (type != Type.ARRAY) {
      assertRefused(Kind.TYPE, reader, MsgpackReader::arrayHeader);
    }
    if (type != Type.MAP) {
      assertRefused(Kind.TYPE, reader, MsgpackReader::mapHeader);
    }
  }

  @Test
  void anyRead_atTheEnd_isRefusedAsMalformed() {
    for (Consumer<MsgpackReader> read : everyRead()) {
      assertRefused(Kind.MALFORMED, hex(""), read);
    }
  }

  @Test
  void anyRead_ofTheByteC1_isRefusedAsMalformed() {
    for (Consumer<MsgpackReader> read : everyRead()) {
      assertRefused(Kind.MALFORMED, hex("c1c1c1"), read);
    }
    assertRefused(Kind.MALFORMED, hex("9201c1"), MsgpackReader::skip);
  }

  private static List<Consumer<MsgpackReader>> everyRead() {
    return List.of(
        MsgpackReader::type,
        MsgpackReader::checkValue,
        MsgpackReader::skip,
        MsgpackReader::int64,
        MsgpackReader::uint64,
        MsgpackReader::bits64,
        MsgpackReader::string,
        r -> r.stringOf(new byte[0][]),
        MsgpackReader::binaryHeader,
        MsgpackReader::arrayHeader,
        MsgpackReader::mapHeader);
  }

  @Test
  void everyPrefix_ofAValue_isRefusedAsMalformed() throws IOException {
    byte[] bytes = packed(MsgpackReaderTest::packOneOfEach);

    assertThat(reader(bytes).checkValue()).isEqualTo(20 + bytes.length);
    for (int length = 0; length < bytes.length; length++) {
      byte[] prefix = Arrays.copyOf(bytes, length);
      assertRefused(Kind.MALFORMED, reader(prefix), MsgpackReader::checkValue);
      assertRefused(Kind.MALFORMED, reader(prefix), MsgpackReader::skip);
    }
  }

  private static void packOneOfEach(MessageBufferPacker p) throws IOException {
    p.packArrayHeader(22);
    for (long v : new long[] {1, -1, 200, 60_000, 1L << 31, 1L << 40, -100, -30_000, -1L << 31}) {
      p.packLong(v);
    }
    p.packLong(Long.MIN_VALUE).packBigInteger(UINT64_MAX).packFloat(1).packDouble(2).packNil();
    p.packBoolean(true).packString("short").packString("a".repeat(40)).packString("b".repeat(300));
    p.packBinaryHeader(300).writePayload(new byte[300]);
    p.packExtensionTypeHeader((byte) 3, 16).writePayload(new byte[16]);
    p.packExtensionTypeHeader((byte) 3, 20).writePayload(new byte[20]);
    p.packMapHeader(20);
    for (int i = 0; i < 20; i++) {
      p.packString("k" + i).packArrayHeader(i);
      for (int j = 0; j < i; j++) {
        p.packInt(j);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "cc", "cd00", "ce000000", "cf00000000000000", "d0", "d100", "d2000000",
        "d300000000000000", "a261", "d9", "d90161", "da0002", "db00000001", "c4",
        "c40161", "c50001", "c600000002"
      })
  void typedRead_ofACutOffValue_isRefusedWithoutMoving(String hex) {
    MsgpackReader whole = hex(hex);
    for (int length = 1; length < hex.length() / 2; length++) {
      MsgpackReader cut = hex(hex.substring(0, 2 * length));
      assertRefused(Kind.MALFORMED, cut, MsgpackReaderTest::read);
    }
    if (!hex.equals("d90161") && !hex.equals("c40161")) {
      assertRefused(Kind.MALFORMED, whole, MsgpackReaderTest::read);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ddffffffff",
        "dd7fffffff",
        "dd80000000",
        "dcffff",
        "9f",
        "dfffffffff",
        "df7fffffff",
        "df80000000",
        "deffff",
        "8f",
        "dbffffffff",
        "db7fffffff",
        "daffff",
        "d9ff",
        "bf",
        "c6ffffffff",
        "c67fffffff",
        "c680000000",
        "c5ffff",
        "c4ff",
        "c9ffffffff01",
        "c97fffffff01",
        "c8ffff01",
        "c7ff01",
        "d801"
      })
  void header_announcingMoreThanIsLeft_isRefusedWithoutAllocation(String hex) {
    MsgpackReader reader = hex(hex + "000000");

    assertRefused(Kind.MALFORMED, reader, MsgpackReader::checkValue);
    assertRefused(Kind.MALFORMED, reader, MsgpackReader::skip);
    if (reader.type() != Type.EXTENSION) {
      assertRefused(Kind.MALFORMED, reader, MsgpackReaderTest::read);
    }
  }

  @Test
  void mapHeader_withOneByteForEachEntry_isRefused() {
    assertRefused(Kind.MALFORMED, hex("820102"), MsgpackReader::mapHeader);
    assertRefused(Kind.MALFORMED, hex("820102"), MsgpackReader::checkValue);
    assertThat(hex("8201020304").mapHeader()).isEqualTo(2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"91", "8101", "dc0001", "dd00000001", "de000101"})
  void nesting_upTo32_isReadAndDeeperIsRefused(String level) {
    assertThat(hex(level.repeat(32) + "c0").checkValue())
        .isEqualTo(20 + 32 * level.length() / 2 + 1);
    assertRefused(Kind.MALFORMED, hex(level.repeat(33) + "c0"), MsgpackReader::checkValue);
    assertRefused(Kind.MALFORMED, hex(level.repeat(100_000) + "c0"), MsgpackReader::skip);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a180",
        "a1ff",
        "a2c328",
        "a2c080",
        "a3eda080",
        "a3e28228",
        "a4f4908080",
        "a1c3",
        "d901fe"
      })
  void string_thatIsNotUtf8_isRefusedWithoutMoving(String hex) {
    MsgpackReader reader = hex(hex);

    assertRefused(Kind.MALFORMED, reader, MsgpackReader::string);
    assertThat(reader.stringOf(new byte[][] {{'a'}})).isEqualTo(-1);
    assertThat(reader.hasRemaining()).isFalse();
  }

  /** A value grown from a seed; quicker than a tree of generators. */
  private static Value value(Random random, int depth) {
    return switch (random.nextInt(depth == 0 ? 8 : 10)) {
      case 0 -> ValueFactory.newInteger(random.nextLong() >> random.nextInt(64));
      case 1 -> ValueFactory.newInteger(new BigInteger(64, random));
      case 2 -> ValueFactory.newFloat(random.nextDouble());
      case 3 -> ValueFactory.newFloat(random.nextFloat());
      case 4 -> random.nextBoolean() ? ValueFactory.newNil() : ValueFactory.newBoolean(true);
      case 5 ->
          ValueFactory.newString(
              random
                  .ints(random.nextInt(300), 0, Character.MIN_SURROGATE)
                  .collect(
                      StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                  .toString());
      case 6 -> ValueFactory.newBinary(bytes(random));
      case 7 -> ValueFactory.newExtension((byte) random.nextInt(), bytes(random));
      case 8 ->
          ValueFactory.newArray(
              Stream.generate(() -> value(random, depth - 1))
                  .limit(random.nextInt(20))
                  .toArray(Value[]::new));
      default -> {
        ValueFactory.MapBuilder map = ValueFactory.newMapBuilder();
        for (int i = random.nextInt(20); i > 0; i--) {
          map.put(value(random, depth - 1), value(random, depth - 1));
        }
        yield map.build();
      }
    };
  }

  private static byte[] bytes(Random random) {
    byte[] bytes = new byte[random.nextInt(300)];
    random.nextBytes(bytes);
    return bytes;
  }

  @Property(tries = 500)
  void value_packedByMsgpackJava_endsWhereThePackerStopped(
      @ForAll long seed, @ForAll @Size(max = 8) byte[] after) throws IOException {
    byte[] bytes = packed(p -> p.packValue(value(new Random(seed), 3)));
    byte[] more = Arrays.copyOf(bytes, bytes.length + after.length);
    System.arraycopy(after, 0, more, bytes.length, after.length);
    MsgpackReader reader = reader(more);

    assertThat(reader.checkValue()).isEqualTo(20 + bytes.length);
    assertThat(reader.position()).isEqualTo(20);
    reader.skip();
    assertThat(reader.position()).isEqualTo(20 + bytes.length);
  }

  @Property(tries = 500)
  void value_cutAnywhere_isMalformed(
      @ForAll long seed, @ForAll @IntRange(max = 1_000_000) int where) throws IOException {
    byte[] bytes = packed(p -> p.packValue(value(new Random(seed), 3)));

    MsgpackReader cut = reader(Arrays.copyOf(bytes, where % bytes.length));

    assertRefused(Kind.MALFORMED, cut, MsgpackReader::checkValue);
  }

  @Property(tries = 2000)
  void bytes_ofAnyKind_areReadOrRefusedButNeverCrash(@ForAll @Size(max = 60) byte[] bytes) {
    for (Consumer<MsgpackReader> read : everyRead()) {
      MsgpackReader reader = reader(bytes);
      int before = reader.position();

      MsgpackException refused =
          catchThrowableOfType(MsgpackException.class, () -> read.accept(reader));

      if (refused != null) {
        assertThat(reader.position()).isEqualTo(before);
      }
      assertThat(reader.position()).isBetween(before, before + bytes.length);
    }
  }
}
