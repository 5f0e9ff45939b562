package baton.conductor;

import static org.assertj.core.api.Assertions.assertThat;

import baton.hash.HashProfile;
import baton.publisher.PublisherType;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.msgpack.jackson.dataformat.MessagePackFactory;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** The event stream of an engine or a pool, and registrations of it. */
final class Feed {
  static final int BLOCK_SIZE = 4;
  private static final int PATIENCE_MS = 60_000;
  private static final ObjectMapper MSGPACK = new ObjectMapper(new MessagePackFactory());

  private final ZMQ.Socket socket;
  private final String endpoint;
  private long next;

  Feed(ZContext context) {
    socket = context.createSocket(SocketType.XPUB);
    // Tells of every subscriber, not only of the first.
    socket.setXpubVerbose(true);
    socket.setLinger(0);
    socket.setReceiveTimeOut(PATIENCE_MS);
    endpoint = "tcp://127.0.0.1:" + socket.bindToRandomPort("tcp://127.0.0.1");
  }

  /** Connects to a subscriber that listens itself. */
  Feed(ZContext context, int port) {
    socket = context.createSocket(SocketType.XPUB);
    socket.setXpubVerbose(true);
    socket.setLinger(0);
    socket.setReceiveTimeOut(PATIENCE_MS);
    socket.connect("tcp://127.0.0.1:" + port);
    endpoint = "tcp://*:" + port;
  }

  String endpoint() {
    return endpoint;
  }

  static HashProfile profile(String seed) {
    return new HashProfile("vllm_v1", "sha256_cbor", seed, "low64_be");
  }

  Publisher engine(String instance, int rank, String model, String seed) {
    return publisher(endpoint, PublisherType.VLLM, instance, rank, model, seed);
  }

  Publisher engine(String instance) {
    return engine(instance, 0, "m", "0");
  }

  Publisher pool(String instance) {
    return publisher(endpoint, PublisherType.MOONCAKE, instance, 0, "m", "0");
  }

  static Publisher publisher(
      String endpoint, PublisherType type, String instance, int rank, String model, String seed) {
    return new Publisher(
        endpoint, "", type, model, "", "", instance, BLOCK_SIZE, rank, null, profile(seed));
  }

  /** Waits for one more who subscribes. */
  Feed awaitSubscriber() {
    byte[] message = socket.recv();
    while (message != null && message[0] == 0) {
      message = socket.recv();
    }
    assertThat(message).as("a subscription of " + endpoint).isNotNull();
    return this;
  }

  /** Sends a batch of rank 0. */
  void send(Object... events) {
    sendOfRank(0, events);
  }

  void sendOfRank(int rank, Object... events) {
    try {
      byte[] batch = MSGPACK.writeValueAsBytes(Arrays.asList(1.5, Arrays.asList(events), rank));
      socket.send("", ZMQ.SNDMORE);
      socket.send(ByteBuffer.allocate(Long.BYTES).putLong(next++).array(), ZMQ.SNDMORE);
      socket.send(batch);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  static Object stored(String medium, Long... keys) {
    return Arrays.asList("BlockStored", List.of(keys), null, List.of(), BLOCK_SIZE, null, medium);
  }

  static Object removed(String medium, Long... keys) {
    return List.of("BlockRemoved", List.of(keys), medium);
  }

  /** An object of a pool that holds one block. */
  static Object object(long key) {
    String hash = "ab".repeat(24) + "%016x".formatted(key);
    Map<String, Object> event = new LinkedHashMap<>();
    event.put("event_type", "stored");
    event.put("model_name", "m");
    event.put("block_size", BLOCK_SIZE);
    event.put("tenant_id", "default");
    event.put("backend_id", "b");
    event.put("medium", "cpu");
    event.put("object_key", "m@" + hash + "@0");
    event.put("connector_block_hash", hash);
    event.put("seq_hashes", List.of(key));
    event.put("parent_hash", null);
    return event;
  }
}
