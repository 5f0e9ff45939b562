package baton.conductor;

/** What identifies a registration. */
public record PublisherKey(String instanceId, String tenantId, int dpRank) {
  /** The key as logs show it: a name from outside must not make lines of its own. */
  String loggable() {
    return toString().replaceAll("\\p{Cntrl}", "?");
  }

  /** The key as replies show it. */
  @Override
  public String toString() {
    return instanceId + "|" + tenantId + "|" + dpRank;
  }
}
