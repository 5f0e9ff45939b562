package baton.http;

import baton.config.BatonConfig;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import io.vertx.ext.web.RoutingContext;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Optional;

/**
 * Lets operators in: with the configured token, or, if there is none, from a loopback address.
 *
 * <p>What a proxy on this machine passes on does not come from loopback, so a request that says it
 * was passed on is refused without a token.
 */
@Singleton
final class AdminGuard {
  private static final String SCHEME = "Bearer ";

  private final Optional<byte[]> token;
  private final boolean guardRegistration;

  @Inject
  AdminGuard(BatonConfig config) {
    token = config.admin().token().map(t -> t.getBytes(StandardCharsets.UTF_8));
    guardRegistration = config.admin().guardRegistration();
  }

  /**
   * @throws BadRequest if the request is none of an operator's
   */
  void admit(RoutingContext http) {
    HttpServerRequest request = http.request();
    if (token.isPresent()) {
      if (!bringsToken(request)) {
        http.response().putHeader("WWW-Authenticate", "Bearer");
        throw refusal(http, 401, "unauthorized", "this needs the administrator's token");
      }
    } else if (isPassedOn(request) || !isLoopback(request.connection().remoteAddress())) {
      throw refusal(
          http, 403, "forbidden", "without baton.admin.token this answers loopback addresses only");
    }
  }

  /** The same for a registration, if that is guarded. */
  void admitRegistration(RoutingContext http) {
    if (guardRegistration) {
      admit(http);
    }
  }

  private static BadRequest refusal(RoutingContext http, int status, String reason, String error) {
    // What the client still sends is passed over, so that its connection stays usable.
    http.request().resume();
    return BadRequest.of(status, reason, error);
  }

  private boolean bringsToken(HttpServerRequest request) {
    String header = request.getHeader("Authorization");
    if (header == null || !header.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
      return false;
    }
    // A header's characters are the bytes that were sent.
    byte[] given = header.substring(SCHEME.length()).strip().getBytes(StandardCharsets.ISO_8859_1);
    return MessageDigest.isEqual(given, token.get());
  }

  private static boolean isPassedOn(HttpServerRequest request) {
    return request.headers().contains("Forwarded") || request.headers().contains("X-Forwarded-For");
  }

  private static boolean isLoopback(SocketAddress address) {
    try {
      // An address in digits, so nothing is looked up.
      return address != null
          && address.hostAddress() != null
          && InetAddress.getByName(address.hostAddress()).isLoopbackAddress();
    } catch (UnknownHostException e) {
      return false;
    }
  }
}
