package baton.publisher;

/**
 * How missed messages are recovered.
 *
 * @param answerMs milliseconds that an engine may be silent when it is asked
 * @param recoveryMs milliseconds that a recovery may take; then what is missing counts as lost
 * @param maxHeldMessages messages of one stream that may wait meanwhile
 * @param maxHeldBytes bytes of one stream that may wait meanwhile
 * @param maxTotalHeldBytes bytes of all streams that may wait
 * @param keepOnLoss whether blocks stay, and the stream is marked as suspect, when messages are
 *     lost; else the blocks are removed
 * @param checkMs milliseconds of silence after which an engine is asked whether something was
 *     missed; 0 for never
 * @param lostMs milliseconds after which the blocks of a publisher whose connection is gone are
 *     removed; 0 for never
 */
public record RecoverySettings(
    int answerMs,
    int recoveryMs,
    int maxHeldMessages,
    long maxHeldBytes,
    long maxTotalHeldBytes,
    boolean keepOnLoss,
    int checkMs,
    int lostMs) {

  /** What is configured unless something else is. */
  public static final RecoverySettings DEFAULT =
      new RecoverySettings(5_000, 20_000, 100_000, 64L << 20, 256L << 20, false, 10_000, 0);
}
