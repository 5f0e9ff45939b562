package baton.client;

/**
 * How an engine hashes its blocks.
 *
 * @param rootDigest derived by the server; empty in a registration
 */
public record HashProfile(
    String strategy,
    String algorithm,
    String pythonHashSeed,
    String rootDigest,
    String indexProjection) {

  public HashProfile {
    strategy = QueryArguments.orEmpty(strategy);
    algorithm = QueryArguments.orEmpty(algorithm);
    pythonHashSeed = QueryArguments.orEmpty(pythonHashSeed);
    rootDigest = QueryArguments.orEmpty(rootDigest);
    indexProjection = QueryArguments.orEmpty(indexProjection);
  }

  /** A recipe to register. */
  public HashProfile(
      String strategy, String algorithm, String pythonHashSeed, String indexProjection) {
    this(strategy, algorithm, pythonHashSeed, "", indexProjection);
  }
}
