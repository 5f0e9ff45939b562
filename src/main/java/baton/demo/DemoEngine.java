package baton.demo;

import baton.hash.BlockChain;
import baton.hash.HashProfile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/**
 * A small engine that serves conversations and publishes, as vLLM does, which blocks it holds. Each
 * turn lengthens one conversation. One that has grown long is offloaded to host memory, and starts
 * anew when its turn comes again. Used by one thread.
 */
final class DemoEngine implements AutoCloseable {
  static final String MODEL = "demo";
  static final int BLOCK_SIZE = 16;
  static final HashProfile PROFILE = new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be");

  /** Tokens 1 to 64 begin every conversation. */
  static final int SYSTEM_PROMPT = 64;

  /** The first of 16 tokens whose block key is so small that a browser's numbers can hold it. */
  private static final int GREETING = 578;

  private static final int CONVERSATIONS = 8;
  private static final int TURN_TOKENS = 3 * BLOCK_SIZE;
  private static final int TURNS = 20;

  private final int number;
  private final ZMQ.Socket socket;
  private final int port;
  private final List<Conversation> conversations;
  private long sequence;
  private boolean followed;
  private int next;

  private static final class Conversation {
    final int id;
    int turns;
    List<Long> offloaded = List.of();

    Conversation(int id) {
      this.id = id;
    }
  }

  DemoEngine(ZContext context, int number) {
    this.number = number;
    // XPUB tells when someone has subscribed; what is sent earlier, nobody hears.
    this.socket = context.createSocket(SocketType.XPUB);
    this.port = socket.bindToRandomPort("tcp://127.0.0.1");
    this.conversations =
        IntStream.range(0, CONVERSATIONS)
            .mapToObj(i -> new Conversation(number * CONVERSATIONS + i))
            .toList();
  }

  String name() {
    return "demo-" + number;
  }

  String endpoint() {
    return "tcp://127.0.0.1:" + port;
  }

  /** Serves one turn of one conversation, once somebody listens. */
  void turn() {
    if (!followed) {
      if (socket.recv(ZMQ.DONTWAIT) == null) {
        return;
      }
      followed = true;
      store(keys(IntStream.rangeClosed(1, SYSTEM_PROMPT).toArray()), "GPU");
      store(keys(IntStream.range(GREETING, GREETING + BLOCK_SIZE).toArray()), "GPU");
    }
    Conversation conversation = conversations.get(next);
    next = (next + 1) % conversations.size();
    remove(conversation.offloaded, "CPU");
    conversation.offloaded = List.of();
    int before = length(conversation);
    conversation.turns++;
    List<Long> keys = keys(length(conversation), conversation);
    if (conversation.turns < TURNS) {
      store(keys.subList(before / BLOCK_SIZE, keys.size()), "GPU");
    } else {
      conversation.turns = 0;
      conversation.offloaded = keys.subList(SYSTEM_PROMPT / BLOCK_SIZE, before / BLOCK_SIZE);
      store(conversation.offloaded, "CPU");
      remove(conversation.offloaded, "GPU");
    }
  }

  private static int length(Conversation conversation) {
    return SYSTEM_PROMPT + conversation.turns * TURN_TOKENS;
  }

  private static List<Long> keys(int length, Conversation conversation) {
    int[] tokens =
        IntStream.range(0, length)
            .map(i -> i < SYSTEM_PROMPT ? i + 1 : 1000 * (conversation.id + 1) + i)
            .toArray();
    return keys(tokens);
  }

  private static List<Long> keys(int[] tokens) {
    BlockChain chain = PROFILE.chain(tokens, BLOCK_SIZE, "", "");
    List<Long> keys = new ArrayList<>();
    for (int i = 0; i < chain.length(); i++) {
      keys.add(chain.nextKey());
    }
    return keys;
  }

  private void store(List<Long> keys, String medium) {
    publish(
        packer -> {
          packer.packArrayHeader(7).packString("BlockStored");
          packKeys(packer, keys);
          // The parent and the tokens are of no use to an index.
          packer.packNil().packArrayHeader(0);
          packer.packInt(BLOCK_SIZE).packNil().packString(medium);
        });
  }

  private void remove(List<Long> keys, String medium) {
    if (keys.isEmpty()) {
      return;
    }
    publish(
        packer -> {
          packer.packArrayHeader(3).packString("BlockRemoved");
          packKeys(packer, keys);
          packer.packString(medium);
        });
  }

  private static void packKeys(MessageBufferPacker packer, List<Long> keys) throws IOException {
    packer.packArrayHeader(keys.size());
    for (long key : keys) {
      packer.packBigInteger(new java.math.BigInteger(Long.toUnsignedString(key)));
    }
  }

  private interface Event {
    void pack(MessageBufferPacker packer) throws IOException;
  }

  private void publish(Event event) {
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      packer.packArrayHeader(3).packDouble(System.currentTimeMillis() / 1000.0).packArrayHeader(1);
      event.pack(packer);
      packer.packInt(0);
      socket.send("kv-events", ZMQ.SNDMORE);
      socket.send(ByteBuffer.allocate(Long.BYTES).putLong(sequence++).array(), ZMQ.SNDMORE);
      socket.send(packer.toByteArray());
    } catch (IOException e) {
      throw new UncheckedIOException("packing into memory failed", e);
    }
  }

  @Override
  public void close() {
    socket.close();
  }
}
