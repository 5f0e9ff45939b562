package baton.http;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;

/**
 * A request body, read once from its first byte to its last. Fields come in the sender's order:
 * {@link #nextField} names one, and exactly one typed read takes its value. What does not fit is a
 * {@link BadRequest}.
 */
abstract sealed class BodyReader permits JsonBody, MsgpackBody {
  private final Deque<Set<String>> objects = new ArrayDeque<>();

  /** The body as a reader of its type. */
  static BodyReader of(Media media, byte[] bytes, int length) {
    return media == Media.JSON ? new JsonBody(bytes, length) : new MsgpackBody(bytes, length);
  }

  /**
   * Enters an object.
   *
   * @param field whose value it is, or null for the body itself
   */
  final void beginObject(String field) {
    openObject(field);
    objects.push(new HashSet<>());
  }

  /** The next field's name, or null at the object's end, which is passed then. */
  final String nextField() {
    String name = readField();
    if (name == null) {
      objects.pop();
    } else if (!objects.getFirst().add(name)) {
      throw malformed("the field \"" + shortened(name) + "\" is given twice");
    }
    return name;
  }

  static BadRequest unknownField(String path, String name) {
    return BadRequest.field("unknown_field", path + shortened(name), "is no field of this request");
  }

  private static String shortened(String name) {
    return name.length() > 64 ? name.substring(0, 64) + "…" : name;
  }

  abstract void openObject(String field);

  abstract String readField();

  /** Passes a null, if one is next. */
  abstract boolean tryNull();

  abstract String string(String field);

  /** An integer that fits 64 bits. */
  abstract long integer(String field);

  /** An array of int32. */
  abstract int[] tokens(String field);

  /** An array of unsigned 64-bit integers. */
  abstract long[] hashes(String field);

  /** Fails if anything follows the body's object. */
  abstract void end();

  abstract BadRequest malformed(String problem);

  static BadRequest notToken(String field, int index) {
    return BadRequest.element("out_of_range", field, index, "is outside the range of int32");
  }

  static BadRequest notHash(String field, int index) {
    return BadRequest.element(
        "out_of_range", field, index, "is outside the range of an unsigned 64-bit integer");
  }

  static BadRequest notInteger(String field, int index) {
    return BadRequest.element("invalid_type", field, index, "must be an integer");
  }

  static BadRequest outOfRange(String field) {
    return BadRequest.field("out_of_range", field, "does not fit 64 bits");
  }
}
