package baton.http;

import baton.config.BatonConfig;
import baton.config.CacheSize;
import baton.embeds.PromptEmbedsCache;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.Startup;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;

/**
 * How many payloads may be on their way in, and how many bytes they may take beside the cache.
 * Payloads that the cache has let go of and that are still being sent take from the same bytes, so
 * that slow readers cannot make memory grow. Both figures are guarded by this object's monitor.
 */
@Singleton
@Startup
final class Uploads {
  private final PromptEmbedsCache cache;
  private final int maxUploads;
  private final long maxBytes;
  private int uploads;
  private long bytes;

  @Inject
  Uploads(PromptEmbedsCache cache, CacheSize size, BatonConfig config, MeterRegistry registry) {
    this.cache = cache;
    maxUploads = config.promptEmbeds().maxUploads();
    maxBytes = size.uploadBytes();
    Gauge.builder("baton.prompt.embeds.uploads", this, Uploads::count)
        .description("Payloads being received")
        .register(registry);
    Gauge.builder("baton.prompt.embeds.upload", this, Uploads::bytes)
        .description("Bytes granted to payloads being received")
        .baseUnit("bytes")
        .register(registry);
  }

  /** One payload's share. */
  final class Share {
    private long granted;
    private boolean ended;

    /** Asks for more bytes. */
    boolean grow(long more) {
      synchronized (Uploads.this) {
        if (!fits(more, granted)) {
          return false;
        }
        granted += more;
        bytes += more;
        return true;
      }
    }

    /** Gives all of it back; once is enough. */
    void end() {
      synchronized (Uploads.this) {
        if (!ended) {
          ended = true;
          uploads--;
          bytes -= granted;
        }
      }
    }
  }

  /**
   * @param announced bytes of the payload, as far as its client has said
   * @return null if there is no room now
   */
  synchronized Share begin(long announced) {
    if (uploads >= maxUploads) {
      return null;
    }
    Share share = new Share();
    if (!share.grow(announced)) {
      return null;
    }
    uploads++;
    return share;
  }

  /** A payload that is alone may be as long as the cache can hold; else it could never come in. */
  private boolean fits(long more, long own) {
    long others = bytes - own + cache.lingeringBytes();
    return others == 0 || others + own + more <= maxBytes;
  }

  private synchronized int count() {
    return uploads;
  }

  private synchronized long bytes() {
    return bytes;
  }
}
