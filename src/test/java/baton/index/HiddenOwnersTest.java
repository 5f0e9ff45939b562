package baton.index;

import static baton.index.IndexProbe.query;
import static baton.index.IndexProbe.remove;
import static baton.index.IndexProbe.store;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

/** An owner whose state is not sure yet does not count, whatever is done to it meanwhile. */
class HiddenOwnersTest {
  private static final long H1 = 101;
  private static final long H2 = 102;

  private final Budget budget = new Budget(Long.MAX_VALUE);
  private final ContextIndex index = new ContextIndex(budget);
  private final Owner engine = index.joinEngine("a", 0);

  private static Map<String, List<Integer>> depth(int blocks) {
    return Map.of("a/0", List.of(blocks, blocks, blocks, blocks));
  }

  @Test
  void hiddenOwner_isThereWithNothing() {
    store(index, engine, Tier.DEVICE, H1);

    index.hide(engine);

    assertThat(query(index, H1)).isEqualTo(depth(0));
  }

  @Test
  void hiddenOwner_thatStoresAndRemoves_isShownAsItIsThen() {
    store(index, engine, Tier.DEVICE, H1);
    Owner standIn = index.hide(engine);

    store(index, engine, Tier.DEVICE, H2);
    assertThat(query(index, H1, H2)).isEqualTo(depth(0));
    index.show(standIn, engine);
    assertThat(query(index, H1, H2)).isEqualTo(depth(2));

    standIn = index.hide(engine);
    remove(index, engine, Tier.DEVICE, H2);
    index.show(standIn, engine);
    assertThat(query(index, H1, H2)).isEqualTo(depth(1));
  }

  @Test
  void hiddenOwner_retracted_staysHiddenUntilItIsShown() {
    store(index, engine, Tier.DEVICE, H1);
    Owner standIn = index.hide(engine);

    Owner renewed = index.retract(engine);
    store(index, renewed, Tier.DEVICE, H2);

    assertThat(query(index, H2)).isEqualTo(depth(0));
    index.show(standIn, renewed);
    assertThat(query(index, H2)).isEqualTo(depth(1));
    assertThat(query(index, H1)).isEqualTo(depth(0));
    assertThat(budget.used()).isOne();
  }

  @Test
  void owner_hiddenAndShownWhileAQueryWalks_isReportedWithNothing() {
    // The walk has met it in a state that it never was in.
    store(index, engine, Tier.DEVICE, H1, H2);
    LongSupplier keys =
        new LongSupplier() {
          private long next = H1;

          @Override
          public long getAsLong() {
            if (next == H2) {
              index.show(index.hide(engine), engine);
            }
            return next++;
          }
        };

    PrefixMatch match = index.match(2, keys, "");

    assertThat(match.ranks().get(0).blocks(Tier.DISK)).isZero();
    assertThat(query(index, H1, H2)).isEqualTo(depth(2));
  }

  @Test
  void hiddenOwner_shownAndGone_leavesNothing() {
    store(index, engine, Tier.DEVICE, H1, H2);
    Owner standIn = index.hide(engine);

    index.show(standIn, engine);
    index.leave(engine);

    assertThat(budget.used()).isZero();
    assertThat(index.blockCount()).isZero();
  }
}
