package baton.config;

/**
 * A value that an operator gave.
 *
 * @param value {@link #REFUSED} if a fault was told already
 * @param where as an operator would look for it: the key or field, and who gave it
 * @param origin who gave it
 * @param ordinal which of two origins counts: the higher one
 */
record Given(String value, String where, String origin, int ordinal) {
  /** The origin of what nobody gave. */
  static final String DEFAULT = "default";

  static final String REFUSED = null;

  boolean isRefused() {
    return value == null;
  }

  Fault fault(String problem) {
    return new Fault(where, problem);
  }
}
