package baton.config;

import baton.conductor.Conductor;
import baton.conductor.Publisher;
import baton.conductor.Rejection;
import io.smallrye.config.SmallRyeConfig;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.StreamSupport;
import org.eclipse.microprofile.config.Config;
import org.jboss.logging.Logger;

/**
 * The publishers of the configuration: registered at the start, and exchanged when the file of
 * publishers changes. A file with a fault is refused whole, and what was in force stays.
 *
 * <p>What was registered in other ways is never touched. Changes are made by one thread; what is in
 * force is replaced as a whole and read by anyone.
 */
public final class ConfiguredPublishers implements AutoCloseable {
  private static final Logger LOG = Logger.getLogger(ConfiguredPublishers.class);

  /** A content of the file that was refused, and why. */
  public record Refusal(Instant at, List<Fault> faults) {}

  /**
   * What is in force.
   *
   * @param file the file's path, null for none
   * @param loaded when
   * @param settings all values, secrets masked
   * @param publishers by name
   * @param lastRefusal null if there was none
   * @param degraded whether what the file says now was refused
   * @param afterRestart keys whose values in the file are not in force before the next start
   */
  public record InForce(
      String file,
      Instant loaded,
      List<Setting> settings,
      Map<String, Publisher> publishers,
      Refusal lastRefusal,
      boolean degraded,
      List<String> afterRestart) {}

  private final Conductor conductor;
  private final ConductorConfigSource start;
  private final int checkIntervalMs;
  private final AtomicLong applied = new AtomicLong();
  private final AtomicLong refused = new AtomicLong();
  private final ScheduledExecutorService watcher;
  private volatile InForce inForce;

  /** The content that was applied or refused last; this and the next belong to the watcher. */
  private PublisherFile.Look dealtWith;

  /** The content that was there at the last look. */
  private PublisherFile.Look seen;

  /** Nothing stands against that content but what others have registered, which may go. */
  private boolean contradicted;

  /**
   * @param config as it was put together at the start
   */
  public ConfiguredPublishers(Config config, Conductor conductor, int checkIntervalMs) {
    this.conductor = conductor;
    this.checkIntervalMs = checkIntervalMs;
    this.start =
        StreamSupport.stream(
                config.unwrap(SmallRyeConfig.class).getConfigSources().spliterator(), false)
            .filter(ConductorConfigSource.class::isInstance)
            .map(ConductorConfigSource.class::cast)
            .findFirst()
            .orElseThrow();
    this.dealtWith = start.look;
    this.seen = start.look;
    this.inForce = inForce(start.settings, start.settings.publishers(), null, List.of());
    this.watcher =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread thread = new Thread(task, "baton-config");
              thread.setDaemon(true);
              return thread;
            });
  }

  /**
   * Registers them, and begins to look at the file.
   *
   * @return what stands in the way; then nothing is done
   */
  public List<Fault> start() {
    List<Fault> faults = exchange(List.of(), inForce.publishers(), start.settings);
    if (!faults.isEmpty()) {
      return faults;
    }
    applied.incrementAndGet();
    if (start.file.path() != null) {
      LOG.infof(
          start.look.exists() ? "publishers are read from %s" : "there is no file of publishers %s",
          start.file.path());
      if (checkIntervalMs > 0) {
        watcher.scheduleWithFixedDelay(
            this::look, checkIntervalMs, checkIntervalMs, TimeUnit.MILLISECONDS);
      }
    }
    return faults;
  }

  public InForce inForce() {
    return inForce;
  }

  /** How often the file's content was applied, the start included. */
  public long appliedCount() {
    return applied.get();
  }

  /** How often it was refused. */
  public long refusedCount() {
    return refused.get();
  }

  private void look() {
    try {
      PublisherFile.Look now = start.file.look();
      // What was changed since the last look may be half written.
      boolean settled = now.equals(seen);
      seen = now;
      if (settled && (contradicted || !now.equals(dealtWith))) {
        dealtWith = now;
        load();
      }
    } catch (RuntimeException | OutOfMemoryError e) {
      if (watcher.isShutdown()) {
        return; // and so is the conductor
      }
      LOG.errorf(e, "the file of publishers %s could not be looked at", start.file.path());
      refuse(List.of(new Fault(start.file.path().toString(), "could not be looked at")));
    }
  }

  private void load() {
    InForce before = inForce;
    contradicted = false;
    Optional<ConductorFile> content = start.file.read();
    Settings settings = Settings.of(start.others, content.orElse(ConductorFile.NONE));
    List<Fault> faults = new ArrayList<>(settings.faults());
    if (content.isEmpty()) {
      faults.add(new Fault(start.file.path().toString(), "is gone"));
    }
    Map<String, Publisher> publishers = sameObjects(settings.publishers(), before.publishers());
    if (faults.isEmpty()) {
      faults.addAll(exchange(before.publishers().values(), publishers, settings));
    }
    if (faults.isEmpty()) {
      applied.incrementAndGet();
      inForce = inForce(settings, publishers, before.lastRefusal(), afterRestart(settings));
      LOG.infof(
          "%s has changed: %d publishers are configured now",
          start.file.path(), inForce.publishers().size());
      inForce
          .afterRestart()
          .forEach(key -> LOG.warnf("%s in %s counts from the next start on", key, inForce.file()));
    } else if (!before.degraded() || !before.lastRefusal().faults().equals(faults)) {
      refuse(faults);
    }
  }

  private void refuse(List<Fault> faults) {
    InForce before = inForce;
    refused.incrementAndGet();
    inForce =
        new InForce(
            before.file(),
            before.loaded(),
            before.settings(),
            before.publishers(),
            new Refusal(Instant.now(), List.copyOf(faults)),
            true,
            before.afterRestart());
    LOG.errorf(
        "what %s says now is refused, and what was in force stays:%s",
        start.file.path(), lines(faults));
  }

  private static String lines(List<Fault> faults) {
    StringBuilder lines = new StringBuilder();
    faults.forEach(fault -> lines.append("\n  ").append(fault));
    return lines.toString();
  }

  /** What has not changed is the very object that is registered. */
  private static Map<String, Publisher> sameObjects(
      Map<String, Publisher> publishers, Map<String, Publisher> before) {
    Map<Publisher, Publisher> registered = new HashMap<>();
    before.values().forEach(publisher -> registered.put(publisher, publisher));
    Map<String, Publisher> same = new LinkedHashMap<>(publishers);
    same.replaceAll((name, publisher) -> registered.getOrDefault(publisher, publisher));
    return same;
  }

  private List<Fault> exchange(
      Collection<Publisher> before, Map<String, Publisher> after, Settings settings) {
    Set<Publisher> staying = new HashSet<>(after.values());
    List<Publisher> leaving = before.stream().filter(p -> !staying.contains(p)).toList();
    Map<Publisher, List<Rejection>> obstacles = conductor.exchange(leaving, after.values());
    // A port that is taken is not tried again and again: each time others would lose blocks.
    contradicted =
        !obstacles.isEmpty()
            && obstacles.values().stream()
                .flatMap(List::stream)
                .noneMatch(r -> r.reason() == Rejection.Reason.CANNOT_SUBSCRIBE);
    Map<Publisher, String> where = new HashMap<>();
    after.forEach((name, publisher) -> where.put(publisher, settings.where(name)));
    List<Fault> faults = new ArrayList<>();
    obstacles.forEach(
        (publisher, rejections) ->
            rejections.forEach(
                rejection ->
                    faults.add(
                        new Fault(
                            where.getOrDefault(
                                publisher, "publisher " + publisher.key() + ", which was to stay"),
                            rejection.getMessage()))));
    return faults;
  }

  private List<String> afterRestart(Settings settings) {
    return List.of(Settings.HTTP_PORT, Settings.RPC_PORT).stream()
        .filter(
            key ->
                !Objects.equals(
                    value(settings.values().get(key)), value(start.settings.values().get(key))))
        .toList();
  }

  private static String value(Given given) {
    return given == null ? null : given.value();
  }

  private InForce inForce(
      Settings settings,
      Map<String, Publisher> publishers,
      Refusal lastRefusal,
      List<String> afterRestart) {
    return new InForce(
        start.file.path() == null ? null : start.file.path().toString(),
        Instant.now(),
        settings.shown(start.settings.values()),
        publishers,
        lastRefusal,
        false,
        afterRestart);
  }

  @Override
  public void close() {
    watcher.shutdownNow();
  }
}
