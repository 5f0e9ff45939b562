package baton.index;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.List;
import java.util.PrimitiveIterator;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/** What the index tests ask of an index, and what they look up behind its public face. */
final class IndexProbe {
  private IndexProbe() {}

  /** Blocks by tier for each {@code instance/rank}; ranks that joined twice follow each other. */
  static TreeMap<String, List<Integer>> answer(PrefixMatch match) {
    TreeMap<String, List<Integer>> answer = new TreeMap<>();
    for (PrefixMatch.RankMatch rank : match.ranks()) {
      answer.put(
          rank.instance() + "/" + rank.rank(), Arrays.stream(rank.blocks()).boxed().toList());
    }
    return answer;
  }

  static TreeMap<String, List<Integer>> query(ContextIndex index, long... prompt) {
    return answer(index.match(prompt.length, keys(prompt), ""));
  }

  static LongSupplier keys(long... prompt) {
    PrimitiveIterator.OfLong keys = Arrays.stream(prompt).iterator();
    return keys::nextLong;
  }

  static void store(ContextIndex index, Owner owner, Tier tier, long... keys) {
    if (index.store(owner, tier, keys, keys.length) != 0) {
      throw new AssertionError("refused a block");
    }
  }

  static void remove(ContextIndex index, Owner owner, Tier tier, long... keys) {
    index.remove(owner, tier, keys, keys.length);
  }

  /** The holders of a block: one object for all blocks that are held alike. */
  static Holders holders(ContextIndex index, long key) {
    return read(index, "blocks", BlockTable.class).get(key);
  }

  /** How many different sets of holders are kept. */
  static int holderSets(ContextIndex index) {
    return read(index, "sets", HolderSets.class).size();
  }

  /** How many slots the block table has, used or not. */
  static int slots(ContextIndex index) {
    return slots(read(index, "blocks", BlockTable.class));
  }

  static int slots(BlockTable table) {
    int slots = 0;
    for (Object segment : read(table, "segments", Object[].class)) {
      if (segment != null) {
        slots += read(segment, "keys", long[].class).length;
      }
    }
    return slots;
  }

  static int slots(LongIntMap map) {
    return read(map, "keys", long[].class).length;
  }

  private static <T> T read(Object from, String name, Class<T> type) {
    try {
      Field field = from.getClass().getDeclaredField(name);
      field.setAccessible(true);
      return type.cast(field.get(from));
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }
}
