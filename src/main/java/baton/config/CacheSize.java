package baton.config;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.math.RoundingMode;

/**
 * The size of the prompt-embeds cache as an operator writes it: gibibytes, a non-negative decimal
 * number, fractions allowed. 0 disables the cache, and so does leaving it out.
 *
 * @param bytes that the cache may hold
 * @param uploadBytes that payloads on their way in or out may take beside it
 */
public record CacheSize(long bytes, long uploadBytes) {
  /** The environment variable, or system property. */
  public static final String VARIABLE = "SG_PROMPT_EMBEDS_CACHE_GIB";

  private static final long DEFAULT_UPLOAD_BYTES = 1L << 30;
  private static final BigDecimal GIB = BigDecimal.valueOf(1L << 30);

  /**
   * @param gib the variable's value, or null
   * @param uploadBytes as configured; 0 is 1 GiB, or the cache's size if that is less
   * @param memory bytes of this machine or container
   * @throws IllegalArgumentException with a message that names variable and value, if it is no such
   *     number, too small for a single byte, or more than there is
   */
  public static CacheSize of(String gib, long uploadBytes, long memory) {
    BigDecimal exact = gib == null ? BigDecimal.ZERO : parse(gib);
    if (exact.signum() > 0 && exact.compareTo(BigDecimal.ONE) < 0) {
      throw wrong(gib, "is less than one byte; write 0 for no cache", null);
    }
    if (exact.compareTo(BigDecimal.valueOf(memory)) > 0) {
      throw wrong(gib, "is more than there is here: " + gibibytes(memory), null);
    }
    long bytes = exact.longValue();
    long uploads = uploadBytes > 0 ? uploadBytes : Math.min(DEFAULT_UPLOAD_BYTES, bytes);
    if (bytes > 0 && bytes > memory - uploads) {
      throw wrong(
          gib,
          "and the "
              + gibibytes(uploads)
              + " for payloads on their way (baton.prompt-embeds.max-upload-bytes)"
              + " are more than there is here: "
              + gibibytes(memory),
          null);
    }
    return new CacheSize(bytes, uploads);
  }

  /** The same with the memory of this machine, or of the container that this process runs in. */
  public static CacheSize here(String gib, long uploadBytes) {
    return of(
        gib,
        uploadBytes,
        ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize());
  }

  private static BigDecimal parse(String gib) {
    BigDecimal bytes;
    try {
      bytes = new BigDecimal(gib).multiply(GIB);
    } catch (NumberFormatException e) {
      throw wrong(gib, "is not a number of gibibytes; write 0 for no cache", e);
    }
    if (bytes.signum() < 0) {
      throw wrong(gib, "is below 0", null);
    }
    return bytes;
  }

  private static String gibibytes(long bytes) {
    return BigDecimal.valueOf(bytes).divide(GIB, 2, RoundingMode.DOWN).toPlainString() + " GiB";
  }

  private static IllegalArgumentException wrong(String value, String problem, Throwable cause) {
    return new IllegalArgumentException(VARIABLE + "=" + Key.quoted(value) + " " + problem, cause);
  }
}
