package baton.hash;

/** A hash profile that names no recipe Baton knows; {@link #field()} is the key at fault. */
public final class InvalidHashProfile extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final String field;
  private final boolean unsupported;

  private InvalidHashProfile(String field, boolean unsupported, String message) {
    super(message);
    this.field = field;
    this.unsupported = unsupported;
  }

  static InvalidHashProfile unsupported(String field, String message) {
    return new InvalidHashProfile(field, true, message);
  }

  static InvalidHashProfile invalid(String field, String message) {
    return new InvalidHashProfile(field, false, message);
  }

  public String field() {
    return field;
  }

  /** True for a recipe that may exist but is not implemented, false for a value that is none. */
  public boolean isUnsupported() {
    return unsupported;
  }
}
