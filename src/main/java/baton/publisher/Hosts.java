package baton.publisher;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Looks up host names, on threads of its own: that can take seconds, and a receiver has other
 * streams to serve. A name without an address yet, as of a pod that is still to come, is tried
 * again and again.
 */
final class Hosts implements AutoCloseable {
  private static final Pattern TCP = Pattern.compile("tcp://(.+):\\d+");
  private static final Pattern ADDRESS = Pattern.compile("\\*|\\[.*|[0-9.]+");
  private static final int THREADS = 4;
  private static final int RETRY_MS = 1_000;

  private final ScheduledThreadPoolExecutor tasks;

  Hosts() {
    tasks =
        new ScheduledThreadPoolExecutor(
            THREADS,
            task -> {
              Thread thread = new Thread(task, "baton-hosts");
              thread.setDaemon(true);
              return thread;
            });
  }

  /** Whether an endpoint has a host that must be looked up. */
  static boolean isNamed(String endpoint) {
    Matcher tcp = TCP.matcher(endpoint);
    return tcp.matches() && !ADDRESS.matcher(tcp.group(1)).matches();
  }

  /**
   * Runs an action as soon as the endpoint's host has an address, but not before the delay, and not
   * if it is unwanted by then.
   */
  void whenKnown(String endpoint, int delayMs, BooleanSupplier unwanted, Runnable action) {
    try {
      tasks.schedule(
          () -> {
            if (unwanted.getAsBoolean()) {
              return;
            }
            if (isKnown(endpoint)) {
              action.run();
            } else {
              whenKnown(endpoint, RETRY_MS, unwanted, action);
            }
          },
          delayMs,
          TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      // Closing: nobody waits for this host any more.
      return;
    }
  }

  private static boolean isKnown(String endpoint) {
    if (!isNamed(endpoint)) {
      return true;
    }
    Matcher tcp = TCP.matcher(endpoint);
    try {
      return tcp.matches() && InetAddress.getByName(tcp.group(1)) != null;
    } catch (UnknownHostException e) {
      return false;
    }
  }

  @Override
  public void close() {
    tasks.shutdownNow();
  }
}
