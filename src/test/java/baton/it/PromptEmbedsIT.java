package baton.it;

import static baton.it.Embeds.CAPACITY;
import static baton.it.Embeds.LONGEST;
import static baton.it.Embeds.MIB;
import static baton.it.Embeds.OVERHEAD;
import static baton.it.Embeds.assertHeld;
import static baton.it.Embeds.assertMiss;
import static baton.it.Embeds.assertPayload;
import static baton.it.Embeds.assertRefused;
import static baton.it.Embeds.assertSame;
import static baton.it.Embeds.assertStored;
import static baton.it.Embeds.assertUsable;
import static baton.it.Embeds.payload;
import static baton.it.Embeds.stats;
import static org.assertj.core.api.Assertions.assertThat;

import baton.it.Api.Reply;
import baton.it.Embeds.Stats;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Payloads put, looked up, replaced and driven out over HTTP. */
@QuarkusIntegrationTest
class PromptEmbedsIT {
  private static final byte[] ABC = "abc".getBytes(StandardCharsets.US_ASCII);

  @AfterEach
  void settle() {
    Embeds.settle();
  }

  private static void put(String identifier, byte[] payload) {
    assertStored(Embeds.put(identifier, payload));
  }

  private static long charges(long... lengths) {
    long sum = 0;
    for (long length : lengths) {
      sum += length + OVERHEAD;
    }
    return sum;
  }

  // Storing and looking up

  @ParameterizedTest
  @ValueSource(
      ints = {
        1,
        7,
        511,
        512,
        513,
        8 * 1024,
        64 * 1024 - 1,
        64 * 1024,
        64 * 1024 + 1,
        5 * MIB,
        40 * MIB
      })
  void put_anySize_comesBackByteForByte(int size) {
    byte[] announced = payload(size, size);
    put("k", announced);
    assertHeld("k", announced);

    byte[] chunked = payload(size, -size);
    assertStored(Embeds.putChunked("k", chunked));
    assertHeld("k", chunked);
    assertThat(stats()).isEqualTo(new Stats(CAPACITY, 1, 2, 2, 0, charges(size), 1.0));
  }

  @Test
  void put_everyAsciiByte_comesBackByteForByte() {
    byte[] payload = new byte[128];
    for (int i = 0; i < payload.length; i++) {
      payload[i] = (byte) i;
    }
    put("k", payload);
    assertHeld("k", payload);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "text/plain",
        "application/octet-stream",
        "TEXT/PLAIN; charset=US-ASCII",
        "Application/Octet-Stream;x=y"
      })
  void put_typeOfPayloads_isStored(String type) {
    assertStored(Embeds.put("k", ABC, "Content-Type", type));
    Reply reply = Embeds.get("k");
    assertPayload(reply, ABC);
    assertThat(reply.type()).isEqualTo("text/plain");
  }

  @Test
  void put_noType_isStored() {
    put("k", ABC);
    assertHeld("k", ABC);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "application/json",
        "application/msgpack",
        "text/html",
        "text/plainx",
        "text",
        "*/*",
        ";",
        "multipart/form-data; boundary=x"
      })
  void put_otherType_isRefused(String type) {
    Reply reply = Embeds.put("k", ABC, "Content-Type", type);
    assertRefused(reply, 415, "unsupported_content_type", null);
    assertMiss(Embeds.get("k"));
  }

  @ParameterizedTest
  @CsvSource({"gzip, 415", "br, 415", "'identity, gzip', 415", "identity, 200", "Identity, 200"})
  void put_contentEncoding_isRefusedUnlessItIsNone(String encoding, int status) {
    Reply reply = Embeds.put("k", ABC, "Content-Encoding", encoding);
    assertThat(reply.status()).isEqualTo(status);
    if (status == 415) {
      assertRefused(reply, 415, "unsupported_content_type", null);
      assertMiss(Embeds.get("k"));
    }
  }

  @Test
  void get_clientTakesGzip_isSentAsStored() {
    byte[] payload = payload(MIB, 1);
    put("k", payload);
    Reply reply = Embeds.get("k", "Accept-Encoding", "gzip, br");
    assertPayload(reply, payload);
    assertThat(reply.header("Content-Encoding")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"text/plain", "application/json", "application/msgpack", "image/png"})
  void get_anyAccept_isThePayload(String accept) {
    put("k", ABC);
    assertHeld("k", ABC, "Accept", accept);
  }

  @Test
  void replies_acceptMsgpack_areMsgpack() {
    Reply stored = Embeds.put("k", ABC, "Accept", Api.MSGPACK);
    assertThat(stored.type()).isEqualTo(Api.MSGPACK);
    assertThat(stored.body()).isEqualTo(Api.tree("{\"stored\":true}"));
    Reply miss = Embeds.get("other", "Accept", Api.MSGPACK);
    assertThat(miss.status()).isEqualTo(404);
    assertThat(miss.body()).isEqualTo(Api.tree("{\"reason\":\"miss\"}"));
  }

  @Test
  void get_unknown_isAMissAndCounts() {
    assertMiss(Embeds.get("k"));
    assertThat(stats()).isEqualTo(new Stats(CAPACITY, 0, 0, 1, 0, 0, 0.0));
  }

  @Test
  void head_heldOrNot_countsLikeGetAndHasNoBody() throws IOException {
    put("k", payload(12345, 1));
    try (Wire wire = new Wire()) {
      wire.text(Embeds.request("HEAD", "k"));
      Reply hit = Embeds.noStore(wire.head());
      assertThat(hit.status()).isEqualTo(200);
      assertThat(hit.header("Content-Length")).contains("12345");
      assertThat(hit.type()).isEqualTo("text/plain");
      // A body would be in the way of the next reply.
      wire.text(Embeds.request("HEAD", "other"));
      assertThat(Embeds.noStore(wire.head()).status()).isEqualTo(404);
      assertUsable(wire);
    }
    assertThat(stats()).isEqualTo(new Stats(CAPACITY, 1, 1, 2, 0, charges(12345), 0.5));
  }

  @Test
  void delete_heldOrNot_is204AndNoLookup() {
    put("k", ABC);
    put("other", ABC);
    for (int i = 0; i < 2; i++) {
      Reply reply = Embeds.delete("k");
      assertThat(reply.status()).isEqualTo(204);
      assertThat(reply.text()).isEmpty();
    }
    assertThat(stats()).isEqualTo(new Stats(CAPACITY, 1, 0, 0, 0, charges(3), 0.0));
    assertMiss(Embeds.get("k"));
    assertHeld("other", ABC);
  }

  @Test
  void query_any_isIgnored() {
    assertStored(Embeds.put("k?cache_salt=s", ABC));
    assertHeld("k", ABC);
    assertHeld("k?other=1&k", ABC);
    assertThat(Embeds.delete("k?").status()).isEqualTo(204);
    assertMiss(Embeds.get("k"));
  }

  // Who goes, and when

  @Test
  void put_again_replacesAndIsChargedAnew() {
    for (int size : new int[] {1000, 70_000, 1, 5 * MIB, 999}) {
      byte[] payload = payload(size, size);
      put("k", payload);
      assertThat(stats().used()).isEqualTo(charges(size));
      assertThat(stats().entries()).isEqualTo(1);
      assertHeld("k", payload);
    }
    assertThat(Embeds.memory()).as("only the last one takes memory").isEqualTo(1024);
  }

  @Test
  void put_cacheIsFull_drivesOutWhoWasUsedLongestAgo() {
    int size = 20 * MIB;
    byte[] payload = payload(size, 1);
    put("a", payload);
    put("b", payload);
    put("c", payload);
    assertThat(stats().used()).isEqualTo(charges(size, size, size));

    assertThat(Embeds.head("a").status()).isEqualTo(200); // b c a
    assertThat(Embeds.canHold(size)).isTrue();
    put("d", payload); // c a d
    assertMiss(Embeds.get("b"));
    put("c", payload); // a d c
    put("e", payload); // d c e
    assertMiss(Embeds.get("a"));
    assertHeld("d", payload); // c e d
    put("f", payload(25 * MIB, 2)); // d f: one had to go for the room, and one more
    assertMiss(Embeds.get("c"));
    assertMiss(Embeds.get("e"));
    assertHeld("d", payload);
    assertThat(stats().entries()).isEqualTo(2);
    assertThat(stats().used()).isEqualTo(charges(size, 25 * MIB));
  }

  @Test
  void put_fitsToTheByte_drivesNobodyOut() {
    byte[] first = payload(1000, 1);
    put("a", first);
    byte[] exact = payload(CAPACITY - 1000 - 2 * OVERHEAD, 2);
    put("b", exact);
    assertThat(stats().used()).isEqualTo(CAPACITY);
    assertHeld("a", first);
    put("c", payload(1, 3));
    assertMiss(Embeds.get("b"));
    assertHeld("a", first);
  }

  @Test
  void put_againAndLarger_needsRoomForTheDifferenceOnly() {
    byte[] payload = payload(20 * MIB, 1);
    put("a", payload);
    put("b", payload);
    put("c", payload);
    put("a", payload(23 * MIB, 2));
    assertThat(stats().entries()).isEqualTo(3);
    put("a", payload(25 * MIB, 3));
    assertMiss(Embeds.get("b"));
    assertHeld("c", payload);
    assertThat(stats().used()).isEqualTo(charges(20 * MIB, 25 * MIB));
  }

  @Test
  void put_oneForAll_drivesAllOut() {
    for (int i = 0; i < 200; i++) {
      put("k" + i, ABC);
    }
    assertThat(stats().used()).isEqualTo(200 * charges(3));
    put("all", payload(LONGEST, 1));
    assertThat(stats().entries()).isEqualTo(1);
    assertThat(stats().used()).isEqualTo(CAPACITY);
  }

  // Many at once

  @Test
  void put_manyOfTheSameKeyAtOnce_exactlyOneOfThemIsHeld() throws Exception {
    Map<String, byte[]> sent = new HashMap<>();
    List<Callable<Reply>> puts = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      byte[] payload = payload(60_000 + 100 * i, i);
      sent.put(new String(payload, StandardCharsets.US_ASCII), payload);
      puts.add(() -> putUntilThereIsRoom("k", payload));
    }
    for (Reply reply : all(puts)) {
      assertStored(reply);
    }
    byte[] held = sent.get(Embeds.get("k").text());
    assertThat(held).as("one of those sent").isNotNull();
    assertThat(stats().entries()).isEqualTo(1);
    assertThat(stats().used()).isEqualTo(charges(held.length));
    assertThat(stats().oversize()).isZero();
  }

  private static Reply putUntilThereIsRoom(String identifier, byte[] payload) {
    Reply reply = Embeds.put(identifier, payload);
    while (reply.status() == 429) {
      assertThat(reply.header("Retry-After")).contains("1");
      reply = Embeds.put(identifier, payload);
    }
    return reply;
  }

  @Test
  void get_manyOfTheSameKeyAtOnce_allAreByteForByte() throws Exception {
    byte[] payload = payload(3 * MIB, 1);
    put("k", payload);
    List<Callable<Reply>> gets = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      gets.add(() -> Embeds.get("k"));
    }
    for (Reply reply : all(gets)) {
      assertPayload(reply, payload);
    }
    assertThat(stats().hits()).isEqualTo(40);
  }

  private static List<Reply> all(List<Callable<Reply>> calls) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(calls.size());
    try {
      List<Reply> replies = new ArrayList<>();
      for (Future<Reply> reply : threads.invokeAll(calls)) {
        replies.add(reply.get());
      }
      return replies;
    } finally {
      threads.shutdownNow();
    }
  }

  // Slow readers

  @ParameterizedTest
  @ValueSource(strings = {"replaced", "driven out", "deleted", "cleared"})
  void get_entryGoesMeanwhile_arrivesByteForByte(String fate) throws IOException {
    byte[] payload = payload(20 * MIB, 1);
    put("k", payload);
    try (Wire reader = new Wire("127.0.0.1", 64 * 1024)) {
      reader.text(Embeds.request("GET", "k"));
      assertThat(reader.head().status()).isEqualTo(200);
      byte[] others = payload(22 * MIB, 2);
      switch (fate) {
        case "replaced" -> put("k", others);
        case "deleted" -> assertThat(Embeds.delete("k").status()).isEqualTo(204);
        case "cleared" -> Embeds.clear();
        default -> {
          put("other-1", others);
          put("other-2", others);
        }
      }
      assertThat(Embeds.lingering()).isEqualTo(payload.length);
      // Whatever was freed too early would be these now.
      put("x", others);
      put("y", others);
      put("z", others);
      assertSame(reader.read(payload.length), payload);
      assertUsable(reader);
    }
    Router.eventually(() -> assertThat(Embeds.lingering()).isZero());
  }

  @Test
  void get_readerBreaksOff_letsGo() throws IOException {
    byte[] payload = payload(20 * MIB, 1);
    put("k", payload);
    for (boolean reset : new boolean[] {true, false}) {
      try (Wire reader = new Wire("127.0.0.1", 64 * 1024)) {
        reader.text(Embeds.request("GET", "k"));
        assertThat(reader.head().status()).isEqualTo(200);
        put("k", payload);
        assertThat(Embeds.lingering()).isEqualTo(payload.length);
        assertThat(Embeds.memory()).isEqualTo(2L * payload.length);
        if (reset) {
          reader.reset();
        }
      }
      Router.eventually(() -> assertThat(Embeds.memory()).isEqualTo(payload.length));
      assertThat(Embeds.lingering()).isZero();
      assertHeld("k", payload);
    }
  }

  // The connection

  @Test
  void requests_pipelined_areAnsweredInTurn() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text(
          Embeds.put("k", 3)
              + "abc"
              + Embeds.request("GET", "k")
              + Embeds.request("DELETE", "k")
              + Embeds.request("GET", "k"));
      assertStored(wire.reply());
      assertPayload(wire.reply(), ABC);
      assertThat(wire.reply().status()).isEqualTo(204);
      assertMiss(wire.reply());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"POST", "PATCH", "TRACE", "FOO"})
  void method_wrong_tellsWhichAreRight(String method) throws IOException {
    put("k", ABC);
    try (Wire wire = new Wire()) {
      for (String identifier : List.of("k", "k/", "")) {
        wire.text(Embeds.request(method, identifier, "Content-Length: 3") + "xyz");
        Reply reply = wire.reply();
        assertRefused(reply, 405, "method_not_allowed", null);
        assertThat(reply.header("Allow").orElseThrow().split(", "))
            .contains("GET", "HEAD", "PUT", "DELETE")
            .doesNotContain("POST");
        assertUsable(wire);
      }
    }
    assertHeld("k", ABC);
  }

  @Test
  void connection_afterEachRefusal_staysUsable() throws IOException {
    String body = "x".repeat(100_000);
    int length = body.length();
    try (Wire wire = new Wire()) {
      for (String refused :
          List.of(
              Embeds.put("k", length, "Content-Type: text/html"),
              Embeds.put("k", length, "Content-Encoding: gzip"),
              Embeds.put("", length),
              Embeds.put("%00", length),
              Embeds.put("k%zz", length),
              Embeds.put("k", length, "X-Cache-Salt: a@b"),
              Embeds.put("k", length, "X-Cache-Salt: a", "X-Cache-Salt: b"),
              Embeds.request("GET", "%00", "Content-Length: " + length),
              Embeds.request("DELETE", "%00", "Content-Length: " + length),
              Embeds.request("POST", "k", "Content-Length: " + length))) {
        wire.text(refused + body);
        assertThat(wire.reply().status()).as(refused).isBetween(400, 415);
        assertUsable(wire);
      }
    }
    assertThat(stats()).isEqualTo(new Stats(CAPACITY, 0, 0, 0, 0, 0, 0.0));
  }

  @Test
  void http10_putAndGet_work() throws IOException {
    try (Wire wire = new Wire()) {
      wire.text("PUT /prompt_embeds/k HTTP/1.0\nContent-Length: 3\n\nabc");
      assertStored(wire.reply());
      assertThat(wire.read(1)).as("the connection has ended").isEmpty();
    }
    try (Wire wire = new Wire()) {
      wire.text("GET /prompt_embeds/k HTTP/1.0\n\n");
      assertPayload(wire.reply(), ABC);
      assertThat(wire.read(1)).as("the connection has ended").isEmpty();
    }
  }

  @Test
  void http2_putGetHeadAndMiss_areAsInHttp1() throws Exception {
    HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build();
    byte[] payload = payload(5 * MIB, 1);
    URI uri = Api.uri().resolve("/prompt_embeds/k");
    // The first request asks for the upgrade.
    assertThat(send(client, uri, "GET", BodyPublishers.noBody()).statusCode()).isEqualTo(404);
    for (BodyPublisher body :
        List.of(
            BodyPublishers.ofByteArray(payload),
            BodyPublishers.fromPublisher(BodyPublishers.ofByteArray(payload)))) {
      HttpResponse<byte[]> stored = send(client, uri, "PUT", body);
      assertThat(stored.version()).isEqualTo(HttpClient.Version.HTTP_2);
      assertThat(new String(stored.body(), StandardCharsets.US_ASCII))
          .isEqualTo("{\"stored\":true}");
      assertSame(send(client, uri, "GET", BodyPublishers.noBody()).body(), payload);
      HttpResponse<byte[]> head = send(client, uri, "HEAD", BodyPublishers.noBody());
      assertThat(head.headers().firstValue("Content-Length")).contains("" + payload.length);
      assertThat(send(client, uri, "DELETE", BodyPublishers.noBody()).statusCode()).isEqualTo(204);
    }
    HttpResponse<byte[]> empty = send(client, uri, "PUT", BodyPublishers.noBody());
    assertThat(new String(empty.body(), StandardCharsets.US_ASCII))
        .isEqualTo("{\"stored\":false,\"reason\":\"empty\"}");
  }

  private static HttpResponse<byte[]> send(
      HttpClient client, URI uri, String method, BodyPublisher body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(uri).timeout(Api.PATIENCE).method(method, body).build();
    HttpResponse<byte[]> response = client.send(request, BodyHandlers.ofByteArray());
    assertThat(response.headers().firstValue("Cache-Control")).contains("no-store");
    return response;
  }
}
