package baton.msgpack;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * A cursor over MessagePack bytes. Typed reads move it past one value (a header's read past the
 * header); a read that throws leaves it where it was. Not for several threads.
 *
 * @see <a href="https://github.com/msgpack/msgpack/blob/master/spec.md">The MessagePack format</a>
 */
public final class MsgpackReader {
  private static final VarHandle SHORT =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LITTLE_INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private static final int NIL = 0xc0;
  private static final int MAX_DEPTH = 32;

  /** The types a reader can tell apart before it reads. */
  public enum Type {
    NIL,
    BOOLEAN,
    INTEGER,
    FLOAT,
    STRING,
    BINARY,
    ARRAY,
    MAP,
    EXTENSION
  }

  private final byte[] bytes;
  private final int end;
  private int at;

  public MsgpackReader(byte[] bytes, int offset, int length) {
    this.bytes = bytes;
    this.at = offset;
    this.end = offset + length;
  }

  /** The index of the next unread byte. */
  public int position() {
    return at;
  }

  /** Moves to an index that {@link #position} or {@link #skip} told earlier. */
  public void position(int index) {
    at = index;
  }

  public boolean hasRemaining() {
    return at < end;
  }

  /**
   * Checks the whole of the next value without moving.
   *
   * @return the index after it
   * @throws MsgpackException MALFORMED if it is not well formed or nested deeper than 32
   */
  public int checkValue() {
    return endOf(at, MAX_DEPTH);
  }

  /** Moves past the next value, whatever it is. */
  public void skip() {
    at = endOf(at, MAX_DEPTH);
  }

  public Type type() {
    int b = head();
    if (b < 0x80 || b >= 0xe0) {
      return Type.INTEGER;
    }
    if (b < 0x90) {
      return Type.MAP;
    }
    if (b < 0xa0) {
      return Type.ARRAY;
    }
    if (b < 0xc0) {
      return Type.STRING;
    }
    return switch (b) {
      case NIL -> Type.NIL;
      case 0xc2, 0xc3 -> Type.BOOLEAN;
      case 0xc4, 0xc5, 0xc6 -> Type.BINARY;
      case 0xca, 0xcb -> Type.FLOAT;
      case 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3 -> Type.INTEGER;
      case 0xd9, 0xda, 0xdb -> Type.STRING;
      case 0xdc, 0xdd -> Type.ARRAY;
      case 0xde, 0xdf -> Type.MAP;
      case 0xc7, 0xc8, 0xc9, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8 -> Type.EXTENSION;
      default -> throw malformed("the byte 0xc1 starts no MessagePack value");
    };
  }

  /** Moves past a nil, if one is next. */
  public boolean tryNil() {
    if (head() != NIL) {
      return false;
    }
    at++;
    return true;
  }

  /** An array's element count, at most the bytes that are left. */
  public int arrayHeader() {
    int b = head();
    return b >= 0x90 && b < 0xa0 ? fixed(b & 0x0f, 1) : header(b, 0xdc, 1, "an array");
  }

  /** A map's entry count, at most half the bytes that are left. */
  public int mapHeader() {
    int b = head();
    return b >= 0x80 && b < 0x90 ? fixed(b & 0x0f, 2) : header(b, 0xde, 2, "a map");
  }

  private int fixed(int count, int bytesEach) {
    requireElements(at + 1, count, bytesEach);
    at++;
    return count;
  }

  private int header(int b, int code16, int bytesEach, String wanted) {
    int size;
    if (b == code16) {
      size = 2;
    } else if (b == code16 + 1) {
      size = 4;
    } else {
      throw wrongType(wanted);
    }
    long count = length(at + 1, size);
    requireElements(at + 1 + size, count, bytesEach);
    at += 1 + size;
    return (int) count;
  }

  private void requireElements(int from, long count, int bytesEach) {
    if (count * bytesEach > end - from) {
      throw malformed("more elements announced than bytes are left");
    }
  }

  /** An integer that fits 64 bits signed. */
  public long int64() {
    int from = at;
    boolean unsigned = head() == 0xcf;
    long value = bits64();
    if (unsigned && value < 0) {
      at = from;
      throw range("an integer above 9223372036854775807");
    }
    return value;
  }

  /** An integer from 0 to 2^64-1, as its 64 bits. */
  public long uint64() {
    int from = at;
    boolean unsigned = head() == 0xcf;
    long value = bits64();
    if (!unsigned && value < 0) {
      at = from;
      throw range("a negative integer");
    }
    return value;
  }

  /** The 64 bits of an integer, signed or unsigned. */
  public long bits64() {
    int b = head();
    if (b < 0x80 || b >= 0xe0) {
      at++;
      return (byte) b;
    }
    return switch (b) {
      case 0xcc -> integer(1) & 0xff;
      case 0xcd -> integer(2) & 0xffff;
      case 0xce -> integer(4) & 0xffff_ffffL;
      case 0xcf, 0xd3 -> integer(8);
      case 0xd0 -> integer(1);
      case 0xd1 -> integer(2);
      case 0xd2 -> integer(4);
      default -> throw wrongType("an integer");
    };
  }

  private long integer(int size) {
    requireBytes(at + 1, size);
    int from = at + 1;
    at = from + size;
    return switch (size) {
      case 1 -> bytes[from];
      case 2 -> (short) SHORT.get(bytes, from);
      case 4 -> (int) INT.get(bytes, from);
      default -> (long) LONG.get(bytes, from);
    };
  }

  /** A string, which must be UTF-8. */
  public String string() {
    int from = at;
    int length = stringLength();
    try {
      String text =
          StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, at, length)).toString();
      at += length;
      return text;
    } catch (CharacterCodingException e) {
      at = from;
      throw malformed("text that is not UTF-8");
    }
  }

  /**
   * A string compared with known ones, without making it.
   *
   * @return the index of the equal one, or -1
   */
  public int stringOf(byte[][] known) {
    int length = stringLength();
    int from = at;
    at += length;
    for (int i = 0; i < known.length; i++) {
      byte[] candidate = known[i];
      if (candidate.length == length
          && java.util.Arrays.equals(bytes, from, at, candidate, 0, length)) {
        return i;
      }
    }
    return -1;
  }

  private int stringLength() {
    int b = head();
    if (b >= 0xa0 && b < 0xc0) {
      requireBytes(at + 1, b & 0x1f);
      at++;
      return b & 0x1f;
    }
    return sized(b, 0xd9, "a string");
  }

  /**
   * The length of a binary value; its bytes start at {@link #position}, and {@link #advance} passes
   * them.
   */
  public int binaryHeader() {
    return sized(head(), 0xc4, "binary");
  }

  public void advance(int count) {
    requireBytes(at, count);
    at += count;
  }

  private int sized(int b, int code8, String wanted) {
    if (b < code8 || b > code8 + 2) {
      throw wrongType(wanted);
    }
    int size = 1 << (b - code8);
    long length = length(at + 1, size);
    requireBytes(at + 1 + size, length);
    at += 1 + size;
    return (int) length;
  }

  /** The bytes of this reader's array; for values that are read in place. */
  public byte[] array() {
    return bytes;
  }

  /** A little-endian int32 of this reader's array. */
  public int littleEndianInt(int index) {
    return (int) LITTLE_INT.get(bytes, index);
  }

  private int endOf(int from, int depth) {
    if (from >= end) {
      throw malformed("the value is cut off");
    }
    int b = bytes[from] & 0xff;
    if (b < 0x80 || b >= 0xe0) {
      return from + 1;
    }
    if (b < 0x90) {
      return endOfElements(from + 1, 2L * (b & 0x0f), depth);
    }
    if (b < 0xa0) {
      return endOfElements(from + 1, b & 0x0f, depth);
    }
    if (b < 0xc0) {
      return endOfBytes(from + 1, b & 0x1f);
    }
    return switch (b) {
      case NIL, 0xc2, 0xc3 -> from + 1;
      case 0xcc, 0xd0 -> endOfBytes(from + 1, 1);
      case 0xcd, 0xd1, 0xd4 -> endOfBytes(from + 1, 2);
      case 0xca, 0xce, 0xd2 -> endOfBytes(from + 1, 4);
      case 0xcb, 0xcf, 0xd3 -> endOfBytes(from + 1, 8);
      case 0xd5 -> endOfBytes(from + 1, 3);
      case 0xd6 -> endOfBytes(from + 1, 5);
      case 0xd7 -> endOfBytes(from + 1, 9);
      case 0xd8 -> endOfBytes(from + 1, 17);
      case 0xc4, 0xd9 -> endOfBytes(from + 2, length(from + 1, 1));
      case 0xc5, 0xda -> endOfBytes(from + 3, length(from + 1, 2));
      case 0xc6, 0xdb -> endOfBytes(from + 5, length(from + 1, 4));
      case 0xc7 -> endOfBytes(from + 2, length(from + 1, 1) + 1);
      case 0xc8 -> endOfBytes(from + 3, length(from + 1, 2) + 1);
      case 0xc9 -> endOfBytes(from + 5, length(from + 1, 4) + 1);
      case 0xdc -> endOfElements(from + 3, length(from + 1, 2), depth);
      case 0xdd -> endOfElements(from + 5, length(from + 1, 4), depth);
      case 0xde -> endOfElements(from + 3, 2 * length(from + 1, 2), depth);
      case 0xdf -> endOfElements(from + 5, 2 * length(from + 1, 4), depth);
      default -> throw malformed("the byte 0xc1 starts no MessagePack value");
    };
  }

  private int endOfElements(int from, long count, int depth) {
    requireElements(from, count, 1);
    if (depth == 0) {
      throw malformed("nested deeper than " + MAX_DEPTH);
    }
    int next = from;
    for (long i = 0; i < count; i++) {
      next = endOf(next, depth - 1);
    }
    return next;
  }

  private int endOfBytes(int from, long length) {
    requireBytes(from, length);
    return from + (int) length;
  }

  private long length(int from, int size) {
    requireBytes(from, size);
    return switch (size) {
      case 1 -> bytes[from] & 0xff;
      case 2 -> (short) SHORT.get(bytes, from) & 0xffff;
      default -> (int) INT.get(bytes, from) & 0xffff_ffffL;
    };
  }

  private void requireBytes(int from, long count) {
    if (count > (long) end - from) {
      throw malformed("the value is cut off");
    }
  }

  private int head() {
    if (at >= end) {
      throw malformed("the value is cut off");
    }
    return bytes[at] & 0xff;
  }

  private MsgpackException wrongType(String wanted) {
    return new MsgpackException(
        MsgpackException.Kind.TYPE,
        "not " + wanted + " but " + type().name().toLowerCase(java.util.Locale.ROOT));
  }

  private static MsgpackException malformed(String message) {
    return new MsgpackException(MsgpackException.Kind.MALFORMED, message);
  }

  private static MsgpackException range(String message) {
    return new MsgpackException(MsgpackException.Kind.RANGE, message);
  }
}
