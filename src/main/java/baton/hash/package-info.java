/**
 * From token ids to block keys, exactly as the engines compute them.
 *
 * <p>A {@link baton.hash.HashProfile} is one engine's recipe; its {@link baton.hash.BlockChain}
 * hashes a prompt block by block, each digest going into the next, and projects each digest to the
 * 64-bit key under which the index files the block. A chain is lazy: the caller that stops asking
 * stops paying.
 */
package baton.hash;
