package baton.config;

/** Whole numbers as texts. */
final class Numbers {
  private Numbers() {}

  /** What is wrong with a number, or null. */
  static String problem(String value, long min, long max) {
    try {
      long number = Long.parseLong(value.strip());
      return number >= min && number <= max
          ? null
          : "must be from " + min + " to " + max + Key.not(value);
    } catch (NumberFormatException e) {
      return "must be a whole number from " + min + " to " + max + Key.not(value);
    }
  }
}
