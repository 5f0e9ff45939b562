package baton.faults;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/**
 * An engine with its two sockets, as vLLM's publisher has them, that can do wrong all that it does.
 * Used by one thread, which has to {@link #serve} now and then.
 */
final class FaultyEngine implements AutoCloseable {
  /** How it answers who asks for what was missed. */
  enum Answers {
    PROMPT,
    /** Each some time after the other. */
    SLOW,
    SILENT,
    /** Some from the beginning, and no end. */
    NO_END,
    /** Some from the beginning, and the end, as if there were no more. */
    EARLY_END,
    /** Some are left out. */
    HOLES,
    /** Among what is no answer at all. */
    GARBAGE,
    /** When nobody waits for them any more. */
    LATE
  }

  private record Answer(long due, byte[][] frames) {}

  static final String HOST = "tcp://127.0.0.1:";
  private static final byte[] TOPIC = "kv-events".getBytes(StandardCharsets.UTF_8);
  private static final byte[] EMPTY = new byte[0];
  private static final int KEYS = 6;
  private static final long LATE_MS = 250;
  private static final long SLOW_MS = 10;

  /** Below the ports that outgoing connections take. */
  private static final int FIRST_PORT = 12_000;

  private static final int PORTS = 20_000;
  private static final AtomicInteger NEXT_PORT = new AtomicInteger(new Random().nextInt(PORTS));

  private final ZContext context;
  private final Random random;
  private final History history = new History();
  private final NavigableMap<Long, byte[]> buffer = new TreeMap<>();
  private final Deque<Answer> answers = new ArrayDeque<>();
  private final String endpoint;
  private final String replayEndpoint;
  private int sendHighWaterMark;
  private ZMQ.Socket stream;
  private ZMQ.Socket replay;
  private long next;
  private long time;

  /** The state of the cache when this life of the engine began. */
  private long born;

  private int subscribers;
  private int requests;
  private int answerFrames;

  /** Whether its connections have carried what nobody had seen before, and no garbage since. */
  private boolean isPlausible;

  /** Whether garbage has had a number that it will come to. */
  private boolean hasSpoiltNumbers;

  private Answers manner = Answers.PROMPT;

  /**
   * @param replays whether it can be asked for what was missed
   */
  FaultyEngine(ZContext context, Random random, boolean replays) {
    this.context = context;
    this.random = random;
    this.answerFrames = random.nextInt(3);
    this.time = random.nextInt(1 << 30);
    stream = streamSocket();
    endpoint = bindAnywhere(stream);
    replay = replays ? replaySocket() : null;
    replayEndpoint = replays ? bindAnywhere(replay) : "";
  }

  private ZMQ.Socket streamSocket() {
    ZMQ.Socket socket = context.createSocket(SocketType.XPUB);
    socket.setLinger(0);
    socket.setSndHWM(sendHighWaterMark);
    // Tells of every subscriber, not only of the first.
    socket.setXpubVerbose(true);
    return socket;
  }

  private ZMQ.Socket replaySocket() {
    ZMQ.Socket socket = context.createSocket(SocketType.ROUTER);
    socket.setLinger(0);
    socket.setSndHWM(0);
    return socket;
  }

  private static String bindAnywhere(ZMQ.Socket socket) {
    for (int attempt = 0; attempt < 1000; attempt++) {
      String candidate = HOST + (FIRST_PORT + NEXT_PORT.getAndIncrement() % PORTS);
      try {
        if (socket.bind(candidate)) {
          return candidate;
        }
      } catch (ZMQException e) {
        // Taken; the next one.
        continue;
      }
    }
    throw new AssertionError("no free port");
  }

  String endpoint() {
    return endpoint;
  }

  /** Empty for none. */
  String replayEndpoint() {
    return replayEndpoint;
  }

  boolean replays() {
    return !replayEndpoint.isEmpty();
  }

  History history() {
    return history;
  }

  /** The number of the next batch. */
  long next() {
    return next;
  }

  /** How often it was asked. */
  int requests() {
    return requests;
  }

  int subscribers() {
    return subscribers;
  }

  /** Messages that it keeps for one subscriber; more are lost. */
  void sendHighWaterMark(int messages) {
    sendHighWaterMark = messages;
    stream.setSndHWM(messages);
  }

  /** Whether its next batches may be taken for old ones by somebody whom it does not answer. */
  boolean hasSpoiltNumbers() {
    return hasSpoiltNumbers;
  }

  void answer(Answers now) {
    manner = now;
  }

  /**
   * @param frames 3 or 4, or 0 for sometimes so, sometimes so
   */
  void answerFrames(int frames) {
    answerFrames = frames == 0 ? 0 : frames - 2;
  }

  // What it publishes.

  void publish() {
    send(add());
  }

  void publish(int count) {
    for (int i = 0; i < count; i++) {
      publish();
    }
  }

  /** Publishes a batch that nobody receives. */
  void lose() {
    add();
  }

  void lose(int count) {
    for (int i = 0; i < count; i++) {
      lose();
    }
  }

  /** Publishes two batches, the second one first. */
  void swap() {
    long first = add();
    send(add());
    send(first);
  }

  /**
   * Sends a batch again that is in the buffer still. Not as the first one on a connection, where it
   * would be the word of an engine that has started again.
   */
  void repeat(long number) {
    if (buffer.containsKey(number) && isPlausible) {
      send(number);
    }
  }

  void repeatLast() {
    repeat(next - 1);
  }

  /** Something random happens to the cache; the batch that tells of it is in the buffer. */
  private long add() {
    return add(randomBatch());
  }

  /** Publishes that all is cleared, and nothing more. */
  void clear() {
    send(add(new Batch(time++, true, List.of(), Set.of(history.nextMarker()))));
  }

  private long add(Batch batch) {
    history.apply(batch);
    buffer.put(next, batch.payload(random));
    return next++;
  }

  private Batch randomBatch() {
    Set<Block> removed = new HashSet<>();
    Set<Block> stored = new HashSet<>();
    boolean clears = random.nextInt(20) == 0;
    for (int i = 0; i < 3; i++) {
      Block block = new Block(1 + random.nextInt(KEYS), random.nextInt(3) > 0);
      if (clears || !history.held().contains(block)) {
        stored.add(block);
      } else {
        removed.add(block);
      }
    }
    if (clears) {
      removed.clear();
    }
    stored.add(history.nextMarker());
    return new Batch(time++, clears, removed, stored);
  }

  /** The state after a batch of this life. */
  private long state(long number) {
    return born + 1 + number;
  }

  private void send(long number) {
    readSubscriptions();
    isPlausible |= number == next - 1 && subscribers > 0;
    sendFrames(state(number), TOPIC, bytes(number), buffer.get(number));
  }

  /** Sends what is no batch of this engine. */
  void sendGarbage() {
    switch (random.nextInt(6)) {
      case 0 -> sendFrames(0, TOPIC);
      case 1 -> sendFrames(0, TOPIC, bytes(next));
      case 2 -> sendFrames(0, TOPIC, new byte[] {1, 2, 3}, EMPTY);
      case 3 -> sendFrames(0, TOPIC, bytes(-1 - random.nextInt(5)), EMPTY);
      case 4 -> sendFrames(0, TOPIC, bytes(next), EMPTY, EMPTY);
      default -> sendGarbagePayload();
    }
  }

  /** Sends a number that it might have, and a payload that it would not. */
  void sendGarbagePayload() {
    byte[] payload = new byte[1 + random.nextInt(40)];
    random.nextBytes(payload);
    // A negative small integer, which is no batch whatever follows.
    payload[0] = -1;
    long number =
        switch (random.nextInt(4)) {
          case 0 -> next;
          case 1 -> Math.max(0, next - 1 - random.nextInt(5));
          case 2 -> next + random.nextInt(200);
          default -> Long.MAX_VALUE - random.nextInt(2);
        };
    isPlausible = false;
    hasSpoiltNumbers |= number > next && number < Long.MAX_VALUE - 2;
    sendFrames(0, TOPIC, bytes(number), payload);
  }

  void sendFrames(long state, byte[]... frames) {
    readSubscriptions();
    if (subscribers == 0) {
      history.uncertain();
    }
    history.sent(state);
    for (int i = 0; i < frames.length; i++) {
      stream.send(frames[i], i < frames.length - 1 ? ZMQ.SNDMORE : 0);
    }
  }

  private static byte[] bytes(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }

  /** Forgets the oldest batches, but never the last one. */
  void evictBefore(long number) {
    buffer.headMap(Math.min(number, next - 1)).clear();
  }

  // Its life.

  /**
   * Ends at once, its connections too.
   *
   * @param heard whether all that it sent has arrived
   */
  void kill(boolean heard) {
    closeSockets(heard);
    history.died();
    born = history.now();
    buffer.clear();
    next = 0;
  }

  /** Starts again on the same ports after {@link #kill}: with nothing, and counting from 0. */
  void start() {
    listen();
  }

  /** Loses its connections, but not its memory. */
  void breakConnections(boolean heard) {
    closeSockets(heard);
    listen();
  }

  private void closeSockets(boolean heard) {
    if (!heard) {
      history.uncertain();
    }
    subscribers = 0;
    isPlausible = false;
    answers.clear();
    stream.close();
    if (replays()) {
      replay.close();
    }
  }

  private void listen() {
    stream = streamSocket();
    bind(stream, endpoint);
    if (replays()) {
      replay = replaySocket();
      bind(replay, replayEndpoint);
    }
  }

  /** The port may be in use for a moment still. */
  private static void bind(ZMQ.Socket socket, String endpoint) {
    Witness.await(
        () -> "bind " + endpoint,
        () -> {
          try {
            return socket.bind(endpoint);
          } catch (ZMQException e) {
            return false;
          }
        });
  }

  // What it is asked.

  /** Takes subscriptions, and answers what was asked. */
  void serve() {
    readSubscriptions();
    if (!replays()) {
      return;
    }
    for (byte[] peer = replay.recv(ZMQ.DONTWAIT); peer != null; peer = replay.recv(ZMQ.DONTWAIT)) {
      List<byte[]> frames = new ArrayList<>();
      while (replay.hasReceiveMore()) {
        frames.add(replay.recv());
      }
      if (frames.size() != 2 || frames.get(0).length != 0 || frames.get(1).length != Long.BYTES) {
        throw new AssertionError("not asked as engines are: " + frames.size() + " frames");
      }
      requests++;
      answer(peer, ByteBuffer.wrap(frames.get(1)).getLong());
    }
    while (!answers.isEmpty() && answers.peek().due() - System.nanoTime() <= 0) {
      byte[][] frames = answers.poll().frames();
      for (int i = 0; i < frames.length; i++) {
        replay.send(frames[i], i < frames.length - 1 ? ZMQ.SNDMORE : 0);
      }
    }
  }

  private void readSubscriptions() {
    byte[] message = stream.recv(ZMQ.DONTWAIT);
    for (; message != null; message = stream.recv(ZMQ.DONTWAIT)) {
      subscribers += message[0] == 1 ? 1 : -1;
    }
  }

  private void answer(byte[] peer, long from) {
    if (manner == Answers.SILENT) {
      return;
    }
    List<Long> numbers = new ArrayList<>(buffer.tailMap(from).keySet());
    int count = numbers.size();
    if (manner == Answers.NO_END || manner == Answers.EARLY_END) {
      numbers = numbers.subList(0, random.nextInt(count + 1));
    } else if (manner == Answers.HOLES) {
      numbers.removeIf(n -> random.nextInt(3) == 0);
    }
    for (long number : numbers) {
      if (manner == Answers.GARBAGE && random.nextBoolean()) {
        garbage(peer);
      }
      enqueue(answerTo(peer, number, buffer.get(number)));
    }
    if (manner != Answers.NO_END) {
      enqueue(answerTo(peer, -1, EMPTY));
      if (next > 0 && (numbers.isEmpty() || numbers.get(numbers.size() - 1) != next - 1)) {
        history.misled(born);
      }
    }
  }

  private byte[][] answerTo(byte[] peer, long number, byte[] payload) {
    boolean withTopic = answerFrames == 0 ? random.nextBoolean() : answerFrames == 2;
    return withTopic
        ? new byte[][] {peer, EMPTY, TOPIC, bytes(number), payload}
        : new byte[][] {peer, EMPTY, bytes(number), payload};
  }

  private void garbage(byte[] peer) {
    byte[] noBatch = {-1, 5, 7};
    enqueue(
        switch (random.nextInt(7)) {
          case 0 -> new byte[][] {peer, EMPTY};
          case 1 -> new byte[][] {peer, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY};
          case 2 -> new byte[][] {peer, EMPTY, new byte[3], noBatch};
          case 3 -> new byte[][] {peer, TOPIC, bytes(next), noBatch};
          case 4 -> answerTo(peer, -2, noBatch);
          case 5 -> answerTo(peer, -1, noBatch);
          default -> answerTo(peer, random.nextInt(300), noBatch);
        });
  }

  private void enqueue(byte[][] frames) {
    long delay =
        switch (manner) {
          case LATE -> LATE_MS;
          case SLOW -> SLOW_MS * (1 + answers.size());
          default -> 0;
        };
    answers.add(new Answer(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(delay), frames));
  }

  void awaitSubscriber() {
    await("a subscriber of " + endpoint, () -> subscribers > 0);
  }

  /** Waits for something, and serves meanwhile. */
  void await(String what, BooleanSupplier condition) {
    Witness.await(
        () -> what,
        () -> {
          serve();
          return condition.getAsBoolean();
        });
  }

  @Override
  public void close() {
    closeSockets(true);
  }
}
