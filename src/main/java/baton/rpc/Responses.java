package baton.rpc;

import baton.rpc.Wire.GlobalView;
import baton.rpc.Wire.QueryResult;
import baton.rpc.Wire.RegisterResult;
import baton.rpc.Wire.ServiceConfig;
import baton.rpc.Wire.UnregisterResult;
import java.util.List;
import java.util.function.Consumer;

/**
 * The responses: a server encodes whole frames, a client decodes a body once {@link
 * ResponseHeader#decode} has told its request and that the error code is 0, or else the error.
 * Decoded maps and sets are in the order of the wire; collections cannot be changed.
 *
 * <p>Decoders take a part of an array, do not keep it, and throw {@link MalformedMessage} of the
 * kinds TYPE, BODY and TEXT and nothing else. Sequence numbers are those of the request, 32 bits
 * unsigned.
 */
public final class Responses {
  private Responses() {}

  public static byte[] encodeQuery(int seq, Expected<QueryResult> result) {
    return frame(seq, BodyType.QUERY_RESULT, out -> out.expected(result, Layouts::queryResult));
  }

  public static Expected<QueryResult> decodeQuery(byte[] bytes, int offset, int length) {
    return new StructPackReader(bytes, offset, length, BodyType.QUERY_RESULT)
        .expected(Layouts::queryResult);
  }

  public static byte[] encodeRegister(int seq, Expected<RegisterResult> result) {
    return frame(
        seq, BodyType.REGISTER_RESULT, out -> out.expected(result, Layouts::registerResult));
  }

  public static Expected<RegisterResult> decodeRegister(byte[] bytes, int offset, int length) {
    return new StructPackReader(bytes, offset, length, BodyType.REGISTER_RESULT)
        .expected(Layouts::registerResult);
  }

  public static byte[] encodeUnregister(int seq, Expected<UnregisterResult> result) {
    return frame(
        seq, BodyType.UNREGISTER_RESULT, out -> out.expected(result, Layouts::unregisterResult));
  }

  public static Expected<UnregisterResult> decodeUnregister(byte[] bytes, int offset, int length) {
    return new StructPackReader(bytes, offset, length, BodyType.UNREGISTER_RESULT)
        .expected(Layouts::unregisterResult);
  }

  /** No expected around it: this function has no way to tell a business error. */
  public static byte[] encodeGetGlobalView(int seq, GlobalView view) {
    return frame(seq, BodyType.GLOBAL_VIEW, out -> Layouts.globalView(out, view));
  }

  public static GlobalView decodeGetGlobalView(byte[] bytes, int offset, int length) {
    return Layouts.globalView(new StructPackReader(bytes, offset, length, BodyType.GLOBAL_VIEW));
  }

  /** No expected around it: this function has no way to tell a business error. */
  public static byte[] encodeListServices(int seq, List<ServiceConfig> services) {
    return frame(seq, BodyType.SERVICES, out -> out.list(services, Layouts::serviceConfig));
  }

  public static List<ServiceConfig> decodeListServices(byte[] bytes, int offset, int length) {
    return new StructPackReader(bytes, offset, length, BodyType.SERVICES)
        .list(Layouts::serviceConfig);
  }

  public static byte[] encodeError(int seq, RpcError error) {
    boolean inBody = error.headerCode() == RpcError.IN_BODY;
    byte[] frame =
        StructPackWriter.frame(
            ResponseHeader.SIZE,
            inBody ? BodyType.ERROR_PAIR : BodyType.ERROR_TEXT,
            out -> {
              if (inBody) {
                out.uint16(error.code());
              }
              out.string(error.text());
            });
    ResponseHeader.encode(frame, error.headerCode(), seq);
    return frame;
  }

  /**
   * Reads the body of a response with an error code.
   *
   * @param headerCode the header's, 1 to 255
   */
  public static RpcError decodeError(int headerCode, byte[] bytes, int offset, int length) {
    if (headerCode != RpcError.IN_BODY) {
      return new RpcError(
          headerCode, new StructPackReader(bytes, offset, length, BodyType.ERROR_TEXT).string());
    }
    StructPackReader in = new StructPackReader(bytes, offset, length, BodyType.ERROR_PAIR);
    int code = in.uint16();
    if (code == 0) {
      throw new MalformedMessage(MalformedMessage.Kind.BODY, "an RPC error of code 0");
    }
    return new RpcError(code, in.string());
  }

  private static byte[] frame(int seq, BodyType type, Consumer<StructPackWriter> body) {
    byte[] frame = StructPackWriter.frame(ResponseHeader.SIZE, type, body);
    ResponseHeader.encode(frame, 0, seq);
    return frame;
  }
}
