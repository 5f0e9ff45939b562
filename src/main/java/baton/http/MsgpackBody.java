package baton.http;

import baton.msgpack.MsgpackException;
import baton.msgpack.MsgpackReader;
import baton.msgpack.MsgpackReader.Type;
import java.util.ArrayDeque;
import java.util.Deque;

/** A MessagePack body. */
final class MsgpackBody extends BodyReader {
  private final MsgpackReader reader;

  /** Entries left in each open map. */
  private final Deque<Integer> entries = new ArrayDeque<>();

  MsgpackBody(byte[] bytes, int length) {
    reader = new MsgpackReader(bytes, 0, length);
  }

  @Override
  void openObject(String field) {
    try {
      entries.push(reader.mapHeader());
    } catch (MsgpackException e) {
      throw refusal(e, field, "a map");
    }
  }

  @Override
  String readField() {
    int left = entries.pop();
    if (left == 0) {
      return null;
    }
    entries.push(left - 1);
    try {
      return reader.string();
    } catch (MsgpackException e) {
      throw malformed(
          e.kind() == MsgpackException.Kind.TYPE ? "a map's keys must be strings" : e.getMessage());
    }
  }

  @Override
  boolean tryNull() {
    try {
      return reader.tryNil();
    } catch (MsgpackException e) {
      throw malformed(e.getMessage());
    }
  }

  @Override
  String string(String field) {
    try {
      return reader.string();
    } catch (MsgpackException e) {
      throw refusal(e, field, "a string");
    }
  }

  @Override
  long integer(String field) {
    try {
      return reader.int64();
    } catch (MsgpackException e) {
      throw refusal(e, field, "an integer");
    }
  }

  @Override
  int[] tokens(String field) {
    try {
      return reader.type() == Type.BINARY ? binaryTokens(field) : arrayTokens(field);
    } catch (MsgpackException e) {
      throw refusal(e, field, "an array of integers, or binary");
    }
  }

  private int[] binaryTokens(String field) {
    int length = reader.binaryHeader();
    if (length % Integer.BYTES != 0) {
      throw BadRequest.field(
          "invalid_value", field, "must be int32 values of 4 bytes each, not " + length + " bytes");
    }
    int[] tokens = new int[length / Integer.BYTES];
    int at = reader.position();
    for (int i = 0; i < tokens.length; i++, at += Integer.BYTES) {
      tokens[i] = reader.littleEndianInt(at);
    }
    reader.advance(length);
    return tokens;
  }

  private int[] arrayTokens(String field) {
    int[] tokens = new int[reader.arrayHeader()];
    for (int i = 0; i < tokens.length; i++) {
      long value = element(field, i, true);
      tokens[i] = (int) value;
      if (tokens[i] != value) {
        throw notToken(field, i);
      }
    }
    return tokens;
  }

  @Override
  long[] hashes(String field) {
    try {
      long[] hashes = new long[reader.arrayHeader()];
      for (int i = 0; i < hashes.length; i++) {
        hashes[i] = element(field, i, false);
      }
      return hashes;
    } catch (MsgpackException e) {
      throw refusal(e, field, "an array of integers");
    }
  }

  private long element(String field, int index, boolean signed) {
    try {
      return signed ? reader.int64() : reader.uint64();
    } catch (MsgpackException e) {
      throw switch (e.kind()) {
        case TYPE -> notInteger(field, index);
        case RANGE -> signed ? notToken(field, index) : notHash(field, index);
        case MALFORMED -> malformed(e.getMessage());
      };
    }
  }

  @Override
  void end() {
    if (reader.hasRemaining()) {
      throw malformed("bytes follow the body's map");
    }
  }

  @Override
  BadRequest malformed(String problem) {
    return BadRequest.of(400, "invalid_msgpack", "the body is not valid MessagePack: " + problem);
  }

  private BadRequest refusal(MsgpackException e, String field, String wanted) {
    if (e.kind() == MsgpackException.Kind.MALFORMED) {
      return malformed(e.getMessage());
    }
    if (field == null) {
      return malformed("its root must be " + wanted);
    }
    return e.kind() == MsgpackException.Kind.RANGE
        ? outOfRange(field)
        : BadRequest.type(field, wanted);
  }
}
