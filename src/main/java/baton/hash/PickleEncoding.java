package baton.hash;

/**
 * {@code sha256}: what CPython 3.10 to 3.14 writes for {@code pickle.dumps(value, protocol=5)}.
 *
 * <p>Opcodes are gathered in frames. A frame ends before the next object once it holds 64 KiB, and
 * before a string or bytes payload of that size, which stands outside any frame. A frame of under
 * four bytes is written without its header.
 */
final class PickleEncoding extends VllmEncoding {
  private static final int FRAME_TARGET = 64 * 1024;
  private static final int FRAME_MIN = 4;
  private static final int FRAME_HEADER = 9;
  private static final int NO_FRAME = -1;

  private static final int PROTO = 0x80;
  private static final int FRAME = 0x95;
  private static final int MARK = 0x28;
  private static final int TUPLE = 0x74;
  private static final int TUPLE1 = 0x85;
  private static final int MEMOIZE = 0x94;
  private static final int NONE = 0x4e;
  private static final int STOP = 0x2e;
  private static final int BININT = 0x4a;
  private static final int BININT1 = 0x4b;
  private static final int BININT2 = 0x4d;

  private int frameStart;

  @Override
  void seed(byte[] text) {
    begin();
    string(text);
    end();
  }

  @Override
  void encodeBlock(byte[] parent, int[] tokens, int from, int count, byte[][] extras) {
    begin();
    bytes(parent);
    object();
    tupleMark(count);
    for (int i = from; i < from + count; i++) {
      object();
      integer(tokens[i]);
    }
    tupleEnd(count);
    if (extras.length == 0) {
      object();
      op(NONE);
    } else {
      object();
      tupleMark(extras.length);
      for (byte[] extra : extras) {
        string(extra);
      }
      tupleEnd(extras.length);
    }
    tupleEnd(3);
    end();
  }

  private void begin() {
    reserve(2);
    put(PROTO);
    put(5);
    frameStart = NO_FRAME;
  }

  private void end() {
    op(STOP);
    closeFrame();
  }

  /** The boundary before each object, where a frame that is full ends. */
  private void object() {
    if (frameStart != NO_FRAME && size - frameStart - FRAME_HEADER >= FRAME_TARGET) {
      closeFrame();
    }
  }

  private void op(int opcode) {
    openFrame();
    put(opcode);
  }

  /** Makes room for an opcode with its arguments, in a frame. */
  private void openFrame() {
    reserve(FRAME_HEADER + 16);
    if (frameStart == NO_FRAME) {
      frameStart = size;
      size += FRAME_HEADER;
    }
  }

  private void closeFrame() {
    if (frameStart == NO_FRAME) {
      return;
    }
    int content = size - frameStart - FRAME_HEADER;
    if (content >= FRAME_MIN) {
      buffer[frameStart] = (byte) FRAME;
      littleEndian(buffer, frameStart + 1, content, 8);
    } else {
      System.arraycopy(buffer, frameStart + FRAME_HEADER, buffer, frameStart, content);
      size -= FRAME_HEADER;
    }
    frameStart = NO_FRAME;
  }

  private void integer(int value) {
    openFrame();
    if (value >= 0 && value < 256) {
      put(BININT1);
      put(value);
    } else if (value >= 0 && value < 65536) {
      put(BININT2);
      putLittleEndian(value, 2);
    } else {
      put(BININT);
      putLittleEndian(value, 4);
    }
  }

  private void string(byte[] utf8) {
    payload(utf8, 0x8c, 0x58);
  }

  private void bytes(byte[] bytes) {
    payload(bytes, 0x43, 0x42);
  }

  private void payload(byte[] payload, int shortOpcode, int longOpcode) {
    object();
    if (payload.length >= FRAME_TARGET) {
      closeFrame();
      reserve(5);
    } else {
      openFrame();
    }
    if (payload.length < 256) {
      put(shortOpcode);
      put(payload.length);
    } else {
      put(longOpcode);
      putLittleEndian(payload.length, 4);
    }
    put(payload);
    op(MEMOIZE);
  }

  private void tupleMark(int items) {
    if (items > 3) {
      op(MARK);
    }
  }

  private void tupleEnd(int items) {
    op(items > 3 ? TUPLE : TUPLE1 + items - 1);
    put(MEMOIZE);
  }

  private void putLittleEndian(int value, int bytes) {
    littleEndian(buffer, size, value, bytes);
    size += bytes;
  }

  private static void littleEndian(byte[] target, int offset, int value, int bytes) {
    for (int i = 0; i < bytes; i++) {
      target[offset + i] = i < 4 ? (byte) (value >>> (8 * i)) : 0;
    }
  }
}
