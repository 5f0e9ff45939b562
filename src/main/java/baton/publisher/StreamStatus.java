package baton.publisher;

import java.time.Instant;
import java.util.List;

/**
 * What is known of a stream at one moment.
 *
 * @param since when it came into its state
 * @param lastSequence the number of the last message that was applied, -1 before the first
 * @param lastMessage when the last message came in; null before the first
 * @param counts what has come in on it; these go on counting
 * @param heldBytes of messages that wait for those before them
 * @param partialSince the first number from which everything is known; -1 if it is known from its
 *     beginning
 * @param suspect whether messages were lost and the blocks kept nevertheless
 * @param problems sentences about what makes its blocks unreachable by queries
 */
public record StreamStatus(
    Subscription.State state,
    Instant since,
    long lastSequence,
    Instant lastMessage,
    EventCounts counts,
    long heldBytes,
    long partialSince,
    boolean suspect,
    List<String> problems) {}
