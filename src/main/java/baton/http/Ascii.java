package baton.http;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Tells whether bytes are ASCII, eight at a time: payloads are hundreds of megabytes long. */
final class Ascii {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
  private static final long HIGH_BITS = 0x8080_8080_8080_8080L;

  private Ascii() {}

  /** Whether all that remains in a buffer is ASCII. */
  static boolean isAll(ByteBuffer bytes) {
    if (bytes.hasArray()) {
      int from = bytes.arrayOffset() + bytes.position();
      return isAll(bytes.array(), from, from + bytes.remaining());
    }
    byte[] copy = new byte[bytes.remaining()];
    bytes.duplicate().get(copy);
    return isAll(copy, 0, copy.length);
  }

  private static boolean isAll(byte[] bytes, int from, int to) {
    long seen = 0;
    int i = from;
    for (; i <= to - Long.BYTES; i += Long.BYTES) {
      seen |= (long) LONGS.get(bytes, i);
    }
    for (; i < to; i++) {
      seen |= bytes[i];
    }
    return (seen & HIGH_BITS) == 0;
  }
}
