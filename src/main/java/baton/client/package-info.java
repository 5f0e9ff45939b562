/**
 * Mooncake's {@code ConductorClient} for Java: register publishers, ask for cached prefixes.
 *
 * <p>{@link baton.client.ConductorClient} speaks the RPC channel through {@code RpcLink}, to Baton
 * or to a C++ Conductor alike; inside Baton the same client serves the process's own index, through
 * {@link baton.rpc.ConductorFunctions}. Nothing here needs more than the JDK and the channel's
 * codec.
 */
package baton.client;
