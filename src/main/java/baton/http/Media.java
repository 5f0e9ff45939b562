package baton.http;

import java.util.Locale;

/** The two media types of requests and replies. */
enum Media {
  JSON("application/json"),
  MSGPACK("application/msgpack");

  private final String type;

  Media(String type) {
    this.type = type;
  }

  String type() {
    return type;
  }

  /**
   * The media type of a request body; null if it is none that Baton reads. No header means JSON.
   */
  static Media ofContentType(String header) {
    if (header == null || header.isBlank()) {
      return JSON;
    }
    String[] parts = header.toLowerCase(Locale.ROOT).split(";", -1);
    for (int i = 1; i < parts.length; i++) {
      String parameter = parts[i].replace(" ", "").replace("\"", "");
      if (parameter.startsWith("charset=") && !parameter.equals("charset=utf-8")) {
        return null;
      }
    }
    return ofName(parts[0].strip());
  }

  private static Media ofName(String name) {
    return switch (name) {
      case "application/json" -> JSON;
      case "application/msgpack", "application/x-msgpack", "application/vnd.msgpack" -> MSGPACK;
      default -> null;
    };
  }

  /**
   * The media type that a client wants back (RFC 9110, section 12.5.1).
   *
   * @param accept the header, or null
   * @param preferred where the client has no preference
   * @return null if it wants neither
   */
  static Media ofAccept(String accept, Media preferred) {
    if (accept == null || accept.isBlank()) {
      return preferred;
    }
    Media other = preferred == JSON ? MSGPACK : JSON;
    double quality = quality(accept, preferred);
    double otherQuality = quality(accept, other);
    if (quality == 0 && otherQuality == 0) {
      return null;
    }
    return otherQuality > quality ? other : preferred;
  }

  /** The quality of the most specific range that covers a type; 0 if none does. */
  private static double quality(String accept, Media media) {
    double quality = 0;
    int specificity = 0;
    for (String range : accept.toLowerCase(Locale.ROOT).split(",")) {
      String[] parts = range.split(";", -1);
      String name = parts[0].strip();
      int specific =
          ofName(name) == media ? 3 : name.equals("application/*") ? 2 : name.equals("*/*") ? 1 : 0;
      if (specific > specificity) {
        specificity = specific;
        quality = quality(parts);
      } else if (specific == specificity && specific > 0) {
        quality = Math.max(quality, quality(parts));
      }
    }
    return quality;
  }

  private static double quality(String[] parts) {
    for (int i = 1; i < parts.length; i++) {
      String parameter = parts[i].strip();
      if (parameter.startsWith("q=")) {
        try {
          double q = Double.parseDouble(parameter.substring(2));
          return q >= 0 && q <= 1 ? q : 0;
        } catch (NumberFormatException e) {
          return 0;
        }
      }
    }
    return 1;
  }
}
