package baton.conductor;

/** Prompts of one context share their blocks; an empty LoRA name is the base model. */
public record ContextKey(String tenantId, String modelName, String loraName, long blockSize) {
  public static final String DEFAULT_TENANT = "default";

  /** The tenant that a request means: an empty name is the default one. */
  public static String tenant(String tenantId) {
    return tenantId.isEmpty() ? DEFAULT_TENANT : tenantId;
  }
}
