package baton.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The description that Swagger UI shows is what the application does. */
@QuarkusIntegrationTest
class OpenApiIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final JsonNode document = Api.get("/q/openapi?format=json").body();

  @AfterEach
  void forgetAll() {
    Api.unregisterAll();
  }

  @Test
  void document_describesAllEndpoints() {
    assertThat(names(document.path("paths")))
        .containsExactlyInAnyOrder(
            "/query",
            "/query_by_hash",
            "/register",
            "/unregister",
            "/services",
            "/services/status",
            "/global_view",
            "/prompt_embeds/{identifier}",
            "/admin/prompt_embeds/can_hold",
            "/admin/prompt_embeds/stats",
            "/admin/prompt_embeds/clear",
            "/admin/config");
  }

  @Test
  void everyRequestExample_isAccepted() {
    // Registering comes first, so that the example of unregistering finds its publisher.
    List<String> tried = new ArrayList<>();
    for (String path : List.of("/register", "/query", "/query_by_hash", "/unregister")) {
      JsonNode json =
          document.at(
              "/paths/~1" + path.substring(1) + "/post/requestBody/content/application~1json");
      for (JsonNode example : json.path("examples")) {
        JsonNode value = resolve(example).path("value");
        byte[] body =
            value.isTextual()
                ? value.asText().getBytes()
                : Api.json(JSON.convertValue(value, Object.class));
        Api.Reply reply = Api.send("POST", path, body, "Content-Type", Api.JSON);
        assertThat(reply.status()).as("%s %s: %s", path, value, reply.text()).isEqualTo(200);
        tried.add(path);
      }
    }
    assertThat(tried).hasSize(7);
  }

  @Test
  void replyExamples_haveTheFieldsOfRealReplies() {
    JsonNode publisher = document.at("/components/examples/VllmPublisher/value");
    JsonNode registered =
        Api.send("POST", "/register", Api.json(JSON.convertValue(publisher, Object.class))).body();
    assertThat(names(registered)).isEqualTo(names(replyExample("register", "post")));
    JsonNode services = Api.get("/services").body();
    JsonNode servicesExample = replyExample("services", "get");
    assertThat(names(services.at("/services/0")))
        .isEqualTo(names(servicesExample.at("/services/0")));
    assertThat(services.at("/services/0/HashProfile"))
        .isEqualTo(servicesExample.at("/services/0/HashProfile"));
    JsonNode status = Api.get("/services/status").body().at("/publishers/0");
    JsonNode statusExample = document.at("/components/examples/StatusesExample/value/publishers/0");
    assertThat(names(status)).isEqualTo(names(statusExample));
    assertThat(names(status.path("events"))).isEqualTo(names(statusExample.path("events")));
    assertThat(names(status.path("refused"))).isEqualTo(names(statusExample.path("refused")));
    JsonNode view = Api.get("/global_view").body();
    assertThat(names(view.at("/contexts/0")))
        .isEqualTo(names(replyExample("global_view", "get").at("/contexts/0")));
    JsonNode hits =
        Api.post(
                "/query",
                Api.fields("model", "my-model", "block_size", 16, "token_ids", List.of(1)))
            .body();
    JsonNode hitsExample = replyExample("query", "post");
    assertThat(names(hits.at("/instances/vllm-0")))
        .isEqualTo(names(hitsExample.at("/instances/demo-0")));
  }

  @Test
  void configurationExample_hasTheFieldsOfTheRealReply() {
    JsonNode config = Api.get("/admin/config").body();
    JsonNode example = document.at("/components/examples/ConfigurationExample/value");
    assertThat(names(config)).isEqualTo(names(example));
    assertThat(names(config.at("/settings/0"))).isEqualTo(names(example.at("/settings/0")));
  }

  @Test
  void promptEmbedsExamples_areWhatTheApplicationDoes() {
    byte[] payload = document.at("/components/examples/PayloadExample/value").asText().getBytes();
    String path =
        "/prompt_embeds/" + document.at("/components/parameters/Identifier/example").asText();
    Api.Reply missed = Api.get(path);
    assertThat(missed.status()).isEqualTo(404);
    assertThat(missed.body()).isEqualTo(document.at("/components/examples/MissExample/value"));
    for (String type : List.of("text/plain", "application/octet-stream")) {
      Api.Reply stored = Api.send("PUT", path, payload, "Content-Type", type);
      assertThat(stored.body()).isEqualTo(document.at("/components/examples/StoredExample/value"));
    }
    assertThat(Api.get(path).text().getBytes()).isEqualTo(payload);
    assertThat(names(Api.get("/admin/prompt_embeds/stats").body()))
        .isEqualTo(names(document.at("/components/examples/CacheStatsExample/value")));
    assertThat(Api.get("/admin/prompt_embeds/can_hold?bytes=52428800").body())
        .isEqualTo(document.at("/components/examples/CanHoldExample/value"));
    assertThat(Api.send("DELETE", path, null).status()).isEqualTo(204);
    assertThat(Api.send("POST", "/admin/prompt_embeds/clear", null).status()).isEqualTo(204);
  }

  @Test
  void everyReplyWithABody_isDescribedInBothMediaTypes() {
    for (JsonNode path : document.path("paths")) {
      for (JsonNode operation : path) {
        for (JsonNode response : operation.path("responses")) {
          JsonNode content = resolve(response).path("content");
          if (content.isMissingNode()) {
            continue;
          }
          assertThat(names(content))
              .isIn(
                  new TreeSet<>(List.of(Api.JSON, Api.MSGPACK)),
                  new TreeSet<>(List.of("text/plain")));
          assertThat(content).allSatisfy(type -> assertThat(type.path("examples")).isNotEmpty());
        }
      }
    }
  }

  @Test
  void swaggerUi_isThere() {
    assertThat(Api.get("/q/swagger-ui/").text()).contains("swagger-ui");
  }

  private JsonNode replyExample(String path, String method) {
    JsonNode response = resolve(document.at("/paths/~1" + path + "/" + method + "/responses/200"));
    JsonNode example = response.at("/content/application~1json/examples").elements().next();
    return resolve(example).path("value");
  }

  private JsonNode resolve(JsonNode node) {
    String reference = node.path("$ref").asText();
    return reference.isEmpty() ? node : document.at(reference.substring(1));
  }

  private static TreeSet<String> names(JsonNode object) {
    TreeSet<String> names = new TreeSet<>();
    for (Iterator<String> all = object.fieldNames(); all.hasNext(); ) {
      names.add(all.next());
    }
    return names;
  }
}
