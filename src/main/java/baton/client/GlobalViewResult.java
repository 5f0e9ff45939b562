package baton.client;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A snapshot of the indexed contexts.
 *
 * @param ret {@link ConductorClient#OK} or a negative code
 * @param contextCount 0 on failure
 * @param contexts empty on failure
 */
public record GlobalViewResult(int ret, int contextCount, List<Context> contexts) {

  /**
   * One context.
   *
   * @param prefixCount different blocks that are held in it
   * @param instances instance id to its registered ranks
   */
  public record Context(
      String modelName,
      String loraName,
      long blockSize,
      String tenantId,
      long prefixCount,
      HashProfile hashProfile,
      Map<String, Set<Long>> instances) {}
}
