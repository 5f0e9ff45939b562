package baton.rpc;

/**
 * The channel's own failure: the function did not run to its end. After a header code below 255 a
 * C++ client closes its socket for good, so what a business error can say must not be said so.
 *
 * @param code 1 to 65535, one of the constants or a code of the user's
 * @param text for people
 */
public record RpcError(int code, String text) {
  public static final int IO = 1;
  public static final int NOT_CONNECTED = 2;
  public static final int TIMED_OUT = 3;
  public static final int INVALID_ARGUMENT = 4;
  public static final int CANCELLED = 9;
  public static final int HANDLER_THREW = 10;
  public static final int UNKNOWN_FUNCTION = 11;
  public static final int PROTOCOL = 12;
  public static final int VERSION = 13;
  public static final int MESSAGE_TOO_LARGE = 14;
  public static final int INVALID_RESULT = 16;
  public static final int SEQ_CONFLICT = 17;

  /** In a header: the code does not fit there, the body has it beside the text. */
  public static final int IN_BODY = 255;

  /**
   * @throws IllegalArgumentException if the code is not from 1 to 65535
   */
  public RpcError {
    if (code < 1 || code > 0xffff) {
      throw new IllegalArgumentException("an RPC error code is from 1 to 65535, not " + code);
    }
  }

  /** The answer to a malformed body, in the words of C++. */
  public static RpcError invalidArgument() {
    return new RpcError(INVALID_ARGUMENT, "invalid rpc arg");
  }

  /** The answer to a function id that is none of {@link RpcFunction}'s, in the words of C++. */
  public static RpcError unknownFunction() {
    return new RpcError(UNKNOWN_FUNCTION, "the rpc function not registered");
  }

  /** The answer when a function failed unexpectedly. */
  public static RpcError handlerThrew(String text) {
    return new RpcError(HANDLER_THREW, text);
  }

  /** What the response header says: the code, or {@link #IN_BODY}. */
  public int headerCode() {
    return Math.min(code, IN_BODY);
  }
}
