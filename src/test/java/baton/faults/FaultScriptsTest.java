package baton.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Random faults. More of them: {@code ./mvnw test -Dtest=FaultScriptsTest
 * -DargLine=-Dfault-scripts=1000}; others: {@code -Dbaton.fault-seed=1000000}, the first one.
 */
class FaultScriptsTest {
  private static final int SCRIPTS = Integer.getInteger("fault-scripts", 60);
  private static final long FIRST_SEED = Long.getLong("baton.fault-seed", 1);
  private static final int AT_ONCE = 8;

  // Every script loses and restarts; each would be a line.
  private static final Logger LOG = Logger.getLogger("baton");

  @BeforeAll
  static void quiet() {
    LOG.setLevel(Level.SEVERE);
  }

  @AfterAll
  static void loud() {
    LOG.setLevel(null);
  }

  @Test
  void randomFaults_neverLeadToAFalseClaim_andAreOvercomeOrSeen() throws InterruptedException {
    ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE);
    List<Future<?>> scripts = new ArrayList<>();
    for (long seed = FIRST_SEED; seed < FIRST_SEED + SCRIPTS; seed++) {
      scripts.add(threads.submit(new FaultScript(seed)::run));
    }
    threads.shutdown();
    List<String> failures = new ArrayList<>();
    for (Future<?> script : scripts) {
      try {
        script.get();
      } catch (ExecutionException e) {
        failures.add(e.getCause().getMessage());
      }
    }
    assertThat(failures).isEmpty();
  }
}
