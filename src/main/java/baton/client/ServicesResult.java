package baton.client;

import java.util.List;

/**
 * The registered publishers.
 *
 * @param ret {@link ConductorClient#OK} or a negative code
 * @param count 0 on failure
 * @param services empty on failure
 */
public record ServicesResult(int ret, int count, List<PublisherConfig> services) {}
