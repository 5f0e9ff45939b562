package baton.publisher;

import baton.hash.HashProfile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jboss.logging.Logger;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import zmq.Msg;

/** The threads that own all subscription sockets; a new one goes to the thread with the fewest. */
public final class Receivers implements AutoCloseable {

  /**
   * Sizes and limits.
   *
   * @param threads that read sockets and apply events
   * @param ioThreads that move bytes for ZMQ
   * @param maxSubscriptions sockets that may be open at once
   * @param receiveHighWaterMark messages that ZMQ keeps for one slow stream before it stops reading
   * @param maxMessageBytes a longer frame ends its connection
   * @param recovery how missed messages are recovered
   */
  public record Settings(
      int threads,
      int ioThreads,
      int maxSubscriptions,
      int receiveHighWaterMark,
      long maxMessageBytes,
      RecoverySettings recovery) {}

  /** A subscription that could not be opened; the message says why. */
  public static final class CannotSubscribe extends Exception {
    private static final long serialVersionUID = 1L;

    /** Whether it may be free soon. */
    final boolean portInUse;

    CannotSubscribe(String message, boolean portInUse) {
      super(message);
      this.portInUse = portInUse;
    }
  }

  private static final Logger LOG = Logger.getLogger(Receivers.class);
  private static final int RECONNECT_FIRST_MS = 100;
  private static final int RECONNECT_MAX_MS = 2_000;
  private static final int KEEP_ALIVE_IDLE_S = 60;

  /**
   * jeromq 0.6.0 now and then forgets to read a connection that was made at once
   * (github.com/zeromq/jeromq/pull/1022); it is made anew after this time.
   */
  private static final int HANDSHAKE_MS = 3_000;

  /** The same where few connect at once, so that ZMQ's threads are not long in coming to them. */
  private static final int SHORT_HANDSHAKE_MS = 1_000;

  private static final int FEW = 64;

  /** ZMQ lets a port go some time after the socket that was bound to it has been closed. */
  private static final int PORT_RELEASE_MS = 1_000;

  private static final int PORT_RETRY_NS = 5_000_000;

  private final Settings settings;
  private final ZContext context;
  private final Hosts hosts = new Hosts();
  private final List<Receiver> receivers;
  private final Map<PublisherType, EventCounts> counts = new EnumMap<>(PublisherType.class);
  private final AtomicLong heldBytes = new AtomicLong();

  public Receivers(Settings settings) {
    this.settings = settings;
    this.context = new ZContext(settings.ioThreads());
    // ZMQ gives a context's sockets their slots once, at the first socket.
    // Each stream may have one for what it missed, too; and one that was closed has its slot for a
    // while.
    context.getContext().setMaxSockets(4 * settings.maxSubscriptions() + 8);
    context.setLinger(0);
    // A peer's impossible frame ends in an exception on ZMQ's thread, which goes on; a line will
    // do.
    context.setNotificationExceptionHandler((thread, e) -> LOG.warnf("a peer sent no ZMQ: %s", e));
    for (PublisherType type : PublisherType.values()) {
      counts.put(type, new EventCounts());
    }
    try {
      receivers = IntStream.range(0, settings.threads()).mapToObj(this::startReceiver).toList();
    } catch (UncheckedIOException e) {
      context.close();
      throw e;
    }
  }

  private Receiver startReceiver(int number) {
    try {
      Receiver receiver = new Receiver("baton-receiver-" + number, hosts, this::newReplaySocket);
      receiver.start();
      return receiver;
    } catch (IOException e) {
      throw new UncheckedIOException("no selector for a receiver thread", e);
    }
  }

  /** What came in from all publishers of a type. */
  public EventCounts counts(PublisherType type) {
    return counts.get(type);
  }

  /**
   * Subscribes to an engine's stream.
   *
   * @param name the publisher, for log lines
   * @param replayEndpoint where the engine can be asked for what was missed; empty for nowhere
   * @param rank the only data-parallel rank whose batches are accepted
   * @throws CannotSubscribe if the endpoint is none that ZMQ can use, or its port is taken
   */
  public Subscription followEngine(
      String name,
      String endpoint,
      String replayEndpoint,
      PublisherType type,
      long blockSize,
      String lora,
      int rank,
      HashProfile profile,
      EngineSink sink)
      throws CannotSubscribe {
    var expected = new EngineDecoder.Expected(type, blockSize, lora, rank, profile);
    var decoder = new EngineDecoder(name, expected, sink, new EventCounts(counts.get(type)));
    return open(endpoint, replayEndpoint, decoder);
  }

  /** Subscribes to the stream of a shared pool's master. */
  public Subscription followPool(String name, String endpoint, HashProfile profile, PoolSink sink)
      throws CannotSubscribe {
    var poolCounts = new EventCounts(counts.get(PublisherType.MOONCAKE));
    return open(endpoint, "", new PoolDecoder(name, profile, sink, poolCounts));
  }

  private Subscription open(String endpoint, String replayEndpoint, EventDecoder decoder)
      throws CannotSubscribe {
    Receiver receiver =
        receivers.stream().min(Comparator.comparingInt(Receiver::load)).orElseThrow();
    RecoverySettings recovery = settings.recovery();
    var held =
        new Held(
            new Held.Limits(
                recovery.maxHeldMessages(),
                recovery.maxHeldBytes(),
                recovery.maxTotalHeldBytes(),
                heldBytes));
    long patience = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PORT_RELEASE_MS);
    while (true) {
      try {
        return receiver.open(
            this::newSocket,
            endpoint,
            (owner, socket) ->
                new Subscription(owner, socket, endpoint, replayEndpoint, decoder, recovery, held));
      } catch (CannotSubscribe e) {
        if (!e.portInUse || System.nanoTime() - patience > 0) {
          throw e;
        }
        LockSupport.parkNanos(PORT_RETRY_NS);
      }
    }
  }

  /** Bytes of messages that wait for those before them. */
  public long heldBytes() {
    return heldBytes.get();
  }

  private ZMQ.Socket newReplaySocket() {
    ZMQ.Socket socket = limited(context.createSocket(SocketType.DEALER));
    socket.setHandshakeIvl(SHORT_HANDSHAKE_MS);
    return socket;
  }

  private ZMQ.Socket newSocket() {
    ZMQ.Socket socket = limited(context.createSocket(SocketType.SUB));
    if (receivers.stream().mapToInt(Receiver::load).sum() <= FEW) {
      socket.setHandshakeIvl(SHORT_HANDSHAKE_MS);
    }
    socket.subscribe(ZMQ.SUBSCRIPTION_ALL);
    return socket;
  }

  private ZMQ.Socket limited(ZMQ.Socket socket) {
    socket.setIPv6(true);
    socket.setLinger(0);
    socket.setRcvHWM(settings.receiveHighWaterMark());
    socket.setMaxMsgSize(settings.maxMessageBytes());
    // A frame that announces a negative length would send jeromq's thread, and so all other
    // streams,
    // into an endless loop. As an empty one it is refused like any other that is not ours.
    socket.setMsgAllocator(size -> new Msg(Math.max(size, 0)));
    socket.setReconnectIVL(RECONNECT_FIRST_MS);
    socket.setReconnectIVLMax(RECONNECT_MAX_MS);
    socket.setHandshakeIvl(HANDSHAKE_MS);
    // A host that vanished without a word is noticed, and its connection made anew.
    socket.setTCPKeepAlive(1);
    socket.setTCPKeepAliveIdle(KEEP_ALIVE_IDLE_S);
    return socket;
  }

  @Override
  public void close() {
    hosts.close();
    receivers.forEach(Receiver::close);
    context.close();
  }
}
