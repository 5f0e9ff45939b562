package baton.rpc;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * Writes one struct_pack body, in the plain form. All sizes of a body have one width, which the
 * largest of them decides, and it stands in front: so a body is described once and goes through
 * here twice, first to be measured, then to be written into an array that fits exactly.
 *
 * @see <a href="https://github.com/alibaba/yalantinglibs">struct_pack of yalantinglibs 0.6.0</a>
 */
final class StructPackWriter {
  /** By unsigned UTF-8 bytes, which is by code points, which is not {@link String}'s own order. */
  static final Comparator<String> BYTE_ORDER = StructPackWriter::compareBytes;

  /** Null while measuring. */
  private final byte[] out;

  private final int width;

  /** Where the next byte goes; while measuring, the bytes so far without the sizes. */
  private long at;

  private long sizes;
  private int largest;

  private StructPackWriter(byte[] out, int at, int width) {
    this.out = out;
    this.at = at;
    this.width = width;
  }

  /**
   * A frame: room for a header, then the body.
   *
   * @param header bytes to leave free in front
   * @param body writes the payload; called twice, and must do the same both times
   * @throws IllegalArgumentException if the frame would not fit an array
   */
  static byte[] frame(int header, BodyType type, Consumer<StructPackWriter> body) {
    StructPackWriter measure = new StructPackWriter(null, 0, 0);
    body.accept(measure);
    // a Java array or string never needs the fourth width, 8
    int widthCode = measure.largest < 1 << 8 ? 0 : measure.largest < 1 << 16 ? 1 : 2;
    int width = 1 << widthCode;
    int front = header + (widthCode == 0 ? 4 : 5);
    long length = front + measure.at + measure.sizes * width;
    if (length > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException("a frame of " + length + " bytes fits no array");
    }
    byte[] frame = new byte[(int) length];
    LittleEndian.INT.set(frame, header, type.hash() | (widthCode == 0 ? 0 : 1));
    if (widthCode != 0) {
      frame[header + 4] = (byte) (widthCode << 3);
    }
    body.accept(new StructPackWriter(frame, front, width));
    return frame;
  }

  void uint16(int value) {
    if (advance(2)) {
      LittleEndian.SHORT.set(out, (int) at - 2, (short) value);
    }
  }

  void int32(int value) {
    if (advance(4)) {
      LittleEndian.INT.set(out, (int) at - 4, value);
    }
  }

  void int64(long value) {
    if (advance(8)) {
      LittleEndian.LONG.set(out, (int) at - 8, value);
    }
  }

  void bool(boolean value) {
    if (advance(1)) {
      out[(int) at - 1] = (byte) (value ? 1 : 0);
    }
  }

  /** A string; half a surrogate pair becomes a question mark, as everywhere in the JDK. */
  void string(String value) {
    byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
    size(utf8.length);
    if (advance(utf8.length)) {
      System.arraycopy(utf8, 0, out, (int) at - utf8.length, utf8.length);
    }
  }

  /** A vector of int32. */
  void ints(int[] values) {
    size(values.length);
    int from = (int) at;
    if (advance((long) Integer.BYTES * values.length)) {
      for (int i = 0; i < values.length; i++) {
        LittleEndian.INT.set(out, from + Integer.BYTES * i, values[i]);
      }
    }
  }

  /**
   * An optional.
   *
   * @param value null for absent
   */
  <T> void optional(T value, BiConsumer<StructPackWriter, T> write) {
    bool(value != null);
    if (value != null) {
      write.accept(this, value);
    }
  }

  <T> void expected(Expected<T> value, BiConsumer<StructPackWriter, T> write) {
    bool(value.hasValue());
    if (value.hasValue()) {
      write.accept(this, value.value());
    } else {
      int32(value.error());
    }
  }

  <T> void list(List<T> values, BiConsumer<StructPackWriter, T> write) {
    size(values.size());
    for (T value : values) {
      write.accept(this, value);
    }
  }

  /** A set, ascending. */
  <T> void set(Set<T> values, Comparator<T> order, BiConsumer<StructPackWriter, T> write) {
    size(values.size());
    for (T value : inOrder(values, order)) {
      write.accept(this, value);
    }
  }

  /** A map, its keys ascending. */
  <K, V> void map(
      Map<K, V> values,
      Comparator<K> order,
      BiConsumer<StructPackWriter, K> writeKey,
      BiConsumer<StructPackWriter, V> writeValue) {
    size(values.size());
    for (Map.Entry<K, V> entry : inOrder(values.entrySet(), Map.Entry.comparingByKey(order))) {
      writeKey.accept(this, entry.getKey());
      writeValue.accept(this, entry.getValue());
    }
  }

  private <T> Collection<T> inOrder(Collection<T> values, Comparator<T> order) {
    if (out == null || values.size() < 2) {
      return values;
    }
    List<T> sorted = new ArrayList<>(values);
    sorted.sort(order);
    return sorted;
  }

  private void size(int size) {
    if (out == null) {
      sizes++;
      largest = Math.max(largest, size);
      return;
    }
    switch (width) {
      case 1 -> out[(int) at] = (byte) size;
      case 2 -> LittleEndian.SHORT.set(out, (int) at, (short) size);
      default -> LittleEndian.INT.set(out, (int) at, size);
    }
    at += width;
  }

  /** Moves past so many bytes; true if they are to be written, false while measuring. */
  private boolean advance(long count) {
    at += count;
    return out != null;
  }

  private static int compareBytes(String a, String b) {
    int shorter = Math.min(a.length(), b.length());
    for (int i = 0; i < shorter; i++) {
      char x = a.charAt(i);
      char y = b.charAt(i);
      if (x != y) {
        // surrogates stand for code points above every char that is none
        boolean sameKind = Character.isSurrogate(x) == Character.isSurrogate(y);
        return sameKind ? x - y : Character.isSurrogate(x) ? 1 : -1;
      }
    }
    return a.length() - b.length();
  }
}
