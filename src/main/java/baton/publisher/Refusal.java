package baton.publisher;

import java.util.Locale;

/** Why a message, a batch or an event was not applied. */
public enum Refusal {
  /** A message that is not topic, 8-byte sequence, payload. */
  BAD_FRAMES,
  /** A payload that is not one well-formed batch. */
  MALFORMED_BATCH,
  /** A batch of another data-parallel rank than the registration's. */
  WRONG_RANK,
  /** An event without a needed field, or with one of the wrong type. */
  MALFORMED_EVENT,
  UNKNOWN_EVENT,
  UNKNOWN_MEDIUM,
  WRONG_BLOCK_SIZE,
  WRONG_LORA,
  /** A cache group other than the first, or an attention kind whose blocks are no prefix. */
  UNSUPPORTED_GROUP,
  /** An old and a new name of one field that differ. */
  CONFLICTING_FIELDS,
  /** No block hash where one is needed, or two that differ. */
  BAD_HASH,
  /** A pool event for a context that no engine has registered with the pool's hash profile. */
  UNKNOWN_CONTEXT,
  /** A stored object that is already bound to another context or block. */
  OBJECT_CONFLICT,
  /** No room: {@code baton.index.max-blocks} are held, or a pool has too many backends. */
  LIMIT;

  /** The name in metrics and replies. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
