package baton.publisher;

import baton.hash.HashProfile;
import baton.msgpack.MsgpackException;
import baton.msgpack.MsgpackReader;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jboss.logging.Logger;

/**
 * Decodes the batches of one publisher and passes their events on. A batch is checked as a whole
 * before anything of it is applied; an event that does not fit is counted and skipped. Used by one
 * thread.
 */
abstract sealed class EventDecoder permits EngineDecoder, PoolDecoder {
  private static final int EVENTS = 1;
  private static final int RANK = 2;
  private static final int SGLANG_RANK = 3;
  private static final byte[][] ENVELOPE =
      names("ts", "events", "data_parallel_rank", "attn_dp_rank");

  private static final Logger LOG = Logger.getLogger(EventDecoder.class);

  final EventCounts counts;
  private final String publisher;
  private final Sink sink;
  private final Set<Refusal> complained = EnumSet.noneOf(Refusal.class);

  /**
   * @param publisher its name, for log lines
   */
  EventDecoder(String publisher, Sink sink, EventCounts counts) {
    this.publisher = publisher;
    this.sink = sink;
    this.counts = counts;
  }

  final String publisher() {
    return publisher;
  }

  /** Counts something that is not applied, and says so the first time. */
  final void refuse(Refusal reason) {
    counts.countRefused(reason);
    if (complained.add(reason)) {
      LOG.warnf(
          "publisher %s: refused %s%s; more of these are only counted",
          publisher, reason.label(), detail(reason));
    }
  }

  /** What more there is to say of a refusal just made, with a space in front. */
  String detail(Refusal reason) {
    return "";
  }

  static byte[][] names(String... names) {
    byte[][] bytes = new byte[names.length][];
    for (int i = 0; i < names.length; i++) {
      bytes[i] = names[i].getBytes(StandardCharsets.UTF_8);
    }
    return bytes;
  }

  /**
   * Applies the events of a batch.
   *
   * @return the reason why the whole batch was refused, or null
   */
  final Refusal decode(byte[] payload) {
    MsgpackReader reader = new MsgpackReader(payload, 0, payload.length);
    int events = -1;
    boolean ours = true;
    try {
      if (reader.checkValue() != payload.length) {
        return Refusal.MALFORMED_BATCH;
      }
      if (reader.type() == MsgpackReader.Type.MAP) {
        int entries = reader.mapHeader();
        for (int i = 0; i < entries; i++) {
          int field = reader.stringOf(ENVELOPE);
          if (field == RANK || field == SGLANG_RANK) {
            ours &= isOurRank(reader);
          } else {
            events = field == EVENTS ? reader.position() : events;
            reader.skip();
          }
        }
      } else {
        int elements = reader.arrayHeader();
        if (elements < 2) {
          return Refusal.MALFORMED_BATCH;
        }
        reader.skip();
        events = reader.position();
        reader.skip();
        ours = elements == 2 || isOurRank(reader);
      }
      if (!ours) {
        return Refusal.WRONG_RANK;
      }
      if (events >= 0) {
        reader.position(events);
        decodeEvents(reader);
      }
      return null;
    } catch (MsgpackException e) {
      return Refusal.MALFORMED_BATCH;
    }
  }

  private void decodeEvents(MsgpackReader reader) {
    int count = reader.arrayHeader();
    for (int i = 0; i < count; i++) {
      int start = reader.position();
      Refusal refusal;
      try {
        refusal = decodeEvent(reader);
      } catch (MsgpackException e) {
        refusal = Refusal.MALFORMED_EVENT;
      }
      if (refusal != null) {
        refuse(refusal);
        reader.position(start);
        reader.skip();
      }
    }
  }

  /** Passes a batch's rank, and tells whether it belongs to the registration. */
  abstract boolean isOurRank(MsgpackReader reader);

  /**
   * Reads and applies one event, to its end.
   *
   * @return why it was refused, or null; then, or after an exception, the reader may be anywhere in
   *     it
   */
  abstract Refusal decodeEvent(MsgpackReader reader);

  /** All that the publisher owns may be wrong: have it removed. */
  final void retract() {
    sink.retract();
  }

  /** Nothing that the publisher owns is to be shown, until {@link #show}. */
  void hide() {
    throw new IllegalStateException("pools are not recovered");
  }

  void show() {
    throw new IllegalStateException("pools are not recovered");
  }

  /** Whether the publisher said, since this was asked last, that it has nothing any more. */
  boolean takeCleared() {
    return false;
  }

  /** Sentences about what makes the publisher's blocks unreachable by queries. Any thread. */
  List<String> problems() {
    return List.of();
  }

  /** An array of block hashes into a reused array. */
  static final class Hashes {
    /** One huge event must not keep its memory. */
    private static final int KEPT = 4096;

    private long[] keys = new long[64];
    private int count;

    long[] keys() {
      return keys;
    }

    int count() {
      return count;
    }

    void clear() {
      count = 0;
      if (keys.length > KEPT) {
        keys = new long[KEPT];
      }
    }

    void read(MsgpackReader reader, HashProfile profile) {
      int announced = reader.arrayHeader();
      if (keys.length < announced) {
        keys = new long[Math.max(announced, keys.length * 2)];
      }
      for (count = 0; count < announced; count++) {
        keys[count] = readOne(reader, profile);
      }
    }

    /** A hash as an engine sends it: an integer, signed or not, or the digest's bytes. */
    static long readOne(MsgpackReader reader, HashProfile profile) {
      if (reader.type() != MsgpackReader.Type.BINARY) {
        return reader.bits64();
      }
      int start = reader.position();
      int length = reader.binaryHeader();
      if (length < Long.BYTES) {
        reader.position(start);
        // Fails with the type, which is the right complaint: too few bytes are no hash.
        return reader.bits64();
      }
      long key = profile.project(reader.array(), reader.position(), length);
      reader.advance(length);
      return key;
    }
  }
}
