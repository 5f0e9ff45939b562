package baton.load;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/**
 * A load run of one event stream: an engine that publishes at a fixed rate and can replay, and a
 * router that asks for its blocks meanwhile. At the end every batch must have been applied once.
 *
 * <pre>
 * java -jar target/quarkus-app/quarkus-run.jar
 * java -cp 'target/quarkus-app/lib/main/*' src/test/java/baton/load/StreamLoad.java \
 *     http://127.0.0.1:13333 BATCHES_PER_SECOND SECONDS
 * </pre>
 */
public final class StreamLoad {
  private static final int BUFFERED = 1 << 18;
  private static final int KEY_OFFSET = 25;

  private final HttpClient client = HttpClient.newHttpClient();
  private final ZContext context = new ZContext();
  private final byte[][] buffer = new byte[BUFFERED][];
  private final AtomicLong published = new AtomicLong();
  private final URI baton;
  private volatile boolean done;

  private StreamLoad(URI baton) {
    this.baton = baton;
  }

  public static void main(String[] args) throws Exception {
    StreamLoad load = new StreamLoad(URI.create(args[0]));
    load.run(Integer.parseInt(args[1]), Integer.parseInt(args[2]));
  }

  private void run(int rate, int seconds) throws Exception {
    ZMQ.Socket stream = context.createSocket(SocketType.PUB);
    stream.setSndHWM(100_000);
    int port = stream.bindToRandomPort("tcp://127.0.0.1");
    ZMQ.Socket replay = context.createSocket(SocketType.ROUTER);
    replay.setSndHWM(0);
    int replayPort = replay.bindToRandomPort("tcp://127.0.0.1");
    Thread replaying = new Thread(() -> replay(replay));
    replaying.start();
    register(port, replayPort);
    AtomicLong queries = new AtomicLong();
    Thread router = new Thread(() -> query(queries));
    router.start();

    long batches = (long) rate * seconds;
    long start = System.nanoTime();
    publish(stream, rate, batches);
    double took = (System.nanoTime() - start) / 1e9;
    String status = status();
    while (!(status.contains("\"last_sequence\":" + (batches - 1))
        && status.contains("\"state\":\"live\""))) {
      LockSupport.parkNanos(20_000_000);
      status = status();
    }
    double known = (System.nanoTime() - start) / 1e9;
    done = true;
    router.join();
    for (long key = batches - 1; key >= 0; key -= Math.max(1, batches / 1000)) {
      require(holds(key), "block " + key + " is missing");
    }
    System.out.printf(
        "%d batches in %.1f s, all known after %.1f s; %d queries meanwhile%n",
        batches, took, known, queries.get());
    System.out.println(status);
    long messages = count(status, "messages");
    long replayed = count(status, "replayed");
    long duplicates = count(status, "duplicates");
    System.out.printf(
        "%d live + %d replayed - %d twice = %d%n",
        messages, replayed, duplicates, messages + replayed - duplicates);
    require(messages + replayed - duplicates == batches, "the counts do not add up");
    require(count(status, "stored") == batches, "not every batch was applied once");
    post("/unregister", "{\"instance_id\":\"load\",\"dp_rank\":0}");
    replaying.join();
    context.close();
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new IllegalStateException(message);
    }
  }

  private static long count(String status, String field) {
    Matcher matcher = Pattern.compile('"' + field + "\":(\\d+)").matcher(status);
    require(matcher.find(), field);
    return Long.parseLong(matcher.group(1));
  }

  /** {@code [ts, [["BlockStored", [key], nil, [], 16]]]}, in MessagePack. */
  private static byte[] batch(long key) {
    ByteBuffer batch = ByteBuffer.allocate(64);
    batch.put((byte) 0x92).put((byte) 0xcb).putDouble(System.nanoTime() / 1e9);
    batch.put((byte) 0x91).put((byte) 0x95).put((byte) 0xab);
    batch.put("BlockStored".getBytes(StandardCharsets.US_ASCII));
    require(batch.position() + 1 == KEY_OFFSET, "offset");
    batch.put((byte) 0x91).put((byte) 0xcf).putLong(key);
    batch.put((byte) 0xc0).put((byte) 0x90).put((byte) 16);
    byte[] exact = new byte[batch.position()];
    batch.flip().get(exact);
    return exact;
  }

  private static byte[] number(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }

  private void publish(ZMQ.Socket stream, int rate, long batches) {
    long start = System.nanoTime();
    for (long i = 0; i < batches; i++) {
      if (i % 100 == 0) {
        LockSupport.parkNanos(start + i * 1_000_000_000L / rate - System.nanoTime());
      }
      byte[] batch = batch(i);
      buffer[(int) (i % BUFFERED)] = batch;
      published.set(i + 1);
      stream.send("", ZMQ.SNDMORE);
      stream.send(number(i), ZMQ.SNDMORE);
      stream.send(batch);
    }
  }

  private void replay(ZMQ.Socket socket) {
    socket.setReceiveTimeOut(100);
    while (!done) {
      byte[] client = socket.recv();
      if (client == null) {
        continue;
      }
      socket.recv();
      long from = ByteBuffer.wrap(socket.recv()).getLong();
      long until = published.get();
      for (long i = Math.max(from, until - BUFFERED + 1000); i < until; i++) {
        answer(socket, client, i, buffer[(int) (i % BUFFERED)]);
      }
      answer(socket, client, -1, new byte[0]);
    }
  }

  private static void answer(ZMQ.Socket socket, byte[] client, long number, byte[] payload) {
    socket.send(client, ZMQ.SNDMORE);
    socket.send(new byte[0], ZMQ.SNDMORE);
    socket.send(number(number), ZMQ.SNDMORE);
    socket.send(payload);
  }

  private void query(AtomicLong queries) {
    Random random = new Random(1);
    try {
      while (!done) {
        long known = published.get();
        if (known > 0) {
          holds(random.nextLong(known));
          require(!holds(known + 10_000_000L), "a block that was never there");
          queries.addAndGet(2);
        }
      }
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private boolean holds(long key) throws IOException, InterruptedException {
    String body = "{\"model\":\"load\",\"block_size\":16,\"seq_hashes\":[" + key + "]}";
    return post("/query_by_hash", body).contains("\"longest_matched\":16");
  }

  private void register(int port, int replayPort) throws IOException, InterruptedException {
    String body =
        """
        {"endpoint":"tcp://127.0.0.1:%d","replay_endpoint":"tcp://127.0.0.1:%d","type":"vLLM",
         "modelname":"load","instance_id":"load","block_size":16,"dp_rank":0,
         "hash_profile":{"strategy":"vllm_v1","algorithm":"sha256_cbor","python_hash_seed":"0",
                         "index_projection":"low64_be"}}
        """
            .formatted(port, replayPort);
    String reply = post("/register", body);
    require(reply.contains("registered"), reply);
  }

  private String status() throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(baton.resolve("/services/status")).build();
    return client.send(request, BodyHandlers.ofString()).body();
  }

  private String post(String path, String body) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(baton.resolve(path))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build();
    return client.send(request, BodyHandlers.ofString()).body();
  }
}
