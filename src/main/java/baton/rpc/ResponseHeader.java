package baton.rpc;

/**
 * The 16 bytes in front of a response's body.
 *
 * @param errorCode 0 if the function ran, else 1 to 255: the body is an {@link RpcError}
 * @param seq of the request, 32 bits unsigned
 * @param length of the body, 0 to 2^32-1 bytes; the peer's word, to be capped before it is believed
 * @param attachLength of what follows the body, to be read and ignored; likewise
 */
public record ResponseHeader(int errorCode, int seq, long length, long attachLength) {
  /** Bytes. */
  public static final int SIZE = 16;

  /**
   * Reads a header.
   *
   * @throws MalformedMessage HEADER, if fewer than {@link #SIZE} bytes are there or the magic byte
   *     or the version is another; C++ looks at neither, and takes noise for an answer
   */
  public static ResponseHeader decode(byte[] bytes, int offset, int length) {
    RequestHeader.requireStart(bytes, offset, length, SIZE);
    return new ResponseHeader(
        bytes[offset + 2] & 0xff,
        (int) LittleEndian.INT.get(bytes, offset + 4),
        Integer.toUnsignedLong((int) LittleEndian.INT.get(bytes, offset + 8)),
        Integer.toUnsignedLong((int) LittleEndian.INT.get(bytes, offset + 12)));
  }

  /** Fills the first {@link #SIZE} bytes of a frame, of which the rest is the body. */
  static void encode(byte[] frame, int errorCode, int seq) {
    frame[0] = RequestHeader.MAGIC;
    frame[1] = RequestHeader.VERSION;
    frame[2] = (byte) errorCode;
    LittleEndian.INT.set(frame, 4, seq);
    LittleEndian.INT.set(frame, 8, frame.length - SIZE);
  }
}
