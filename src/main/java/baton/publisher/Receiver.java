package baton.publisher;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayDeque;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jboss.logging.Logger;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import zmq.ZError;

/**
 * One thread that opens, reads and closes its subscriptions' sockets; nobody else touches them. It
 * sleeps in a selector over the sockets' signals and serves those that are ready in turns.
 */
final class Receiver {
  private static final Logger LOG = Logger.getLogger(Receiver.class);

  /** Messages of one stream before the others get their turn. */
  private static final int TURN = 64;

  /** How long a connection that has ended may take to come back by itself. */
  private static final int COME_BACK_MS = 3_000;

  private final Selector selector = Selector.open();
  private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();
  private final AtomicInteger load = new AtomicInteger();
  private final PriorityQueue<Timer> timers = new PriorityQueue<>();
  private final Thread thread;
  private final Hosts hosts;
  private final Supplier<ZMQ.Socket> replaySockets;

  /** Something to be done at a time of the monotonic clock. */
  private record Timer(long at, Runnable action) implements Comparable<Timer> {
    @Override
    public int compareTo(Timer other) {
      return Long.compare(at - other.at, 0);
    }
  }

  /**
   * Streams that may have messages. A ZMQ socket signals only once, so nobody leaves before it is
   * empty.
   */
  private final ArrayDeque<Subscription> ready = new ArrayDeque<>();

  private volatile boolean stopping;

  /**
   * @param replaySockets makes the socket of one request for what was missed
   */
  Receiver(String name, Hosts hosts, Supplier<ZMQ.Socket> replaySockets) throws IOException {
    this.hosts = hosts;
    this.replaySockets = replaySockets;
    thread = new Thread(this::run, name);
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  /** How many subscriptions it has. */
  int load() {
    return load.get();
  }

  /** Makes a subscription around a socket, which is used by this thread only. */
  interface Opening {
    Subscription open(Receiver receiver, ZMQ.Socket socket);
  }

  Subscription open(Supplier<ZMQ.Socket> sockets, String endpoint, Opening opening)
      throws Receivers.CannotSubscribe {
    var opened = new CompletableFuture<Subscription>();
    load.incrementAndGet();
    execute(
        () -> {
          try {
            opened.complete(openHere(sockets.get(), opening));
          } catch (RuntimeException | IOException e) {
            opened.completeExceptionally(e);
          }
        });
    try {
      return opened.get();
    } catch (ExecutionException e) {
      load.decrementAndGet();
      throw cannotSubscribe(endpoint, e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      // It may be opened yet, and must not live on unknown.
      opened.thenAccept(Subscription::close);
      throw new Receivers.CannotSubscribe("interrupted while subscribing", false);
    }
  }

  private static Receivers.CannotSubscribe cannotSubscribe(String endpoint, Throwable cause) {
    LOG.debugf(cause, "cannot subscribe to %s", endpoint);
    // Only ZMQ's own words are meant for people.
    String reason = cause instanceof ZMQException ? cause.getMessage() : "ZMQ cannot use it";
    boolean portInUse = cause instanceof ZMQException e && e.getErrorCode() == ZError.EADDRINUSE;
    if (portInUse) {
      reason = "its port is in use";
    }
    return new Receivers.CannotSubscribe(
        "cannot subscribe to " + endpoint + ": " + reason, portInUse);
  }

  private Subscription openHere(ZMQ.Socket socket, Opening opening) throws ClosedChannelException {
    try {
      Subscription subscription = opening.open(this, socket);
      if (Hosts.isNamed(subscription.endpoint())) {
        attachWhenKnown(subscription, 0);
      } else {
        subscription.attach();
      }
      subscription.setKey(socket.getFD().register(selector, SelectionKey.OP_READ, subscription));
      // Whatever the socket signalled before it was registered has to be looked at once.
      makeReady(subscription);
      return subscription;
    } catch (RuntimeException | ClosedChannelException e) {
      socket.close();
      throw e;
    }
  }

  private void attachWhenKnown(Subscription subscription, int delayMs) {
    hosts.whenKnown(
        subscription.endpoint(),
        delayMs,
        () -> stopping || subscription.isClosed(),
        () -> execute(() -> attach(subscription)));
  }

  private void attach(Subscription subscription) {
    try {
      subscription.reattach();
      makeReady(subscription);
    } catch (ZMQException e) {
      // The name has lost its address since it was looked up.
      LOG.debugf(e, "publisher %s: cannot attach", subscription.publisher());
      attachWhenKnown(subscription, COME_BACK_MS);
    }
  }

  /** Called by ZMQ's threads. */
  void disconnected(Subscription subscription) {
    if (!stopping && subscription.expectBack()) {
      attachWhenKnown(subscription, COME_BACK_MS);
    }
  }

  /** Called by ZMQ's threads. */
  void connected(Subscription subscription) {
    execute(
        () -> {
          subscription.connected();
          makeReady(subscription);
        });
  }

  /**
   * Asks a publisher for what it has published from a number on.
   *
   * @return null if there is no room for a socket now
   */
  Replay openReplay(Subscription subscription, String endpoint, long from) {
    try {
      Replay replay = new Replay(replaySockets.get(), selector, subscription);
      hosts.whenKnown(
          endpoint,
          0,
          () -> stopping || replay.isClosed(),
          () -> execute(() -> ask(replay, subscription, endpoint, from)));
      return replay;
    } catch (ClosedChannelException e) {
      throw new IllegalStateException("a socket that was just made is closed", e);
    } catch (ZMQException e) {
      // It will be asked again.
      LOG.debugf(e, "publisher %s: no socket to ask with", subscription.publisher());
      return null;
    }
  }

  private void ask(Replay replay, Subscription subscription, String endpoint, long from) {
    if (!replay.isClosed()) {
      try {
        replay.ask(endpoint, from);
        makeReady(subscription);
      } catch (ZMQException e) {
        // It will be asked again.
        LOG.debugf(e, "publisher %s: cannot ask", subscription.publisher());
      }
    }
  }

  /** Runs an action on this thread, some time from now. Called by this thread. */
  void after(int delayMs, Runnable action) {
    timers.add(new Timer(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(delayMs), action));
  }

  /** Closes a subscription; when this returns, none of its events is applied any more. */
  void close(Subscription subscription) {
    var closed = new CompletableFuture<Void>();
    execute(
        () -> {
          if (subscription.closeSocket()) {
            ready.remove(subscription);
            load.decrementAndGet();
          }
          closed.complete(null);
        });
    closed.join();
  }

  void execute(Runnable command) {
    commands.add(command);
    if (Thread.currentThread() == thread || !thread.isAlive()) {
      runCommands();
    } else {
      selector.wakeup();
    }
  }

  private void run() {
    try {
      while (!stopping) {
        if (!ready.isEmpty()) {
          selector.selectNow();
        } else if (timers.isEmpty()) {
          selector.select();
        } else {
          // At least a millisecond, because 0 means for ever.
          long wait = TimeUnit.NANOSECONDS.toMillis(timers.peek().at() - System.nanoTime());
          selector.select(Math.max(1, wait));
        }
        selector.selectedKeys().forEach(key -> makeReady((Subscription) key.attachment()));
        selector.selectedKeys().clear();
        runCommands();
        serveReady();
        runTimers();
      }
      selector.keys().forEach(key -> ((Subscription) key.attachment()).closeSocket());
    } catch (IOException e) {
      throw new UncheckedIOException("the selector of " + thread.getName() + " failed", e);
    } finally {
      runCommands();
    }
  }

  private void runCommands() {
    for (Runnable command = commands.poll(); command != null; command = commands.poll()) {
      try {
        command.run();
      } catch (RuntimeException e) {
        LOG.error("a receiver's command failed", e);
      }
    }
  }

  private void runTimers() {
    while (!timers.isEmpty() && timers.peek().at() - System.nanoTime() <= 0) {
      try {
        timers.poll().action().run();
      } catch (RuntimeException e) {
        LOG.error("a receiver's timer failed", e);
      }
    }
  }

  private void serveReady() {
    for (int turns = ready.size(); turns > 0; turns--) {
      Subscription subscription = ready.poll();
      if (drain(subscription)) {
        ready.add(subscription);
      } else {
        subscription.setReady(false);
      }
    }
  }

  /** A socket that fails must not end the streams of others. */
  private static boolean drain(Subscription subscription) {
    try {
      return subscription.drain(TURN);
    } catch (RuntimeException e) {
      LOG.errorf(e, "publisher %s: its socket failed", subscription.publisher());
      subscription.fail();
      return false;
    }
  }

  void makeReady(Subscription subscription) {
    if (!subscription.isReady()) {
      subscription.setReady(true);
      ready.add(subscription);
    }
  }

  void close() {
    stopping = true;
    selector.wakeup();
    try {
      thread.join();
      selector.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
