package baton.rpc;

/** A function of a Conductor that has no result; {@link #code} is an {@link ErrorCode}. */
public final class ConductorFailure extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int code;

  public ConductorFailure(int code, String message) {
    this(code, message, null);
  }

  /**
   * @param cause what a caller in the same process may know more from, or null
   */
  public ConductorFailure(int code, String message, Throwable cause) {
    super(message, cause, false, false);
    this.code = code;
  }

  public int code() {
    return code;
  }
}
