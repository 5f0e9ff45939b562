package baton.app;

import baton.embeds.PromptEmbedsCache;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.cache.CacheMeterBinder;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.function.ToDoubleFunction;

/** The prompt-embeds cache as meters, under the names that Micrometer has for caches. */
@Singleton
final class PromptEmbedsMetrics extends CacheMeterBinder<PromptEmbedsCache> {
  private final PromptEmbedsCache cache;

  @Inject
  PromptEmbedsMetrics(PromptEmbedsCache cache) {
    super(cache, "prompt_embeds", Tags.empty());
    this.cache = cache;
  }

  @Override
  protected Long size() {
    return cache.stats().entries();
  }

  @Override
  protected long hitCount() {
    return cache.totals().hits();
  }

  @Override
  protected Long missCount() {
    return cache.totals().misses();
  }

  @Override
  protected Long evictionCount() {
    return cache.totals().evictions();
  }

  @Override
  protected long putCount() {
    return cache.totals().puts();
  }

  @Override
  protected void bindImplementationSpecificMetrics(MeterRegistry registry) {
    FunctionCounter.builder("cache.oversize", cache, c -> c.totals().oversize())
        .description("Payloads not stored because the cache could never hold them")
        .tags(getTagsWithCacheName())
        .register(registry);
    bytes(
        registry,
        "cache.used",
        "Bytes charged for the entries, overhead included",
        c -> c.stats().usedBytes());
    bytes(registry, "cache.capacity", "Bytes that may be charged", c -> c.stats().capacityBytes());
    bytes(
        registry,
        "cache.memory",
        "Bytes of memory outside the heap that payloads take, also those on their way in or out",
        PromptEmbedsCache::memoryBytes);
    bytes(
        registry,
        "cache.lingering",
        "Bytes of payloads that have left the cache and are still being sent",
        PromptEmbedsCache::lingeringBytes);
  }

  private void bytes(
      MeterRegistry registry,
      String name,
      String description,
      ToDoubleFunction<PromptEmbedsCache> value) {
    Gauge.builder(name, cache, value)
        .description(description)
        .baseUnit("bytes")
        .tags(getTagsWithCacheName())
        .register(registry);
  }
}
