/**
 * Who holds which block, and how long a prefix of a prompt each of them holds.
 *
 * <p>One {@link baton.index.ContextIndex} for each context. Its {@code BlockTable} maps a block's
 * key to the interned, immutable set of its {@code Holders}; each {@link baton.index.Owner} keeps
 * the keys that it holds, so that removing an owner costs what it held. Writers take the context's
 * lock; readers take none: they see a block's holders as one value, and an owner counts only while
 * the context lists it, which is how everything an owner holds can be retracted in one step.
 */
package baton.index;
