package baton.hash;

/**
 * {@code sha256_cbor}: canonical CBOR (RFC 8949, section 4.2.1), definite lengths and shortest
 * heads.
 */
final class CborEncoding extends VllmEncoding {
  private static final int NEGATIVE = 1 << 5;
  private static final int BYTES = 2 << 5;
  private static final int TEXT = 3 << 5;
  private static final int ARRAY = 4 << 5;
  private static final int NULL = 0xf6;
  private static final int LONGEST_HEAD = 5;

  @Override
  void seed(byte[] text) {
    text(text);
  }

  @Override
  void encodeBlock(byte[] parent, int[] tokens, int from, int count, byte[][] extras) {
    head(ARRAY, 3);
    head(BYTES, parent.length);
    put(parent);
    head(ARRAY, count);
    reserve(Math.multiplyExact(LONGEST_HEAD, count));
    for (int i = from; i < from + count; i++) {
      int token = tokens[i];
      if (token >= 0) {
        putHead(0, token);
      } else {
        putHead(NEGATIVE, ~token);
      }
    }
    if (extras.length == 0) {
      reserve(1);
      put(NULL);
    } else {
      head(ARRAY, extras.length);
      for (byte[] extra : extras) {
        text(extra);
      }
    }
  }

  private void text(byte[] utf8) {
    head(TEXT, utf8.length);
    put(utf8);
  }

  private void head(int major, int value) {
    reserve(LONGEST_HEAD);
    putHead(major, value);
  }

  private void putHead(int major, int value) {
    if (value < 24) {
      put(major | value);
    } else if (value < 256) {
      put(major | 24);
      put(value);
    } else if (value < 65536) {
      put(major | 25);
      put(value >>> 8);
      put(value);
    } else {
      put(major | 26);
      put(value >>> 24);
      put(value >>> 16);
      put(value >>> 8);
      put(value);
    }
  }
}
