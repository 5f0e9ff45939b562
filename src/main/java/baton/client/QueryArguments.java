package baton.client;

/**
 * A prompt of which the cached prefix is asked.
 *
 * @param modelName not empty
 * @param loraName empty for the base model
 * @param blockSize tokens in a block, positive
 * @param tenantId empty means {@code default}
 * @param tokenIds not copied
 * @param cacheSalt empty for none
 * @param instanceFilter only this instance; empty for all
 */
public record QueryArguments(
    String modelName,
    String loraName,
    long blockSize,
    String tenantId,
    int[] tokenIds,
    String cacheSalt,
    String instanceFilter) {

  /** Null is as good as empty, wherever empty has a meaning. */
  public QueryArguments {
    loraName = orEmpty(loraName);
    tenantId = orEmpty(tenantId);
    cacheSalt = orEmpty(cacheSalt);
    instanceFilter = orEmpty(instanceFilter);
  }

  static String orEmpty(String text) {
    return text == null ? "" : text;
  }

  /** The base model, the default tenant, no salt, all instances. */
  public QueryArguments(String modelName, long blockSize, int[] tokenIds) {
    this(modelName, "", blockSize, "default", tokenIds, "", "");
  }
}
