/**
 * The prompt-embeds cache: payloads as their clients sent them, by identifier and salt.
 *
 * <p>{@link baton.embeds.PromptEmbedsCache} decides who stays: a strict least-recently-used order
 * under a limit in bytes. A payload comes in through an {@link baton.embeds.Upload}, straight into
 * its final memory, and is then a {@link baton.embeds.Payload} that counts its readers, so that it
 * can leave the cache while it is being sent. {@code PayloadMemory} is where the bytes are, outside
 * the Java heap.
 */
package baton.embeds;
