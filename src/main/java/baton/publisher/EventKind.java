package baton.publisher;

import java.util.Locale;

/** What an event does. */
public enum EventKind {
  STORED,
  REMOVED,
  CLEARED;

  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
