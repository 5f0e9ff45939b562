package baton.index;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Who holds which block of one prompt, and the whole answer: the cases of {@code tiers.json}. */
class TierVectorsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String[] TIERS = {"device", "cpu_local", "cpu_share", "disk"};

  @TestFactory
  Stream<DynamicTest> heldBlocks_prefixQuery_answerOfTheVector() throws IOException {
    try (InputStream in = getClass().getResourceAsStream("/vectors/tiers.json")) {
      JsonNode cases = JSON.readTree(in).get("cases");
      assertThat(cases).hasSize(46);
      return StreamSupport.stream(cases.spliterator(), false)
          .map(
              vector ->
                  DynamicTest.dynamicTest(vector.get("name").asText(), () -> requireAnswer(vector)))
          .toList()
          .stream();
    }
  }

  private static void requireAnswer(JsonNode vector) {
    long[] prompt = LongStream.range(0, vector.get("blocks").asInt()).map(i -> i * 7 - 3).toArray();
    ContextIndex index = filled(vector, prompt);

    assertThat(answer(index, prompt, "", vector)).isEqualTo(vector.get("answer"));
    vector
        .get("answer")
        .properties()
        .forEach(
            one ->
                assertThat(answer(index, prompt, one.getKey(), vector))
                    .isEqualTo(JSON.createObjectNode().set(one.getKey(), one.getValue())));
  }

  private static ContextIndex filled(JsonNode vector, long[] prompt) {
    ContextIndex index = new ContextIndex(new Budget(Long.MAX_VALUE));
    Owner firstPool = index.joinPool();
    Map<String, Owner> engines = new HashMap<>();
    vector
        .get("ranks")
        .properties()
        .forEach(
            instance ->
                instance
                    .getValue()
                    .forEach(
                        rank ->
                            engines.put(
                                instance.getKey() + "/" + rank,
                                index.joinEngine(instance.getKey(), rank.asInt()))));
    Owner lastPool = index.joinPool();
    for (JsonNode held : vector.get("held")) {
      int block = held.get("block").asInt();
      Owner pool = block % 2 == 0 ? firstPool : lastPool;
      Owner owner =
          held.has("instance")
              ? engines.get(held.get("instance").asText() + "/" + held.get("rank"))
              : pool;
      Tier tier = Tier.valueOf(held.get("tier").asText().toUpperCase(Locale.ROOT));
      IndexProbe.store(index, owner, tier, prompt[block]);
    }
    return index;
  }

  private static ObjectNode answer(
      ContextIndex index, long[] prompt, String instance, JsonNode vector) {
    int blockSize = vector.get("block_size").asInt();
    ObjectNode answer = JSON.createObjectNode();
    PrefixMatch match = index.match(prompt.length, IndexProbe.keys(prompt), instance);
    for (PrefixMatch.RankMatch rank : match.ranks()) {
      ObjectNode hit = answer.withObjectProperty(rank.instance());
      String number = Integer.toString(rank.rank());
      for (Tier tier : Tier.values()) {
        String name = TIERS[tier.ordinal()];
        int tokens = rank.blocks(tier) * blockSize;
        hit.withObjectProperty("rank_matches").withObjectProperty(number).put(name, tokens);
        hit.put(name, Math.max(hit.path(name).asInt(), tokens));
      }
      hit.withObjectProperty("dp").put(number, rank.blocks(Tier.DEVICE) * blockSize);
      hit.put("longest_matched", hit.get("disk").asInt());
    }
    return answer;
  }
}
