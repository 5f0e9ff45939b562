package baton.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;

/** However an index came to be as it is, its digest is that of one which was made so at once. */
class DigestPropertyTest {
  private static final Tier[] ENGINE_TIERS = {Tier.DEVICE, Tier.CPU_LOCAL, Tier.DISK};
  private static final Tier[] POOL_TIERS = {Tier.CPU_SHARE, Tier.DISK};

  /** An owner and what it should hold: the copies of a block, a tier for each. */
  private static final class Model {
    final String name;
    final Tier[] tiers;
    final Map<Long, List<Tier>> held = new HashMap<>();
    Owner owner;
    Owner standIn;

    Model(String name, boolean shared) {
      this.name = name;
      this.tiers = shared ? POOL_TIERS : ENGINE_TIERS;
    }

    boolean isShared() {
      return tiers == POOL_TIERS;
    }

    Owner join(ContextIndex index) {
      return isShared() ? index.joinPool() : index.joinEngine(name, name.length() % 2);
    }

    /** What queries find, block by block; of a pool's parts they do not know which has a block. */
    Stream<String> visible() {
      return standIn != null
          ? Stream.empty()
          : held.entrySet().stream()
              .map(
                  block ->
                      (isShared() ? "pool " : name + " ")
                          + block.getKey()
                          + block.getValue().stream().sorted().toList());
    }
  }

  /** The index, and beside it what it should hold. */
  private static final class Both {
    final ContextIndex index = new ContextIndex(new Budget(Long.MAX_VALUE));
    final List<Model> models = new ArrayList<>();
    int joined;

    void change(Random random) {
      if (models.isEmpty() || random.nextInt(12) == 0) {
        Model model = new Model("engine-" + "x".repeat(joined++), random.nextInt(3) == 0);
        model.owner = model.join(index);
        models.add(model);
        return;
      }
      Model model = models.get(random.nextInt(models.size()));
      long key = AwkwardKeys.ALL.get(random.nextInt(8));
      Tier tier = model.tiers[random.nextInt(model.tiers.length)];
      switch (random.nextInt(16)) {
        case 0 -> {
          model.owner = index.retract(model.owner);
          model.held.clear();
        }
        case 1 -> {
          show(model);
          index.leave(model.owner);
          models.remove(model);
        }
        case 2, 3 -> {
          if (!model.isShared() && model.standIn == null) {
            model.standIn = index.hide(model.owner);
          }
        }
        case 4, 5 -> show(model);
        case 6, 7, 8, 9 -> {
          IndexProbe.remove(index, model.owner, tier, key);
          List<Tier> copies = model.held.get(key);
          if (copies != null && copies.remove(tier) && copies.isEmpty()) {
            model.held.remove(key);
          }
        }
        default -> {
          IndexProbe.store(index, model.owner, tier, key);
          List<Tier> copies = model.held.computeIfAbsent(key, k -> new ArrayList<>());
          if (model.isShared() || !copies.contains(tier)) {
            copies.add(tier);
          }
        }
      }
    }

    void show(Model model) {
      if (model.standIn != null) {
        index.show(model.standIn, model.owner);
        model.standIn = null;
      }
    }

    /** Of an index that was told what is visible, and nothing else, in any order. */
    long digestAtOnce(Random random) {
      ContextIndex fresh = new ContextIndex(new Budget(Long.MAX_VALUE));
      List<Model> shuffled = new ArrayList<>(models);
      Collections.shuffle(shuffled, random);
      for (Model model : shuffled) {
        Owner owner = model.join(fresh);
        if (model.standIn == null) {
          List<Long> keys = new ArrayList<>(model.held.keySet());
          Collections.shuffle(keys, random);
          for (long key : keys) {
            List<Tier> copies = new ArrayList<>(model.held.get(key));
            Collections.shuffle(copies, random);
            copies.forEach(tier -> IndexProbe.store(fresh, owner, tier, key));
          }
        }
      }
      return fresh.digest();
    }

    List<String> visible() {
      return models.stream().flatMap(Model::visible).sorted().toList();
    }
  }

  @Property(tries = 200, shrinking = ShrinkingMode.OFF)
  void digest_afterAnyChanges_isThatOfWhatIsVisible(@ForAll long seed) {
    Random random = new Random(seed);
    Both both = new Both();
    Map<List<String>, Long> digests = new HashMap<>();
    Set<Long> different = new HashSet<>();
    for (int i = 0; i < 200; i++) {
      both.change(random);
      long digest = both.index.digest();
      assertThat(digest).as("of %s", both.visible()).isEqualTo(both.digestAtOnce(random));
      Long before = digests.put(both.visible(), digest);
      if (before == null) {
        assertThat(different.add(digest)).as("another digest for %s", both.visible()).isTrue();
      } else {
        assertThat(digest).isEqualTo(before);
      }
    }
    assertThat(digests.getOrDefault(List.of(), 0L)).isZero();
    both.models.forEach(both::show);
    both.models.forEach(model -> both.index.leave(model.owner));
    assertThat(both.index.digest()).isZero();
  }
}
