package baton.it;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePacker;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/**
 * An engine's event socket, by jeromq. Used by one thread. It is an XPUB because that hears of its
 * subscribers: what is sent before there is one, nobody receives.
 */
final class EnginePublisher implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final byte[] TOPIC = "kv-events".getBytes(StandardCharsets.UTF_8);
  private static final ZContext CONTEXT = new ZContext();

  private final ZMQ.Socket socket;
  private String endpoint;
  private long next;

  private EnginePublisher() {
    socket = CONTEXT.createSocket(SocketType.XPUB);
    socket.setIPv6(true);
    socket.setLinger(0);
    socket.setSndHWM(0);
    socket.setReconnectIVL(100);
    // Else a subscription is not told while another connection's is about to end.
    socket.setXpubVerbose(true);
  }

  /** Serves a free port. */
  static EnginePublisher serve() {
    EnginePublisher publisher = new EnginePublisher();
    publisher.endpoint =
        "tcp://127.0.0.1:" + publisher.socket.bindToRandomPort("tcp://127.0.0.1", 20_000, 32_000);
    return publisher;
  }

  /** Serves an endpoint, which may be in use for a moment still. */
  static EnginePublisher serve(String endpoint) {
    EnginePublisher publisher = new EnginePublisher();
    publisher.endpoint = endpoint;
    Awaitility.await()
        .pollInSameThread()
        .atMost(PATIENCE)
        .ignoreException(ZMQException.class)
        .until(() -> publisher.socket.bind(endpoint));
    return publisher;
  }

  /** Connects to one who waits for publishers. */
  static EnginePublisher connect(String endpoint) {
    EnginePublisher publisher = new EnginePublisher();
    publisher.endpoint = endpoint;
    publisher.socket.connect(endpoint);
    return publisher;
  }

  String endpoint() {
    return endpoint;
  }

  /** Waits until somebody has subscribed who had not before. */
  EnginePublisher awaitSubscriber() {
    socket.setReceiveTimeOut((int) PATIENCE.toMillis());
    byte[] message = socket.recv();
    while (message != null && message[0] == 0) {
      message = socket.recv();
    }
    if (message == null) {
      throw new AssertionError("nobody subscribed to " + endpoint + " within " + PATIENCE);
    }
    return this;
  }

  /** The number that the next batch is sent under. */
  EnginePublisher next(long sequence) {
    next = sequence;
    return this;
  }

  void send(Object batch) {
    sendPayload(pack(batch));
  }

  void sendPayload(byte[] payload) {
    sendFrames(TOPIC, ByteBuffer.allocate(Long.BYTES).putLong(next++).array(), payload);
  }

  void sendFrames(byte[]... frames) {
    for (int i = 0; i < frames.length; i++) {
      socket.send(frames[i], i < frames.length - 1 ? ZMQ.SNDMORE : 0);
    }
  }

  /** A tree of maps, lists, numbers, texts, byte arrays and nulls as MessagePack. */
  static byte[] pack(Object value) {
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      pack(packer, value);
      return packer.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException("packing into memory failed", e);
    }
  }

  private static void pack(MessagePacker packer, Object value) throws IOException {
    if (value == null) {
      packer.packNil();
    } else if (value instanceof Map<?, ?> map) {
      packer.packMapHeader(map.size());
      for (var entry : map.entrySet()) {
        pack(packer, entry.getKey());
        pack(packer, entry.getValue());
      }
    } else if (value instanceof List<?> list) {
      packer.packArrayHeader(list.size());
      for (Object element : list) {
        pack(packer, element);
      }
    } else if (value instanceof byte[] bytes) {
      packer.packBinaryHeader(bytes.length).addPayload(bytes);
    } else if (value instanceof String text) {
      packer.packString(text);
    } else if (value instanceof Double number) {
      packer.packDouble(number);
    } else if (value instanceof BigInteger number) {
      packer.packBigInteger(number);
    } else {
      packer.packLong(((Number) value).longValue());
    }
  }

  @Override
  public void close() {
    socket.close();
  }
}
