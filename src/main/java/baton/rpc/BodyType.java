package baton.rpc;

import java.util.HexFormat;

/**
 * The types that a body can have. A literal is struct_pack's description of the type, one byte for
 * each node in prefix order, without names; the hash is the first four bytes, big-endian, of its
 * MD5, with bit 0 cleared.
 */
enum BodyType {
  QUERY_REQUEST(0xf9001a1c, "fdfd800c800c800c03ff840185800c85800cff"),
  SERVICE_CONFIG(0xf2a72a10, "fd800c800c01800c800c800c800c03018503fd800c800c800c800c800cffff"),
  UNREGISTER_ARGS(0x9981ca1a, "fd800c800c01ff"),
  QUERY_RESULT(0xadd5d2cc, "87fd82800cfd038203038203fd030303038989ff03030303ffff01"),
  REGISTER_RESULT(0xd89001a8, "87fd800c0bff01"),
  UNREGISTER_RESULT(0xf354385c, "87fd800cff01"),
  GLOBAL_VIEW(0x3a0bde58, "fd0184fdfd800c800c800c03fffd800c800c800c800c800cff82800c830304ffff"),
  SERVICES(0x667842f8, "84fd800c800c01800c800c800c800c03018503fd800c800c800c800c800cffff"),
  ERROR_TEXT(0x9dcffa76, "800c"),
  ERROR_PAIR(0x372be64c, "fd08800cff");

  private final int hash;
  private final byte[] literal;

  BodyType(int hash, String literal) {
    this.hash = hash;
    this.literal = HexFormat.of().parseHex(literal);
  }

  int hash() {
    return hash;
  }

  /** Not to be changed. */
  byte[] literal() {
    return literal;
  }
}
