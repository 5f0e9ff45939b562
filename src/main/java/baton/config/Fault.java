package baton.config;

/**
 * One thing that is wrong with the configuration.
 *
 * @param where the key or entry, and who gave it
 * @param problem with the value at fault
 */
public record Fault(String where, String problem) {
  @Override
  public String toString() {
    // A name from outside must not make lines of its own.
    return (where + ": " + problem).replaceAll("\\p{Cntrl}", "?");
  }
}
