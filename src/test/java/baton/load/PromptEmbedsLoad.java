package baton.load;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A load run of the prompt-embeds cache, which checks every byte that it times:
 *
 * <pre>
 * SG_PROMPT_EMBEDS_CACHE_GIB=1 java -Xmx128m -jar target/quarkus-app/quarkus-run.jar
 * java src/test/java/baton/load/PromptEmbedsLoad.java http://127.0.0.1:13333 [FILE [URL]]
 * </pre>
 *
 * With a file's name, the large payload is also written there; a web server that serves it at the
 * URL is measured in turns with the cache, as a baseline.
 */
public final class PromptEmbedsLoad {
  private static final int LARGE = 200 << 20;
  private static final int MEDIUM = 50 << 20;
  private static final int SMALL = 1024;
  private static final int SMALL_ENTRIES = 1000;
  private static final int CONNECTIONS = 4;
  private static final int LOOKUPS_PER_SECOND = 10_000;
  private static final int SECONDS = 15;

  private final URI cache;

  private PromptEmbedsLoad(URI cache) {
    this.cache = cache;
  }

  public static void main(String[] args) throws Exception {
    PromptEmbedsLoad load = new PromptEmbedsLoad(URI.create(args[0]));
    byte[] large = payload(LARGE, 1);
    if (args.length > 1) {
      java.nio.file.Files.write(java.nio.file.Path.of(args[1]), large);
    }
    load.downloads(large, args.length > 2 ? URI.create(args[2]) : null);
    load.parallelDownloads(large);
    load.lookups();
  }

  /** Base64 text, other than that of any other seed. */
  private static byte[] payload(int bytes, long seed) {
    byte[] raw = new byte[bytes / 4 * 3];
    new Random(seed).nextBytes(raw);
    return Base64.getEncoder().encode(raw);
  }

  private void downloads(byte[] large, URI baseline) throws IOException {
    URI uri = cache.resolve("/prompt_embeds/large");
    try (Connection connection = new Connection(cache)) {
      for (int i = 0; i < 3; i++) {
        long start = System.nanoTime();
        connection.put("/prompt_embeds/large", large);
        System.out.printf("upload of 200 MiB: %.2f GiB/s%n", rate(large, start));
      }
    }
    byte[] received = new byte[LARGE];
    for (int i = 0; i < 10; i++) {
      System.out.printf("download of 200 MiB: %.2f GiB/s", download(uri, large, received));
      if (baseline != null) {
        System.out.printf("; baseline: %.2f GiB/s", download(baseline, large, received));
      }
      System.out.println();
    }
  }

  private static double download(URI uri, byte[] expected, byte[] received) throws IOException {
    try (Connection connection = new Connection(uri)) {
      long start = System.nanoTime();
      connection.get(uri.getPath(), received);
      double rate = rate(expected, start);
      requireEqual(expected, received);
      return rate;
    }
  }

  private static double rate(byte[] bytes, long start) {
    return bytes.length / 1073741824.0 / ((System.nanoTime() - start) / 1e9);
  }

  private void parallelDownloads(byte[] large) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(8);
    long start = System.nanoTime();
    List<Future<?>> downloads = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      downloads.add(
          threads.submit(
              () -> download(cache.resolve("/prompt_embeds/large"), large, new byte[LARGE])));
    }
    for (Future<?> download : downloads) {
      download.get();
    }
    threads.shutdown();
    System.out.printf("8 such downloads at once: %.2f GiB/s together%n", 8 * rate(large, start));
  }

  /** Lookups at a fixed rate, timed from when each was due, while large payloads come in. */
  private void lookups() throws Exception {
    byte[][] small = new byte[SMALL_ENTRIES][];
    try (Connection connection = new Connection(cache)) {
      for (int i = 0; i < SMALL_ENTRIES; i++) {
        small[i] = payload(SMALL, 1000 + i);
        connection.put("/prompt_embeds/small-" + i, small[i]);
      }
    }
    AtomicBoolean done = new AtomicBoolean();
    ExecutorService threads = Executors.newFixedThreadPool(CONNECTIONS + 1);
    Future<Integer> uploads = threads.submit(() -> upload(done));
    List<Future<long[]>> lookups = new ArrayList<>();
    for (int i = 0; i < CONNECTIONS; i++) {
      long seed = i;
      lookups.add(threads.submit(() -> lookUp(small, new Random(seed))));
    }
    long[] latencies = new long[0];
    for (Future<long[]> some : lookups) {
      latencies = concat(latencies, get(some));
    }
    done.set(true);
    Arrays.sort(latencies);
    System.out.printf(
        "%d lookups of 1 KiB in %d s, while %d payloads of 50 MiB came in: median %d us, p99 %d us,"
            + " p99.9 %d us, worst %d us%n",
        latencies.length,
        SECONDS,
        get(uploads),
        at(latencies, 0.5),
        at(latencies, 0.99),
        at(latencies, 0.999),
        at(latencies, 1));
    threads.shutdown();
  }

  private static <T> T get(Future<T> future) throws InterruptedException, ExecutionException {
    return future.get();
  }

  private static long[] concat(long[] a, long[] b) {
    long[] all = Arrays.copyOf(a, a.length + b.length);
    System.arraycopy(b, 0, all, a.length, b.length);
    return all;
  }

  private static long at(long[] sorted, double share) {
    return sorted[(int) Math.min(sorted.length - 1, sorted.length * share)] / 1000;
  }

  private int upload(AtomicBoolean done) throws IOException {
    byte[] medium = payload(MEDIUM, 2);
    int count = 0;
    try (Connection connection = new Connection(cache)) {
      while (!done.get()) {
        connection.put("/prompt_embeds/medium-" + count++ % 10, medium);
      }
    }
    return count;
  }

  private long[] lookUp(byte[][] small, Random random) throws IOException {
    long period = 1_000_000_000L * CONNECTIONS / LOOKUPS_PER_SECOND;
    long[] latencies = new long[SECONDS * LOOKUPS_PER_SECOND / CONNECTIONS];
    byte[] received = new byte[SMALL];
    try (Connection connection = new Connection(cache)) {
      long due = System.nanoTime();
      for (int i = 0; i < latencies.length; i++, due += period) {
        for (long wait = due - System.nanoTime(); wait > 0; wait = due - System.nanoTime()) {
          java.util.concurrent.locks.LockSupport.parkNanos(wait);
        }
        int entry = random.nextInt(small.length);
        connection.get("/prompt_embeds/small-" + entry, received);
        latencies[i] = System.nanoTime() - due;
        requireEqual(small[entry], received);
      }
    }
    return latencies;
  }

  private static void requireEqual(byte[] expected, byte[] received) {
    if (!Arrays.equals(expected, received)) {
      throw new IllegalStateException("the bytes are not those that were put");
    }
  }

  /** HTTP/1.1 with as little around it as possible, since it shares the machine. */
  private static final class Connection implements AutoCloseable {
    private final Socket socket;
    private final InputStream in;

    Connection(URI uri) throws IOException {
      socket = new Socket(uri.getHost(), uri.getPort());
      socket.setTcpNoDelay(true);
      in = new BufferedInputStream(socket.getInputStream(), 64 * 1024);
    }

    void put(String path, byte[] body) throws IOException {
      send("PUT " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + body.length + "\r\n\r\n");
      socket.getOutputStream().write(body);
      byte[] reply = in.readNBytes(replyLength());
      if (!new String(reply, StandardCharsets.US_ASCII).equals("{\"stored\":true}")) {
        throw new IOException("not stored");
      }
    }

    void get(String path, byte[] into) throws IOException {
      send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
      if (replyLength() != into.length || in.readNBytes(into, 0, into.length) < into.length) {
        throw new IOException("not of the right length");
      }
    }

    private void send(String text) throws IOException {
      socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    }

    private int replyLength() throws IOException {
      String status = line();
      if (!status.startsWith("HTTP/1.1 200")) {
        throw new IOException(status);
      }
      int length = -1;
      for (String line = line(); !line.isEmpty(); line = line()) {
        if (line.regionMatches(true, 0, "Content-Length:", 0, 15)) {
          length = Integer.parseInt(line.substring(15).strip());
        }
      }
      return length;
    }

    private String line() throws IOException {
      StringBuilder line = new StringBuilder();
      for (int c = in.read(); c != '\n'; c = in.read()) {
        if (c < 0) {
          throw new IOException("the connection ended");
        }
        if (c != '\r') {
          line.append((char) c);
        }
      }
      return line.toString();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }
}
