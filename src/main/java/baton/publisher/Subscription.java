package baton.publisher;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jboss.logging.Logger;
import org.zeromq.ZEvent;
import org.zeromq.ZMQ;
import org.zeromq.ZMonitor;
import zmq.Msg;
import zmq.io.Metadata;

/**
 * One publisher's stream: its socket, its connection and the sequence of its messages. All but the
 * observers and the connection's state belongs to its receiver's thread.
 *
 * <p>Messages are numbered. One that is not above the last is dropped, unless the connection is
 * new: then the publisher has started again, with an empty cache. A jump means that events were
 * lost. In both cases all that the publisher owned is retracted first, because a hit that may be
 * false costs more than a miss.
 */
public final class Subscription {
  private static final Logger LOG = Logger.getLogger(Subscription.class);
  private static final VarHandle BIG_ENDIAN =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final long NONE = -1;
  private static final int MONITORED =
      zmq.ZMQ.ZMQ_EVENT_HANDSHAKE_PROTOCOL | zmq.ZMQ.ZMQ_EVENT_DISCONNECTED;

  /**
   * What speaks no ZMTP at all is taken for its first version; this is ZMTP 2.0, by its place in
   * the library's own numbering; engines speak 3.0 and later.
   */
  private static final int OLDEST_ZMTP = 2;

  /** What an operator wants to know of a stream first. */
  public enum State {
    /** No publisher has answered at the endpoint yet. */
    CONNECTING,
    LIVE,
    /** The connection was there and has ended. */
    LOST;

    public String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final Receiver receiver;
  private final ZMQ.Socket socket;
  private final EventDecoder decoder;
  private final String endpoint;
  private final AtomicBoolean expectedBack = new AtomicBoolean();
  private boolean attached;
  private SelectionKey key;
  private boolean ready;

  /** Of the last message that was taken: ZMQ gives every connection an object of its own. */
  private Metadata connection;

  private volatile boolean closed;
  private volatile State state = State.CONNECTING;
  private volatile long lastSequence = NONE;

  Subscription(Receiver receiver, ZMQ.Socket socket, String endpoint, EventDecoder decoder) {
    this.receiver = receiver;
    this.socket = socket;
    this.endpoint = endpoint;
    this.decoder = decoder;
  }

  public State state() {
    return state;
  }

  /** The number of the last message that was applied, -1 before the first. */
  public long lastSequence() {
    return lastSequence;
  }

  /** Ends it; when this returns, none of its events is applied any more. */
  public void close() {
    receiver.close(this);
  }

  /**
   * Makes the connection for the first time: to the endpoint, or, if its host is {@code *}, at it.
   */
  void attach() {
    // Called by ZMQ's own threads, so it only sets flags and logs.
    ZEvent.ZEventConsummer hook = this::connectionChanged;
    socket.setEventHook(hook, MONITORED);
    attached = true;
    if (binds()) {
      socket.bind(endpoint);
    } else {
      socket.connect(endpoint);
    }
  }

  /**
   * Makes the connection anew if it has not come back by itself: ZMQ tries no more once a peer has
   * broken its protocol.
   */
  void reattach() {
    expectedBack.set(false);
    if (closed || state == State.LIVE || (attached && binds())) {
      return;
    }
    if (attached) {
      socket.disconnect(endpoint);
      socket.connect(endpoint);
    } else {
      attach();
    }
  }

  /** True for the first who asks after the connection has ended. */
  boolean expectBack() {
    return expectedBack.compareAndSet(false, true);
  }

  /**
   * The socket is of no use any more, so nothing that is known of the publisher will be corrected.
   */
  void fail() {
    changeState(State.LOST);
    decoder.retract();
  }

  String endpoint() {
    return endpoint;
  }

  /** Its name, for log lines. */
  String publisher() {
    return decoder.publisher();
  }

  private boolean binds() {
    return endpoint.startsWith("tcp://*:");
  }

  private void connectionChanged(ZEvent event) {
    if (event.getEvent() == ZMonitor.Event.DISCONNECTED) {
      if (state == State.LIVE) {
        changeState(State.LOST);
      }
      receiver.disconnected(this);
    } else if (event.<Integer>getValue() >= OLDEST_ZMTP && state != State.LIVE) {
      changeState(State.LIVE);
    }
  }

  private void changeState(State now) {
    state = now;
    LOG.infof("publisher %s is %s", decoder.publisher(), now.label());
  }

  boolean isClosed() {
    return closed;
  }

  void setKey(SelectionKey key) {
    this.key = key;
  }

  boolean isReady() {
    return ready;
  }

  void setReady(boolean ready) {
    this.ready = ready;
  }

  /** False if it was closed before. */
  boolean closeSocket() {
    if (closed) {
      return false;
    }
    closed = true;
    key.cancel();
    socket.close();
    return true;
  }

  /**
   * Applies up to {@code limit} messages.
   *
   * @return whether more may be waiting
   */
  boolean drain(int limit) {
    for (int i = 0; i < limit; i++) {
      Msg first = socket.recvMsg(ZMQ.DONTWAIT);
      if (first == null) {
        return false;
      }
      receive(first);
    }
    return true;
  }

  private void receive(Msg topic) {
    decoder.counts.countMessage();
    if (state == State.LOST && binds()) {
      // Another connection to our port has ended, not the publisher's.
      changeState(State.LIVE);
    }
    Msg sequence = null;
    Msg payload = null;
    int frames = 1;
    for (Msg last = topic; last.hasMore(); frames++) {
      last = socket.recvMsg(0);
      if (frames == 1) {
        sequence = last;
      } else {
        payload = last;
      }
    }
    if (frames != 3 || sequence.size() != Long.BYTES || sequence(sequence) < 0) {
      decoder.refuse(Refusal.BAD_FRAMES);
      return;
    }
    if (inSequence(sequence(sequence), topic.getMetadata())) {
      apply(payload.data());
    }
  }

  private void apply(byte[] payload) {
    try {
      Refusal refusal = decoder.decode(payload);
      if (refusal != null) {
        decoder.refuse(refusal);
      }
      if (refusal == Refusal.MALFORMED_BATCH) {
        // It may have told of removals, so what is known of this publisher may be wrong.
        decoder.retract();
      }
    } catch (RuntimeException | OutOfMemoryError e) {
      // A fault of our own with one stream must not end the others that this thread serves.
      LOG.errorf(e, "publisher %s: a batch could not be applied", decoder.publisher());
      decoder.retract();
    }
  }

  private static long sequence(Msg frame) {
    return (long) BIG_ENDIAN.get(frame.data(), 0);
  }

  private boolean inSequence(long sequence, Metadata from) {
    long last = lastSequence;
    if (last != NONE && sequence <= last) {
      if (from == connection) {
        decoder.counts.countDuplicate();
        return false;
      }
      LOG.infof(
          "publisher %s started again: number %d after %d; its blocks are removed",
          decoder.publisher(), sequence, last);
      decoder.counts.countRestart();
      decoder.retract();
    } else if (last != NONE && sequence != last + 1) {
      LOG.warnf(
          "publisher %s: %d messages lost before number %d; its blocks are removed",
          decoder.publisher(), sequence - last - 1, sequence);
      decoder.counts.countGap();
      decoder.retract();
    }
    lastSequence = sequence;
    connection = from;
    return true;
  }
}
