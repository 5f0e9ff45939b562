package baton.load;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;

/**
 * Load runs of the prompt-embeds cache, which check every byte that they time:
 *
 * <pre>
 * SG_PROMPT_EMBEDS_CACHE_GIB=1 java -Xmx128m -jar target/quarkus-app/quarkus-run.jar
 * LOAD="java src/test/java/baton/load/PromptEmbedsLoad.java http://127.0.0.1:13333"
 * $LOAD downloads [FILE URL]
 * nice -n 19 $LOAD uploads &amp; $LOAD lookups
 * </pre>
 *
 * <p>With a file's name, the large payload is also written there; a web server that serves it at
 * the URL is measured in turns with the cache, as a baseline. The uploads run until they are ended,
 * and should not take the processor from what is measured: clients have their own.
 */
public final class PromptEmbedsLoad {
  private static final int LARGE = 200 << 20;
  private static final int MEDIUM = 50 << 20;
  private static final int SMALL = 1024;
  private static final int SMALL_ENTRIES = 1000;
  private static final int CONNECTIONS = 4;
  private static final int LOOKUPS_PER_SECOND = 10_000;
  private static final int UPLOADS_PER_SECOND = 4;
  private static final int WARM_UP_SECONDS = 10;
  private static final int SECONDS = 15;

  private final URI cache;

  private PromptEmbedsLoad(URI cache) {
    this.cache = cache;
  }

  public static void main(String[] args) throws Exception {
    PromptEmbedsLoad load = new PromptEmbedsLoad(URI.create(args[0]));
    switch (args[1]) {
      case "downloads" -> {
        byte[] large = payload(LARGE, 1);
        if (args.length > 2) {
          Files.write(Path.of(args[2]), large);
        }
        load.downloads(large, args.length > 2 ? URI.create(args[3]) : null);
        load.parallelDownloads(large);
      }
      case "uploads" -> load.uploads();
      case "lookups" -> load.lookups();
      default -> throw new IllegalArgumentException(args[1]);
    }
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

  /** Lookups at a fixed rate, timed from when each was due. */
  private void lookups() throws Exception {
    byte[][] small = new byte[SMALL_ENTRIES][];
    try (Connection connection = new Connection(cache)) {
      for (int i = 0; i < SMALL_ENTRIES; i++) {
        small[i] = payload(SMALL, 1000 + i);
        connection.put("/prompt_embeds/small-" + i, small[i]);
      }
    }
    ExecutorService threads = Executors.newFixedThreadPool(CONNECTIONS);
    // A JVM compiles what it does often; that is not to be measured.
    lookups(threads, small, WARM_UP_SECONDS);
    long[] latencies = lookups(threads, small, SECONDS);
    threads.shutdown();
    Arrays.sort(latencies);
    System.out.printf(
        "%d lookups of 1 KiB in %d s: median %d us, p99 %d us, p99.9 %d us, worst %d us%n",
        latencies.length,
        SECONDS,
        at(latencies, 0.5),
        at(latencies, 0.99),
        at(latencies, 0.999),
        at(latencies, 1));
  }

  private long[] lookups(ExecutorService threads, byte[][] small, int seconds) throws Exception {
    List<Future<long[]>> lookups = new ArrayList<>();
    for (int i = 0; i < CONNECTIONS; i++) {
      long seed = i;
      lookups.add(threads.submit(() -> lookUp(small, new Random(seed), seconds)));
    }
    long[] latencies = new long[0];
    for (Future<long[]> some : lookups) {
      latencies = concat(latencies, some.get());
    }
    return latencies;
  }

  private static long[] concat(long[] a, long[] b) {
    long[] all = Arrays.copyOf(a, a.length + b.length);
    System.arraycopy(b, 0, all, a.length, b.length);
    return all;
  }

  private static long at(long[] sorted, double share) {
    return sorted[(int) Math.min(sorted.length - 1, sorted.length * share)] / 1000;
  }

  private void uploads() throws IOException {
    byte[] medium = payload(MEDIUM, 2);
    try (Connection connection = new Connection(cache)) {
      long start = System.nanoTime();
      for (int count = 1; ; count++) {
        connection.put("/prompt_embeds/medium-" + count % 10, medium);
        long due = start + count * (1_000_000_000L / UPLOADS_PER_SECOND);
        LockSupport.parkNanos(due - System.nanoTime());
        if (count % (5 * UPLOADS_PER_SECOND) == 0) {
          System.out.printf(
              "%d uploads of 50 MiB in %.1f s%n", count, (System.nanoTime() - start) / 1e9);
        }
      }
    }
  }

  private long[] lookUp(byte[][] small, Random random, int seconds) throws IOException {
    long period = 1_000_000_000L * CONNECTIONS / LOOKUPS_PER_SECOND;
    long[] latencies = new long[seconds * LOOKUPS_PER_SECOND / CONNECTIONS];
    byte[] received = new byte[SMALL];
    try (Connection connection = new Connection(cache)) {
      long due = System.nanoTime();
      for (int i = 0; i < latencies.length; i++, due += period) {
        for (long wait = due - System.nanoTime(); wait > 0; wait = due - System.nanoTime()) {
          LockSupport.parkNanos(wait);
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
