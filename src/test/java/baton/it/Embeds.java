package baton.it;

import static org.assertj.core.api.Assertions.assertThat;

import baton.it.Api.Reply;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;

/** The running application's prompt-embeds cache, as its clients and its operators see it. */
final class Embeds {
  static final int MIB = 1024 * 1024;

  /** What {@code pom.xml} gives the application under test. */
  static final int CAPACITY = 64 * MIB;

  static final int OVERHEAD = 512;

  /** Bytes; memory is taken in these. */
  static final int UNIT = 128;

  /** The longest payload that such a cache can hold. */
  static final int LONGEST = CAPACITY - OVERHEAD;

  private static final byte[] BASE64 =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
          .getBytes(StandardCharsets.US_ASCII);

  private Embeds() {}

  /** The cache's statistics, under the names of the contract. */
  record Stats(
      long capacity,
      long entries,
      long hits,
      long lookups,
      long oversize,
      long used,
      double ratio) {}

  /** Base64 text that no other seed gives. */
  static byte[] payload(int length, long seed) {
    byte[] payload = new byte[length];
    new Random(seed).nextBytes(payload);
    for (int i = 0; i < length; i++) {
      payload[i] = BASE64[payload[i] & 63];
    }
    return payload;
  }

  static String path(String identifier) {
    return "/prompt_embeds/" + identifier;
  }

  static Reply put(String identifier, byte[] payload, String... headers) {
    return noStore(Api.send("PUT", path(identifier), payload, headers));
  }

  static Reply putChunked(String identifier, byte[] payload, String... headers) {
    BodyPublisher unknownLength = BodyPublishers.fromPublisher(BodyPublishers.ofByteArray(payload));
    return noStore(Api.sendBody("PUT", path(identifier), unknownLength, headers));
  }

  static Reply get(String identifier, String... headers) {
    return noStore(Api.get(path(identifier), headers));
  }

  static Reply head(String identifier, String... headers) {
    return noStore(Api.send("HEAD", path(identifier), null, headers));
  }

  static Reply delete(String identifier, String... headers) {
    return noStore(Api.send("DELETE", path(identifier), null, headers));
  }

  /** The head of a request to be sent by hand. */
  static String request(String method, String identifier, String... headers) {
    StringBuilder request = new StringBuilder(method + " " + path(identifier) + " HTTP/1.1\n");
    request.append("Host: baton\n");
    for (String header : headers) {
      request.append(header).append('\n');
    }
    return request.append('\n').toString();
  }

  /** The head of an upload to be sent by hand. */
  static String put(String identifier, long length, String... headers) {
    String[] all = Arrays.copyOf(headers, headers.length + 1);
    all[headers.length] = "Content-Length: " + length;
    return request("PUT", identifier, all);
  }

  static Stats stats() {
    Reply reply = noStore(Api.get("/admin/prompt_embeds/stats"));
    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    var body = reply.body();
    return new Stats(
        body.get("capacity_bytes").longValue(),
        body.get("entries").longValue(),
        body.get("hits").longValue(),
        body.get("lookups").longValue(),
        body.get("oversize_rejections").longValue(),
        body.get("used_bytes").longValue(),
        body.get("hit_ratio").doubleValue());
  }

  static boolean canHold(long bytes) {
    return Api.get("/admin/prompt_embeds/can_hold?bytes=" + bytes)
        .body()
        .get("can_hold")
        .booleanValue();
  }

  static void clear() {
    Reply reply = noStore(Api.send("POST", "/admin/prompt_embeds/clear", null));
    assertThat(reply.status()).as(reply.text()).isEqualTo(204);
  }

  /** All meters, by the names that {@link Router#metrics} gives them. */
  private static Map<String, Double> meters() {
    try {
      return new Router(Api.uri().toURL()).metrics();
    } catch (MalformedURLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static long meter(Map<String, Double> meters, String name) {
    assertThat(meters).containsKey(name);
    return meters.get(name).longValue();
  }

  /**
   * A meter of the cache, {@code cache_} left out.
   *
   * @param labels besides the cache's name, each with a comma before it
   */
  static long meter(String name, String... labels) {
    return meter(
        meters(), "cache_" + name + "{cache=prompt_embeds" + String.join("", labels) + "}");
  }

  /** Bytes of memory that payloads take wherever they are. */
  static long memory() {
    return meter("memory_bytes");
  }

  /** Bytes that have left the cache and are still being read. */
  static long lingering() {
    return meter("lingering_bytes");
  }

  static long uploads() {
    return meter(meters(), "baton_prompt_embeds_uploads");
  }

  static long uploadBytes() {
    return meter(meters(), "baton_prompt_embeds_upload_bytes");
  }

  /** Waits until nobody's payload is on its way in or out, and just so much memory is taken. */
  static void awaitMemory(long bytes) {
    Router.eventually(
        () ->
            assertThat(meters())
                .containsEntry("baton_prompt_embeds_uploads", 0.0)
                .containsEntry("baton_prompt_embeds_upload_bytes", 0.0)
                .containsEntry("cache_lingering_bytes{cache=prompt_embeds}", 0.0)
                .containsEntry("cache_memory_bytes{cache=prompt_embeds}", (double) bytes));
  }

  /**
   * Empties the cache, for the next test. Whatever the last one did: when all is over, no byte of
   * memory is left behind.
   */
  static void settle() {
    clear();
    awaitMemory(0);
  }

  static Reply noStore(Reply reply) {
    assertThat(reply.header("Cache-Control")).as(reply.toString()).contains("no-store");
    return reply;
  }

  static void assertStored(Reply reply) {
    assertBody(reply, 200, "{\"stored\":true}");
  }

  static void assertNotStored(Reply reply, String reason) {
    assertBody(reply, 200, "{\"stored\":false,\"reason\":\"" + reason + "\"}");
  }

  static void assertMiss(Reply reply) {
    assertBody(reply, 404, "{\"reason\":\"miss\"}");
  }

  private static void assertBody(Reply reply, int status, String json) {
    noStore(reply);
    assertThat(reply.status()).as(reply.text()).isEqualTo(status);
    assertThat(reply.text()).isEqualTo(json);
    assertThat(reply.type()).isEqualTo(Api.JSON);
  }

  static void assertRefused(Reply reply, int status, String reason, String field) {
    noStore(reply);
    assertThat(reply.status()).as(reply.text()).isEqualTo(status);
    assertThat(reply.body().path("reason").textValue()).as(reply.text()).isEqualTo(reason);
    assertThat(reply.body().path("field").textValue()).as(reply.text()).isEqualTo(field);
    assertThat(reply.body().path("error").asText()).isNotBlank();
    assertThat(reply.text()).doesNotContain("Exception", "java.", "io.vertx");
  }

  static void assertPayload(Reply reply, byte[] payload) {
    noStore(reply);
    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.header("Content-Length")).contains("" + payload.length);
    assertSame(reply.text().getBytes(StandardCharsets.UTF_8), payload);
  }

  /** Without showing megabytes if they differ. */
  static void assertSame(byte[] received, byte[] payload) {
    assertThat(Arrays.mismatch(received, payload))
        .as("the first different byte; %d of %d came", received.length, payload.length)
        .isEqualTo(-1);
  }

  static void assertHeld(String identifier, byte[] payload, String... headers) {
    assertPayload(get(identifier, headers), payload);
  }

  /** A connection on which something was refused goes on. */
  static void assertUsable(Wire wire) throws IOException {
    wire.text("GET /services HTTP/1.1\nHost: baton\n\n");
    Reply reply = wire.reply();
    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.body().get("count").intValue()).isZero();
  }
}
