package baton.rpc;

/** Bytes that are no message of this channel, or not the one that was awaited. */
public final class MalformedMessage extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What is wrong, as far as it decides what to do about it. */
  public enum Kind {
    /** A header that is not coro_rpc's: nothing after it can be trusted, the connection ends. */
    HEADER,
    /** A body of another type: {@link #typeHash} says which. The stream is in step. */
    TYPE,
    /** A body that ends early or holds an impossible value. The stream is in step. */
    BODY,
    /**
     * A string that is not UTF-8. C++ would have accepted it, so a server may prefer a business
     * error, after which a C++ client keeps its connection.
     */
    TEXT
  }

  private final Kind kind;
  private final int typeHash;

  MalformedMessage(Kind kind, String message) {
    this(kind, message, 0);
  }

  private MalformedMessage(Kind kind, String message, int typeHash) {
    // no stack trace: it is the peer's mistake, and a peer may make very many
    super(message, null, false, false);
    this.kind = kind;
    this.typeHash = typeHash;
  }

  static MalformedMessage otherType(int typeHash, BodyType wanted) {
    String came = String.format("%08x", typeHash);
    String message = String.format("type hash %s, not %08x (%s)", came, wanted.hash(), wanted);
    return new MalformedMessage(Kind.TYPE, message, typeHash);
  }

  public Kind kind() {
    return kind;
  }

  /**
   * The hash that came instead, without its flag bit, if the kind is TYPE; else 0. Worth a line in
   * the log: a member that Mooncake adds to one of its types shows here first.
   */
  public int typeHash() {
    return typeHash;
  }
}
