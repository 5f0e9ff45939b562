package baton.publisher;

import baton.publisher.Sequence.Verdict;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.time.Instant;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
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
 * <p>Messages are numbered. Those that were missed are asked for, if the publisher can replay them;
 * until they are there, what is known of it is not shown. What cannot be recovered is lost, and a
 * publisher that may be another one than before has an empty cache: then all that it owned is
 * retracted, because a hit that may be false costs more than a miss.
 */
public final class Subscription {
  private static final Logger LOG = Logger.getLogger(Subscription.class);
  private static final VarHandle BIG_ENDIAN =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final int MONITORED =
      zmq.ZMQ.ZMQ_EVENT_HANDSHAKE_PROTOCOL | zmq.ZMQ.ZMQ_EVENT_DISCONNECTED;

  /**
   * What speaks no ZMTP at all is taken for its first version; this is ZMTP 2.0, by its place in
   * the library's own numbering; engines speak 3.0 and later.
   */
  private static final int OLDEST_ZMTP = 2;

  /** {@link StreamStatus#partialSince} of a stream that is known from its beginning. */
  private static final long COMPLETE = -1;

  /** What an operator wants to know of a stream first. */
  public enum State {
    /** No publisher has answered at the endpoint yet. */
    CONNECTING,
    LIVE,
    /** Connected, and asking for what was missed; until that is there its blocks are not shown. */
    RECOVERING,
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
  private final String replayEndpoint;
  private final RecoverySettings settings;
  private final Held held;
  private final Sequence sequence = new Sequence();
  private final AtomicBoolean expectedBack = new AtomicBoolean();

  /** How often a publisher has connected. */
  private final AtomicInteger connections = new AtomicInteger();

  private boolean attached;
  private SelectionKey key;
  private boolean ready;
  private Recovery recovery;

  /** Of the last message that was taken: ZMQ gives every connection an object of its own. */
  private Metadata connection;

  /** How often a publisher had connected when that connection's first message was taken. */
  private int connectionCount;

  /** Up to this count, connections were found to be of the same publisher. */
  private int trusted;

  /** Whatever message comes next is where the stream begins: what was before it is lost. */
  private boolean startsAnywhere;

  private long messagesAtCheck = -1;
  private volatile boolean closed;
  private volatile boolean connected;
  private volatile boolean recovering;
  private volatile State state = State.CONNECTING;
  private volatile Instant stateSince = Instant.now();
  private volatile Instant lastMessage;
  private volatile long partialSince = COMPLETE;
  private volatile boolean suspect;

  /**
   * @param replayEndpoint where the publisher can be asked for what was missed; empty for nowhere
   */
  Subscription(
      Receiver receiver,
      ZMQ.Socket socket,
      String endpoint,
      String replayEndpoint,
      EventDecoder decoder,
      RecoverySettings settings,
      Held held) {
    this.receiver = receiver;
    this.socket = socket;
    this.endpoint = endpoint;
    this.replayEndpoint = replayEndpoint;
    this.decoder = decoder;
    this.settings = settings;
    this.held = held;
  }

  public State state() {
    return state;
  }

  /** The number of the last message that was applied, -1 before the first. */
  public long lastSequence() {
    return sequence.last();
  }

  /** All that there is to know of it. */
  public StreamStatus status() {
    return new StreamStatus(
        state,
        stateSince,
        sequence.last(),
        lastMessage,
        counts(),
        held.bytes(),
        partialSince,
        suspect,
        decoder.problems());
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
    if (settings.checkMs() > 0 && replays()) {
      after(settings.checkMs(), this::check);
    }
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
    endRecovery();
    connected = false;
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
      if (connected) {
        connected = false;
        changeState(State.LOST);
      }
      receiver.disconnected(this);
    } else if (event.<Integer>getValue() >= OLDEST_ZMTP) {
      connections.incrementAndGet();
      connected = true;
      recovering |= replays();
      changeState(recovering ? State.RECOVERING : State.LIVE);
      if (replays()) {
        receiver.connected(this);
      }
    }
  }

  private synchronized void changeState(State now) {
    if (state == now) {
      return;
    }
    state = now;
    stateSince = Instant.now();
    LOG.infof("publisher %s is %s", decoder.publisher(), now.label());
    if (now == State.LOST && settings.lostMs() > 0) {
      Instant since = stateSince;
      receiver.execute(() -> after(settings.lostMs(), () -> forget(since)));
    }
  }

  /** The publisher has been away for longer than its blocks are kept. */
  private void forget(Instant lostSince) {
    if (!closed && state == State.LOST && stateSince.equals(lostSince)) {
      LOG.warnf(
          "publisher %s has been lost for %d ms; its blocks are removed",
          decoder.publisher(), settings.lostMs());
      endRecovery();
      decoder.retract();
      sequence.reset();
    }
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
    endRecovery();
    key.cancel();
    socket.close();
    return true;
  }

  private void endRecovery() {
    if (recovery != null) {
      recovery.cancel();
      recovery = null;
    }
  }

  /**
   * Takes up to {@code limit} messages.
   *
   * @return whether more may be waiting
   */
  boolean drain(int limit) {
    boolean more = drainLive(limit);
    if (recovery != null && !more) {
      recovery.settled();
    }
    return recovery != null ? recovery.drain(limit) | more : more;
  }

  private boolean drainLive(int limit) {
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
    counts().countMessage();
    lastMessage = Instant.now();
    if (!connected && binds()) {
      // Another connection to our port has ended, not the publisher's.
      connected = true;
      changeState(recovering ? State.RECOVERING : State.LIVE);
    }
    Msg number = null;
    Msg payload = null;
    int frames = 1;
    for (Msg last = topic; last.hasMore(); frames++) {
      last = socket.recvMsg(0);
      if (frames == 1) {
        number = last;
      } else {
        payload = last;
      }
    }
    if (frames != 3 || number.size() != Long.BYTES || number(number) < 0) {
      decoder.refuse(Refusal.BAD_FRAMES);
      return;
    }
    take(number(number), payload.data(), topic.getMetadata());
  }

  private static long number(Msg frame) {
    return (long) BIG_ENDIAN.get(frame.data(), 0);
  }

  private void take(long number, byte[] payload, Metadata from) {
    long digest = Sequence.digest(payload);
    if (recovery != null && recovery.isQuiet()) {
      // The stream goes on, and tells by itself what is missing.
      endRecovery();
    }
    boolean sameConnection = from == connection || trusted == connections.get();
    if (recovery == null && sequence.hasBegun() && sameConnection) {
      adopt(from, connections.get());
      takeNext(number, digest, payload, from);
    } else if (recovery == null && sequence.hasBegun()) {
      takeOfNewConnection(number, digest, payload, from);
    } else if (recovery == null && (number == 0 || startsAnywhere || !replays())) {
      begin(number);
      adopt(from, connections.get());
      apply(number, digest, payload);
    } else {
      recover(false);
      recovery.hold(number, digest, payload, from);
    }
  }

  private void takeNext(long number, long digest, byte[] payload, Metadata from) {
    switch (sequence.judge(number, digest)) {
      case NEXT -> apply(number, digest, payload);
      case OLD -> counts().countDuplicate();
      case GAP -> {
        gap(number);
        if (replays()) {
          recover(false);
          recovery.hold(number, digest, payload, from);
        } else {
          missed(number);
          apply(number, digest, payload);
        }
      }
      case CONTRADICTION -> {
        restarted("its numbers start again");
        take(number, payload, from);
      }
    }
  }

  private void takeOfNewConnection(long number, long digest, byte[] payload, Metadata from) {
    if (replays()) {
      recover(true);
      recovery.hold(number, digest, payload, from);
      return;
    }
    if (sequence.judge(number, digest) == Verdict.GAP) {
      gap(number);
      missed(number);
    } else {
      // Even the very next number may be another publisher's, and it cannot be asked.
      restarted("it is on a new connection");
      begin(number);
    }
    adopt(from, connections.get());
    apply(number, digest, payload);
  }

  private void adopt(Metadata from, int count) {
    if (from != connection) {
      connection = from;
      connectionCount = count;
    }
  }

  private boolean replays() {
    return !replayEndpoint.isEmpty();
  }

  /** Applies the next message, from wherever it came. */
  void apply(long number, long digest, byte[] payload) {
    sequence.applied(number, digest);
    try {
      Refusal refusal = decoder.decode(payload);
      if (refusal != null) {
        decoder.refuse(refusal);
      }
      if (refusal == Refusal.MALFORMED_BATCH) {
        // It may have told of removals, so what is known of this publisher may be wrong.
        lose(number + 1);
      }
      if (decoder.takeCleared()) {
        partialSince = COMPLETE;
        suspect = false;
      }
    } catch (RuntimeException | OutOfMemoryError e) {
      // A fault of our own with one stream must not end the others that this thread serves.
      LOG.errorf(e, "publisher %s: a batch could not be applied", decoder.publisher());
      lose(number + 1);
    }
  }

  /** Begins to ask for what was missed, if it is not done yet. */
  private void recover(boolean reconnected) {
    if (recovery == null) {
      recovery = new Recovery(this, settings, held, false);
      recovering();
      recovery.begin(reconnected);
    }
  }

  /** A publisher that can replay has connected. */
  void connected() {
    if (closed || trusted == connections.get()) {
      return;
    }
    if (recovery != null && !recovery.isQuiet()) {
      recovery.connected();
    } else {
      endRecovery();
      // A message of the new connection may have come before this was told.
      recover(sequence.hasBegun() && connectionCount < connections.get());
    }
  }

  /** After some silence: whether the last message was really the last. */
  private void check() {
    if (closed) {
      return;
    }
    long messages = counts().messages();
    if (recovery == null && connected && messages == messagesAtCheck) {
      recovery = new Recovery(this, settings, held, true);
      recovery.begin(false);
      wake();
    }
    messagesAtCheck = messages;
    after(settings.checkMs(), this::check);
  }

  // What a recovery needs of its stream, and finds out about it.

  Sequence sequence() {
    return sequence;
  }

  Metadata connection() {
    return connection;
  }

  int connections() {
    return connections.get();
  }

  EventCounts counts() {
    return decoder.counts;
  }

  void refuse(Refusal reason) {
    decoder.refuse(reason);
  }

  Replay openReplay(long from) {
    return receiver.openReplay(this, replayEndpoint, from);
  }

  void after(int delayMs, Runnable action) {
    receiver.after(delayMs, action);
  }

  void wake() {
    receiver.makeReady(this);
  }

  /** What is known is not shown until it is sure again. */
  void recovering() {
    recovering = true;
    decoder.hide();
    if (connected) {
      changeState(State.RECOVERING);
    }
  }

  void gap(long number) {
    long missing = number - sequence.next();
    counts().countGap(missing);
    LOG.warnf(
        "publisher %s: %d messages missing before number %d", decoder.publisher(), missing, number);
  }

  /** The stream begins here; what was before is unknown. */
  void begin(long number) {
    startsAnywhere = false;
    sequence.skipTo(number);
    partialSince = number == 0 ? COMPLETE : number;
  }

  /** What is missing before a number will not come. */
  void missed(long number) {
    if (sequence.hasBegun()) {
      LOG.warnf(
          "publisher %s: what is missing before number %d is lost%s",
          decoder.publisher(), number, consequence());
      counts().countLoss();
      lose(number);
      sequence.skipTo(number);
    } else {
      begin(number);
    }
  }

  /** It is not known where the stream goes on. */
  void lost(String why) {
    LOG.warnf("publisher %s: messages are lost, %s%s", decoder.publisher(), why, consequence());
    counts().countLoss();
    lose(sequence.next());
    sequence.reset();
    startsAnywhere = true;
  }

  private String consequence() {
    return settings.keepOnLoss() ? "; its blocks are suspect" : "; its blocks are removed";
  }

  private void lose(long completeFrom) {
    if (settings.keepOnLoss()) {
      suspect = true;
    } else {
      decoder.retract();
    }
    partialSince = completeFrom;
  }

  /** It is another publisher than before, whose cache was empty when it began to count. */
  void restarted(String why) {
    LOG.infof(
        "publisher %s started again: %s, after number %d; its blocks are removed",
        decoder.publisher(), why, sequence.last());
    counts().countRestart();
    decoder.retract();
    sequence.reset();
    partialSince = COMPLETE;
    suspect = false;
  }

  /**
   * @param from the connection of what was held back, or null if nothing was
   * @param covered the count of connections when the recovery began
   */
  void recovered(Metadata from, int covered) {
    recovery = null;
    if (from != null) {
      adopt(from, covered);
    }
    trusted = covered;
    if (covered != connections.get()) {
      // Connected again meanwhile; the receiver is about to be told.
      return;
    }
    recovering = false;
    decoder.show();
    if (connected) {
      changeState(State.LIVE);
    }
  }
}
