package baton.rpc;

import baton.rpc.MalformedMessage.Kind;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;

/**
 * A cursor over one struct_pack body. Every read moves it past one value, or throws a {@link
 * MalformedMessage} if the bytes end before the value does. What a body claims about its sizes is
 * checked against the bytes that are left before anything is allocated, so that a value takes
 * memory only in proportion to the bytes that were sent. Not for several threads.
 *
 * <p>It takes the plain form and the typed one, and any width of sizes: builds of C++ without
 * NDEBUG, Mooncake's Python wheels among them, send the typed form. Bytes after the last value are
 * nobody's business, as in C++.
 *
 * @see <a href="https://github.com/alibaba/yalantinglibs">struct_pack of yalantinglibs 0.6.0</a>
 */
final class StructPackReader {
  private static final char REPLACEMENT = '\uFFFD';

  private final byte[] bytes;
  private final int end;
  private final int width;
  private int at;

  /**
   * Reads what is in front of the payload.
   *
   * @throws MalformedMessage TYPE if the body is of another type, BODY if it is cut off or its
   *     literal is not the type's
   * @throws IndexOutOfBoundsException if offset and length are not within the array
   */
  StructPackReader(byte[] bytes, int offset, int length, BodyType type) {
    Objects.checkFromIndexSize(offset, length, bytes.length);
    this.bytes = bytes;
    this.at = offset;
    this.end = offset + length;
    int hash = int32();
    if (hash >>> 1 != type.hash() >>> 1) {
      throw MalformedMessage.otherType(hash & ~1, type);
    }
    boolean hasMeta = (hash & 1) != 0;
    int meta = hasMeta ? uint8() : 0;
    // the body's total length, of 0, 2, 4 or 8 bytes: the frame has told it already
    skip((meta & 3) == 0 ? 0 : 1 << (meta & 3));
    if ((meta & 4) != 0) {
      requireLiteral(type.literal());
    }
    this.width = 1 << (meta >> 3 & 3);
  }

  private void requireLiteral(byte[] literal) {
    int from = at;
    skip(literal.length + 1);
    if (!Arrays.equals(bytes, from, at - 1, literal, 0, literal.length) || bytes[at - 1] != 0) {
      throw malformed("the type literal is not the one of its hash");
    }
  }

  int uint16() {
    int from = at;
    skip(2);
    return (short) LittleEndian.SHORT.get(bytes, from) & 0xffff;
  }

  int int32() {
    int from = at;
    skip(4);
    return (int) LittleEndian.INT.get(bytes, from);
  }

  long int64() {
    int from = at;
    skip(8);
    return (long) LittleEndian.LONG.get(bytes, from);
  }

  /** A byte that must be 0 or 1; another is a sign that the peer means another layout. */
  boolean bool() {
    int flag = uint8();
    if (flag > 1) {
      throw malformed("a flag of " + flag + ", not 0 or 1");
    }
    return flag == 1;
  }

  /**
   * A string.
   *
   * @throws MalformedMessage TEXT if it is not UTF-8
   */
  String string() {
    int from = at;
    skip(size());
    from += width;
    String text = new String(bytes, from, at - from, StandardCharsets.UTF_8);
    // malformed bytes have become U+FFFD; so has a U+FFFD that was sent, hence the comparison
    if (text.indexOf(REPLACEMENT) >= 0) {
      byte[] again = text.getBytes(StandardCharsets.UTF_8);
      if (!Arrays.equals(bytes, from, at, again, 0, again.length)) {
        throw new MalformedMessage(Kind.TEXT, "text that is not UTF-8");
      }
    }
    return text;
  }

  /** A vector of int32, one copy from the frame to the array. */
  int[] ints() {
    int[] values = new int[count(Integer.BYTES)];
    int from = at;
    skip(Integer.BYTES * values.length);
    for (int i = 0; i < values.length; i++) {
      values[i] = (int) LittleEndian.INT.get(bytes, from + Integer.BYTES * i);
    }
    return values;
  }

  /** Null if it is absent. */
  <T> T optional(Function<StructPackReader, T> value) {
    return bool() ? value.apply(this) : null;
  }

  <T> Expected<T> expected(Function<StructPackReader, T> value) {
    return bool() ? Expected.of(value.apply(this)) : Expected.error(int32());
  }

  <T> List<T> list(Function<StructPackReader, T> element) {
    int count = count(1);
    List<T> list = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      list.add(element.apply(this));
    }
    return Collections.unmodifiableList(list);
  }

  /** In the order of the wire. */
  <T> Set<T> set(Function<StructPackReader, T> element) {
    int count = count(1);
    Set<T> set = new LinkedHashSet<>();
    for (int i = 0; i < count; i++) {
      set.add(element.apply(this));
    }
    return Collections.unmodifiableSet(set);
  }

  /** In the order of the wire; of two equal keys the first stays, as in C++. */
  <K, V> Map<K, V> map(Function<StructPackReader, K> key, Function<StructPackReader, V> value) {
    int count = count(2);
    Map<K, V> map = new LinkedHashMap<>();
    for (int i = 0; i < count; i++) {
      K nextKey = key.apply(this);
      map.putIfAbsent(nextKey, value.apply(this));
    }
    return Collections.unmodifiableMap(map);
  }

  /** The number of elements that follow, each of at least so many bytes. */
  private int count(int bytesEach) {
    int count = size();
    if (count > (end - at) / bytesEach) {
      throw malformed("more elements announced than bytes are left");
    }
    return count;
  }

  /** At most the bytes that are left. */
  private int size() {
    int from = at;
    skip(width);
    long size =
        switch (width) {
          case 1 -> bytes[from] & 0xff;
          case 2 -> (short) LittleEndian.SHORT.get(bytes, from) & 0xffff;
          case 4 -> Integer.toUnsignedLong((int) LittleEndian.INT.get(bytes, from));
          default -> (long) LittleEndian.LONG.get(bytes, from);
        };
    // below 0: above 2^63, since a size is unsigned
    if (size < 0 || size > end - at) {
      throw malformed("a size beyond the end");
    }
    return (int) size;
  }

  private int uint8() {
    int from = at;
    skip(1);
    return bytes[from] & 0xff;
  }

  private void skip(int count) {
    if (count > end - at) {
      throw malformed("the body is cut off");
    }
    at += count;
  }

  private static MalformedMessage malformed(String message) {
    return new MalformedMessage(Kind.BODY, message);
  }
}
