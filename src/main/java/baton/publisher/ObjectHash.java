package baton.publisher;

import baton.hash.HashProfile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The block hash inside a pool object's key, as the engines' connectors compose it.
 *
 * @param key the block's key, null if the object's key shows no hash
 * @param isFirstGroup whether it belongs to the first cache group, the only one that Baton indexes
 */
record ObjectHash(Long key, boolean isFirstGroup) {
  private static final ObjectHash NONE = new ObjectHash(null, true);
  private static final int MAX_KEY_LENGTH = 4096;
  private static final int KEY_DIGITS = 16;

  private static final String OPTIONS = "(?:@cache_role:[^@]*)?(?:@cache_family:[^@]*)?";
  private static final String GROUP = "(?:@group:(?<group>[^@]*))?";
  private static final String HASH = "@(?<hash>(?:0[xX])?[0-9a-fA-F]+)";
  private static final Pattern[] VLLM = {
    Pattern.compile(
        ".*@tp_rank:\\d+@pcp\\d+@dcp\\d+@pp_rank:\\d+" + GROUP + OPTIONS + HASH, Pattern.DOTALL),
    Pattern.compile(
        ".*@pcp\\d+@dcp\\d+@head_or_tp_rank:\\d+(?:@pp_rank:\\d+)?"
            + GROUP
            + OPTIONS
            + "(?:@layer_id:\\d+)?"
            + HASH
            + "(?:@\\d+)?",
        Pattern.DOTALL),
    Pattern.compile("[^@]*(?:@(?<group>[^@]*))?" + HASH + "@\\d+", Pattern.DOTALL),
  };
  private static final Pattern SGLANG = Pattern.compile("(?:^|_)([0-9a-fA-F]{64})(?=_|\\z)");

  static ObjectHash of(String object, HashProfile profile) {
    if (object.length() > MAX_KEY_LENGTH) {
      return NONE;
    }
    return profile.isVllm() ? ofVllm(object) : ofSglang(object);
  }

  private static ObjectHash ofVllm(String object) {
    for (Pattern layout : VLLM) {
      Matcher matcher = layout.matcher(object);
      if (matcher.matches()) {
        String group = matcher.group("group");
        return new ObjectHash(
            lastDigits(matcher.group("hash")), group == null || group.equals("0"));
      }
    }
    return NONE;
  }

  private static ObjectHash ofSglang(String object) {
    Matcher matcher = SGLANG.matcher(object);
    if (!matcher.find()) {
      return NONE;
    }
    String hash = matcher.group(1);
    // Two hashes leave open which is the block's.
    return matcher.find() ? NONE : new ObjectHash(firstDigits(hash), true);
  }

  /**
   * The key of a digest in hex, with or without 0x: at least 16 digits, an even number; else null.
   */
  static Long projectHex(String hex, HashProfile profile) {
    return profile.isVllm() ? lastDigits(hex) : firstDigits(hex);
  }

  private static Long lastDigits(String hex) {
    String digits = digits(hex);
    return digits == null ? null : parse(digits.substring(digits.length() - KEY_DIGITS));
  }

  private static Long firstDigits(String hex) {
    String digits = digits(hex);
    return digits == null ? null : parse(digits.substring(0, KEY_DIGITS));
  }

  private static String digits(String hex) {
    String digits = hex.startsWith("0x") || hex.startsWith("0X") ? hex.substring(2) : hex;
    if (digits.length() < KEY_DIGITS || digits.length() % 2 != 0) {
      return null;
    }
    return digits.chars().allMatch(c -> c < 128 && Character.digit(c, 16) >= 0) ? digits : null;
  }

  private static Long parse(String digits) {
    return Long.parseUnsignedLong(digits, 16);
  }
}
