package baton.client;

import java.net.InetSocketAddress;

/** {@code host:port}, an IPv6 host in brackets. */
final class RpcAddress {
  private RpcAddress() {}

  /** The address, not looked up yet; null if the text is none. */
  static InetSocketAddress parse(String text) {
    int colon = text == null ? -1 : text.lastIndexOf(':');
    if (colon < 1 || text.contains("/")) {
      return null;
    }
    String host = text.substring(0, colon);
    boolean bracketed = host.startsWith("[") && host.endsWith("]");
    if (host.indexOf(':') >= 0 != bracketed) {
      return null;
    }
    int port = port(text.substring(colon + 1));
    String bare = bracketed ? host.substring(1, host.length() - 1) : host;
    return port < 0 || bare.isEmpty() ? null : InetSocketAddress.createUnresolved(bare, port);
  }

  private static int port(String digits) {
    if (digits.isEmpty()
        || digits.length() > 5
        || !digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
      return -1;
    }
    int port = Integer.parseInt(digits);
    return port > 0 && port < 65536 ? port : -1;
  }
}
