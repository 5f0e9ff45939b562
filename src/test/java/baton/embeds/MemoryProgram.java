package baton.embeds;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;

/**
 * Fills a cache and passes ten times its capacity through, in a process of its own; then prints
 * what the cache says that it uses, by how much the process has grown, the number of entries, the
 * bytes of units taken, and by how much the live part of the Java heap has grown. Arguments:
 * capacity, smallest and largest payload, in bytes.
 */
final class MemoryProgram {
  private static final int TIMES = 10;
  private static final int PIECE = 1 << 20;

  private MemoryProgram() {}

  public static void main(String[] args) throws IOException {
    long capacity = Long.parseLong(args[0]);
    int smallest = Integer.parseInt(args[1]);
    int largest = Integer.parseInt(args[2]);
    // All code is loaded and compiled before the first look at the process.
    pass(new PromptEmbedsCache(4L << 20), 64L << 20, 1, 200_000);
    System.gc();
    long before = residentBytes();
    long liveBefore = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();

    PromptEmbedsCache cache = new PromptEmbedsCache(capacity);
    pass(cache, TIMES * capacity, smallest, largest);
    System.gc();
    long grown = residentBytes() - before;

    PromptEmbedsCacheStats stats = cache.stats();
    long live = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory() - liveBefore;
    System.out.printf(
        "%d %d %d %d %d%n", stats.usedBytes(), grown, stats.entries(), cache.memoryBytes(), live);
  }

  private static void pass(PromptEmbedsCache cache, long bytes, int smallest, int largest) {
    Random random = new Random(1);
    ByteBuffer piece = ByteBuffer.allocateDirect(PIECE);
    while (piece.hasRemaining()) {
      piece.put((byte) 'A');
    }
    int number = 0;
    for (long passed = 0; passed < bytes; number++) {
      int size = smallest + random.nextInt(largest - smallest + 1);
      Upload upload = cache.upload(size);
      for (int sent = 0; sent < size; sent += PIECE) {
        upload.append(piece.clear().limit(Math.min(PIECE, size - sent)));
      }
      if (!cache.put("id-" + number, upload, null)) {
        throw new AssertionError("a payload of " + size + " bytes was not stored");
      }
      passed += size + PromptEmbedsCache.OVERHEAD_BYTES;
    }
  }

  private static long residentBytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) {
        return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
      }
    }
    throw new IOException("no VmRSS");
  }
}
