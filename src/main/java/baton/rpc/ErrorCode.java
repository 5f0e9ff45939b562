package baton.rpc;

/** Business errors: what a function says when it ran and could not do it. Mooncake's numbers. */
public final class ErrorCode {
  public static final int OK = 0;
  public static final int INTERNAL_ERROR = -1;
  public static final int INVALID_PARAMS = -600;

  /** Made by a client, never sent: the channel failed. */
  public static final int RPC_FAIL = -900;

  /** Made by a client, never sent: no answer in time. */
  public static final int RPC_TIMEOUT = -901;

  public static final int CONDUCTOR_UNAVAILABLE = -2000;
  public static final int SERVICE_NOT_FOUND = -2001;

  private ErrorCode() {}
}
