package baton.msgpack;

/** Bytes that are not MessagePack, or a value of another type than the reader was asked for. */
public final class MsgpackException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What is wrong. */
  public enum Kind {
    /** Truncated, nested too deep, an invalid first byte, text that is not UTF-8. */
    MALFORMED,
    /** Well formed, but not of the wanted type. */
    TYPE,
    /** An integer beyond the wanted bounds. */
    RANGE
  }

  private final Kind kind;

  MsgpackException(Kind kind, String message) {
    super(message, null, false, false);
    this.kind = kind;
  }

  public Kind kind() {
    return kind;
  }
}
