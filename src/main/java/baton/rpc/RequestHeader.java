package baton.rpc;

import java.util.Objects;

/**
 * The 20 bytes in front of a request's body.
 *
 * @param seq the caller's number, 32 bits unsigned, echoed in the response
 * @param functionId see {@link RpcFunction#of}
 * @param length of the body, 0 to 2^32-1 bytes; the peer's word, to be capped before it is believed
 * @param attachLength of what follows the body, to be read and ignored; likewise
 */
public record RequestHeader(int seq, int functionId, long length, long attachLength) {
  /** Bytes. */
  public static final int SIZE = 20;

  /** The first byte of every frame, in both directions. */
  public static final byte MAGIC = 0x15;

  static final byte VERSION = 0;
  private static final byte STRUCT_PACK = 0;

  /**
   * Reads a header.
   *
   * @throws MalformedMessage HEADER, if fewer than {@link #SIZE} bytes are there or the magic byte,
   *     the version or the serialize type is another. The message type is ignored, as in C++
   */
  public static RequestHeader decode(byte[] bytes, int offset, int length) {
    requireStart(bytes, offset, length, SIZE);
    if (bytes[offset + 2] != STRUCT_PACK) {
      throw new MalformedMessage(
          MalformedMessage.Kind.HEADER, "serialize type " + (bytes[offset + 2] & 0xff) + ", not 0");
    }
    return new RequestHeader(
        (int) LittleEndian.INT.get(bytes, offset + 4),
        (int) LittleEndian.INT.get(bytes, offset + 8),
        Integer.toUnsignedLong((int) LittleEndian.INT.get(bytes, offset + 12)),
        Integer.toUnsignedLong((int) LittleEndian.INT.get(bytes, offset + 16)));
  }

  /** What both headers begin with. */
  static void requireStart(byte[] bytes, int offset, int length, int size) {
    Objects.checkFromIndexSize(offset, length, bytes.length);
    if (length < size) {
      throw new MalformedMessage(MalformedMessage.Kind.HEADER, "the header is cut off");
    }
    if (bytes[offset] != MAGIC) {
      throw new MalformedMessage(
          MalformedMessage.Kind.HEADER, "magic byte " + (bytes[offset] & 0xff) + ", not 21");
    }
    if (bytes[offset + 1] != VERSION) {
      throw new MalformedMessage(
          MalformedMessage.Kind.HEADER, "version " + (bytes[offset + 1] & 0xff) + ", not 0");
    }
  }

  /** Fills the first {@link #SIZE} bytes of a frame, of which the rest is the body. */
  static void encode(byte[] frame, int seq, RpcFunction function) {
    frame[0] = MAGIC;
    frame[1] = VERSION;
    frame[2] = STRUCT_PACK;
    LittleEndian.INT.set(frame, 4, seq);
    LittleEndian.INT.set(frame, 8, function.id());
    LittleEndian.INT.set(frame, 12, frame.length - SIZE);
  }
}
