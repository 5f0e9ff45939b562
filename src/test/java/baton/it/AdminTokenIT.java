package baton.it;

import static baton.it.AdminGuardIT.ADMIN;
import static baton.it.AdminGuardIT.send;
import static baton.it.Api.fields;
import static baton.it.Api.vllm;
import static baton.it.Embeds.assertUsable;
import static org.assertj.core.api.Assertions.assertThat;

import baton.it.Api.Reply;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import io.quarkus.test.junit.QuarkusTestProfile;
import io.quarkus.test.junit.TestProfile;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** With a token, operators are those who bring it, wherever they are; so is who registers. */
@QuarkusIntegrationTest
@TestProfile(AdminTokenIT.Guarded.class)
class AdminTokenIT {
  /** A token, which registrations need too. */
  public static final class Guarded implements QuarkusTestProfile {
    @Override
    public Map<String, String> getConfigOverrides() {
      return Map.of("baton.admin.token", TOKEN, "baton.admin.guard-registration", "true");
    }
  }

  private static final String TOKEN = "s3cret-Token";
  private static final String[] WITH_TOKEN = {
    "Content-Type", Api.JSON, "Authorization", "Bearer " + TOKEN
  };

  private static void assertUnauthorized(Reply reply) {
    assertThat(reply.status()).as(reply.text()).isEqualTo(401);
    assertThat(reply.body().get("reason").textValue()).isEqualTo("unauthorized");
    assertThat(reply.header("WWW-Authenticate")).contains("Bearer");
    assertThat(reply.text()).doesNotContain(TOKEN);
  }

  @Test
  void admin_noToken_isUnauthorized() {
    for (String request : ADMIN) {
      assertUnauthorized(Embeds.noStore(send(request)));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Bearer ",
        "Bearer s3cret-Toke",
        "Bearer s3cret-Token2",
        "Bearer s3cret-token",
        "Bearer x s3cret-Token",
        "s3cret-Token",
        "Basic s3cret-Token",
        "Bearers3cret-Token"
      })
  void admin_wrongToken_isUnauthorized(String authorization) {
    for (String request : ADMIN) {
      assertUnauthorized(send(request, "Authorization", authorization));
    }
    assertUnauthorized(send("GET /admin/prompt_embeds/stats?token=" + TOKEN));
  }

  @ParameterizedTest
  @ValueSource(strings = {"Bearer", "bearer", "BEARER", "Bearer  "})
  void admin_token_isAnsweredWhereverItComesFrom(String scheme) {
    for (String request : ADMIN) {
      Reply reply =
          send(request, "Authorization", scheme + " " + TOKEN, "X-Forwarded-For", "192.0.2.1");
      assertThat(reply.status()).as(request).isBetween(200, 204);
    }
  }

  @Test
  void admin_unauthorizedWithABody_leavesTheConnectionUsable() throws IOException {
    try (Wire wire = new Wire()) {
      for (String path : List.of("/admin/prompt_embeds/clear", "/register", "/unregister")) {
        wire.text("POST " + path + " HTTP/1.1\nHost: baton\nContent-Length: 1000000\n\n");
        wire.filler(1_000_000);
        assertUnauthorized(wire.reply());
        assertUsable(wire);
      }
    }
  }

  @Test
  void registration_guarded_needsTheToken() {
    byte[] publisher = Api.json(vllm("a", 0, 2301));
    byte[] key = Api.json(fields("instance_id", "a", "dp_rank", 0));
    assertUnauthorized(Api.send("POST", "/register", publisher));
    assertThat(Api.get("/services").body().get("count").intValue()).isZero();
    assertThat(Api.send("POST", "/register", publisher, WITH_TOKEN).status()).isEqualTo(200);
    assertUnauthorized(Api.send("POST", "/unregister", key));
    assertThat(Api.get("/services").body().get("count").intValue()).isEqualTo(1);
    assertThat(Api.send("POST", "/unregister", key, WITH_TOKEN).status()).isEqualTo(200);
  }

  @Test
  void everythingElse_noToken_isAnswered() {
    Map<String, Object> query =
        fields("model", "m", "block_size", 4, "token_ids", List.of(1, 2, 3, 4));
    assertThat(Api.post("/query", query).status()).isEqualTo(200);
    assertThat(Api.get("/services").status()).isEqualTo(200);
    assertThat(Api.get("/global_view").status()).isEqualTo(200);
    assertThat(Api.get("/q/metrics").status()).isEqualTo(200);
    Embeds.assertStored(Embeds.put("k", Embeds.payload(10, 1)));
    Embeds.assertHeld("k", Embeds.payload(10, 1));
    assertThat(Embeds.delete("k").status()).isEqualTo(204);
  }
}
