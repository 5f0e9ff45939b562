package baton.http;

/** A request that Baton will not do, in the contract's terms. */
final class BadRequest extends RuntimeException {
  private static final long serialVersionUID = 1L;
  static final int NO_INDEX = -1;

  private final int status;
  private final String reason;
  private final String field;
  private final int index;

  private BadRequest(int status, String reason, String message, String field, int index) {
    super(message, null, false, false);
    this.status = status;
    this.reason = reason;
    this.field = field;
    this.index = index;
  }

  static BadRequest of(int status, String reason, String message) {
    return new BadRequest(status, reason, message, null, NO_INDEX);
  }

  static BadRequest missing(String field) {
    return field("missing", field, "is missing");
  }

  static BadRequest type(String field, String wanted) {
    return field("invalid_type", field, "must be " + wanted);
  }

  static BadRequest field(String reason, String field, String problem) {
    return new BadRequest(400, reason, field + " " + problem, field, NO_INDEX);
  }

  static BadRequest element(String reason, String field, int index, String problem) {
    return new BadRequest(400, reason, field + "[" + index + "] " + problem, field, index);
  }

  int status() {
    return status;
  }

  String reason() {
    return reason;
  }

  /** The field at fault, or null. */
  String field() {
    return field;
  }

  /** The element of the field at fault, or {@link #NO_INDEX}. */
  int index() {
    return index;
  }
}
