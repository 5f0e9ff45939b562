package baton.conductor;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/** Which ZMQ endpoints a registration may name. */
final class Endpoints {
  private static final Pattern TCP =
      Pattern.compile(
          "tcp://(\\*|\\[[0-9a-fA-F]*:[0-9a-fA-F:.]*(?:%\\w+)?\\]|[^*:/;\\s\\[\\]]+):(\\d{1,5})");

  /** All spellings of an address that a resolver takes for one without asking anybody. */
  private static final Pattern ADDRESS = Pattern.compile("\\[.*|[0-9][0-9a-fA-FxX.]*");

  /** What looks like an address is none unless it is one: no name consists of digits and dots. */
  private static final Pattern DIGITS = Pattern.compile("[0-9.]+");

  private static final Pattern QUAD =
      Pattern.compile("((25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])(\\.(?!$)|$)){4}");

  private static final Pattern IPC = Pattern.compile("ipc://\\S+");

  private final List<Pattern> allowed;

  /**
   * @param globs endpoints that may be registered; {@code *} stands for any characters
   */
  Endpoints(List<String> globs) {
    allowed = globs.stream().map(Endpoints::pattern).toList();
  }

  private static Pattern pattern(String glob) {
    String[] literals = glob.split("\\*", -1);
    for (int i = 0; i < literals.length; i++) {
      literals[i] = Pattern.quote(literals[i]);
    }
    return Pattern.compile(String.join(".*", literals), Pattern.CASE_INSENSITIVE);
  }

  /** Refuses what no ZMQ socket can connect to. */
  static void require(String field, String endpoint) {
    var tcp = TCP.matcher(endpoint);
    if (tcp.matches()) {
      int port = Integer.parseInt(tcp.group(2));
      if (port < 1 || port > 65535) {
        throw Rejection.invalidValue(field, "needs a port from 1 to 65535, not " + port);
      }
      if (DIGITS.matcher(tcp.group(1)).matches() && !QUAD.matcher(tcp.group(1)).matches()) {
        throw Rejection.invalidValue(field, "names no address: " + tcp.group(1));
      }
    } else if (!IPC.matcher(endpoint).matches()) {
      throw Rejection.invalidValue(field, "must be tcp://host:port or ipc://path");
    }
  }

  /** The same text for every spelling of one endpoint. */
  static String canonical(String endpoint) {
    var tcp = TCP.matcher(endpoint);
    return tcp.matches()
        ? "tcp://" + tcp.group(1).toLowerCase(Locale.ROOT) + ":" + Integer.parseInt(tcp.group(2))
        : endpoint;
  }

  /** Refuses what this installation does not allow. */
  void requireAllowed(String field, String endpoint) {
    if (isLinkLocal(endpoint) || allowed.stream().noneMatch(p -> p.matcher(endpoint).matches())) {
      throw Rejection.invalidValue(field, "is not among the endpoints that may be registered here");
    }
  }

  /**
   * Cloud hosts answer secrets at link-local addresses, and no engine has one. An address has many
   * spellings, so it is read as the socket will read it. A name is not looked up: what it means may
   * change at any time.
   */
  private static boolean isLinkLocal(String endpoint) {
    var tcp = TCP.matcher(endpoint);
    if (!tcp.matches() || !isAddress(tcp.group(1))) {
      return false;
    }
    try {
      return Arrays.stream(InetAddress.getAllByName(tcp.group(1)))
          .anyMatch(InetAddress::isLinkLocalAddress);
    } catch (UnknownHostException e) {
      return false; // the socket will not find it either
    }
  }

  private static boolean isAddress(String host) {
    return ADDRESS.matcher(host).matches();
  }
}
