package baton.conductor;

/** A request that cannot be done, and why. Nothing was changed. */
public final class Rejection extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The reasons. */
  public enum Reason {
    INVALID_VALUE,
    OUT_OF_RANGE,
    UNSUPPORTED,
    INVALID_REGISTRATION,
    /** The registration is fine, but its endpoint cannot be used here. */
    CANNOT_SUBSCRIBE,
    NOT_FOUND,
    UNAVAILABLE
  }

  private final Reason reason;
  private final String field;

  private Rejection(Reason reason, String field, String message) {
    super(message, null, false, false);
    this.reason = reason;
    this.field = field;
  }

  static Rejection invalidValue(String field, String problem) {
    return new Rejection(Reason.INVALID_VALUE, field, field + " " + problem);
  }

  static Rejection outOfRange(String field, String problem) {
    return new Rejection(Reason.OUT_OF_RANGE, field, field + " " + problem);
  }

  static Rejection unsupported(String field, String problem) {
    return new Rejection(Reason.UNSUPPORTED, field, field + " " + problem);
  }

  static Rejection conflict(String field, String message) {
    return new Rejection(Reason.INVALID_REGISTRATION, field, message);
  }

  static Rejection cannotSubscribe(String field, String message) {
    return new Rejection(Reason.CANNOT_SUBSCRIBE, field, message);
  }

  static Rejection notFound(String message) {
    return new Rejection(Reason.NOT_FOUND, null, message);
  }

  static Rejection unavailable(String message) {
    return new Rejection(Reason.UNAVAILABLE, null, message);
  }

  public Reason reason() {
    return reason;
  }

  /** The request's field at fault, or null. */
  public String field() {
    return field;
  }
}
