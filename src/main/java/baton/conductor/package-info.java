/**
 * Who is registered, and what a prompt finds there.
 *
 * <p>The {@link baton.conductor.Conductor} is the one owner of registrations and contexts. It joins
 * each publisher's events to the context they belong to ({@code EngineBlocks}, {@code PoolObjects})
 * and answers queries by walking a {@link baton.hash.BlockChain} through a {@link
 * baton.index.ContextIndex}. It knows nothing of HTTP or any other channel.
 */
package baton.conductor;
