package baton;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.params.provider.Arguments;

/** Known answers from {@code src/test/resources/vectors}. */
public final class Vectors {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Vectors() {}

  public static JsonNode read(String file) {
    try (InputStream in = Vectors.class.getResourceAsStream("/vectors/" + file)) {
      return JSON.readTree(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A file's cases, each with its name in front. */
  public static List<Arguments> cases(String file) {
    return stream(read(file).get("cases"))
        .map(c -> Arguments.of(c.get("name").asText(), c))
        .toList();
  }

  public static Stream<JsonNode> stream(JsonNode array) {
    return StreamSupport.stream(array.spliterator(), false);
  }

  /** Empty if it is null or absent. */
  public static String text(JsonNode node) {
    return node == null || node.isNull() ? "" : node.asText();
  }

  public static int[] ints(JsonNode array) {
    return stream(array).mapToInt(JsonNode::intValue).toArray();
  }
}
