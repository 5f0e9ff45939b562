package baton.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.function.Consumer;

/** The life of a few blocks, told by any publisher. */
final class CoreFlow {
  private CoreFlow() {}

  /** An engine stores, offloads, removes and clears. */
  static void engine(
      Router router, Registration engine, Dialect dialect, Consumer<Object> publisher) {
    Prompt prompt = Prompt.ofBlocks(engine.profile(), 4);

    publisher.accept(dialect.batch(dialect.stored(prompt.keys().subList(0, 2), "GPU")));
    router.awaitTiers(engine, prompt, 8, 8, 8, 8);

    publisher.accept(
        dialect.batchOfRank(
            0, dialect.stored(prompt.key(2), "CPU"), dialect.stored(prompt.key(3), "disk")));
    router.awaitTiers(engine, prompt, 8, 12, 12, 16);

    publisher.accept(dialect.batch(dialect.removed(prompt.key(1), "GPU")));
    router.awaitTiers(engine, prompt, 4, 4, 4, 4);

    publisher.accept(
        dialect.batch(dialect.stored(prompt.key(1), null), dialect.removed(prompt.key(2), "CPU")));
    router.awaitTiers(engine, prompt, 8, 8, 8, 8);

    publisher.accept(dialect.batch(dialect.cleared()));
    router.awaitTiers(engine, prompt, 0, 0, 0, 0);
    assertThat(router.prefixCount(engine)).isZero();
  }

  /** A pool has two backends; every engine of the context can read its objects. */
  static void pool(
      Router router, Registration engine, Registration other, Consumer<Object> publisher) {
    Prompt prompt = Prompt.ofBlocks(engine.profile(), 3);
    String model = engine.model();
    String tenant = engine.tenant();

    publisher.accept(
        Dialect.mooncakeBatch(
            PoolEvent.stored(model, "a", tenant, prompt.keys().get(0), "cpu"),
            PoolEvent.stored(model, "a", tenant, prompt.keys().get(1), "cpu"),
            PoolEvent.stored(model, "b", tenant, prompt.keys().get(2), "disk")));
    router.awaitTiers(engine, prompt, 0, 0, 8, 12);
    router.awaitTiers(other, prompt, 0, 0, 8, 12);

    publisher.accept(
        Dialect.mooncakeBatch(
            PoolEvent.removed(model, "a", tenant, prompt.keys().get(1), "cpu"),
            PoolEvent.cleared("a", "another-tenant")));
    router.awaitTiers(engine, prompt, 0, 0, 4, 4);

    publisher.accept(
        Dialect.mooncakeBatch(
            PoolEvent.stored(model, "b", tenant, prompt.keys().get(1), "cpu"),
            PoolEvent.cleared("b", "another-tenant")));
    router.awaitTiers(engine, prompt, 0, 0, 8, 12);

    publisher.accept(Dialect.mooncakeBatch(PoolEvent.cleared("b", tenant)));
    router.awaitTiers(other, prompt, 0, 0, 4, 4);
    publisher.accept(Dialect.mooncakeBatch(PoolEvent.cleared("a", tenant)));
    router.awaitTiers(engine, prompt, 0, 0, 0, 0);
  }
}
