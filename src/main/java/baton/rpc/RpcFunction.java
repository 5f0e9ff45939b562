package baton.rpc;

import java.util.Optional;

/**
 * The functions of the channel. An id is the first four bytes, big-endian, of the MD5 of the C++
 * function's qualified name.
 */
public enum RpcFunction {
  QUERY("Query", 0x479276ff),
  REGISTER("Register", 0x7027662f),
  UNREGISTER("Unregister", 0x3dffb565),
  GET_GLOBAL_VIEW("GetGlobalView", 0x8988faf0),
  LIST_SERVICES("ListServices", 0x0f74b1bb);

  private static final String CLASS = "mooncake::conductor::kvevent::ConductorService::";
  private static final RpcFunction[] ALL = values();

  private final String method;
  private final int id;

  RpcFunction(String method, int id) {
    this.method = method;
    this.id = id;
  }

  /** Empty for an id that no function has. */
  public static Optional<RpcFunction> of(int id) {
    for (RpcFunction function : ALL) {
      if (function.id == id) {
        return Optional.of(function);
      }
    }
    return Optional.empty();
  }

  public int id() {
    return id;
  }

  /** The name without its class, as in {@code Query}. */
  public String method() {
    return method;
  }

  /** The name of which the id is a hash. */
  public String hashedName() {
    return CLASS + method;
  }
}
