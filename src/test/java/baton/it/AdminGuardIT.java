package baton.it;

import static baton.it.Api.vllm;
import static baton.it.Embeds.assertRefused;
import static baton.it.Embeds.assertUsable;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import baton.it.Api.Reply;
import io.quarkus.test.junit.QuarkusIntegrationTest;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Without a token, operators are those on this machine. */
@QuarkusIntegrationTest
class AdminGuardIT {
  static final List<String> ADMIN =
      List.of(
          "GET /admin/config",
          "GET /admin/prompt_embeds/can_hold?bytes=1",
          "GET /admin/prompt_embeds/stats",
          "POST /admin/prompt_embeds/clear");

  static Reply send(String methodAndPath, String... headers) {
    String[] parts = methodAndPath.split(" ");
    return Api.send(parts[0], parts[1], null, headers);
  }

  @Test
  void admin_fromLoopback_isAnswered() {
    for (String request : ADMIN) {
      assertThat(send(request).status()).as(request).isBetween(200, 204);
      assertThat(send(request, "Authorization", "Bearer x").status()).isBetween(200, 204);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"X-Forwarded-For", "x-forwarded-for", "Forwarded"})
  void admin_passedOnByAProxy_isForbidden(String header) {
    Embeds.put("k", Embeds.payload(1, 1));
    for (String request : ADMIN) {
      for (String value : List.of("127.0.0.1", "for=127.0.0.1", " ")) {
        assertRefused(send(request, header, value), 403, "forbidden", null);
      }
    }
    assertThat(Embeds.stats().entries()).as("nothing was cleared").isEqualTo(1);
    Embeds.settle();
  }

  @Test
  void admin_fromAnotherAddress_isForbidden() throws IOException {
    Optional<String> own = ownAddress();
    assumeTrue(own.isPresent(), "this machine has loopback addresses only");
    try (Wire wire = new Wire(own.get(), 0)) {
      for (String request : ADMIN) {
        wire.text(request + " HTTP/1.1\nHost: localhost\nContent-Length: 100000\n\n");
        wire.filler(100_000);
        assertRefused(wire.reply(), 403, "forbidden", null);
      }
      assertUsable(wire);
      wire.text(Embeds.put("k", 3) + "abc");
      Embeds.assertStored(wire.reply());
    }
    Embeds.settle();
  }

  /** What is sent to it from here stays inside this machine. */
  private static Optional<String> ownAddress() throws SocketException {
    return NetworkInterface.networkInterfaces()
        .flatMap(NetworkInterface::inetAddresses)
        .filter(a -> a instanceof Inet4Address && !a.isLoopbackAddress())
        .map(InetAddress::getHostAddress)
        .findFirst();
  }

  @Test
  void registration_unlessItIsGuarded_isForAll() {
    Reply registered =
        Api.send(
            "POST",
            "/register",
            Api.json(vllm("a", 0, 2301)),
            "Content-Type",
            Api.JSON,
            "X-Forwarded-For",
            "192.0.2.1");
    assertThat(registered.status()).as(registered.text()).isEqualTo(200);
    Api.unregisterAll();
  }
}
