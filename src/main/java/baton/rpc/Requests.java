package baton.rpc;

import baton.rpc.Wire.QueryRequest;
import baton.rpc.Wire.ServiceConfig;
import baton.rpc.Wire.UnregisterArgs;
import java.util.function.Consumer;

/**
 * The requests: a client encodes whole frames, a server decodes a body once {@link
 * RequestHeader#decode} has told whose it is. The two functions without arguments have no body;
 * what is sent there nevertheless is not looked at.
 *
 * <p>Decoders take a part of an array, do not keep it, and throw {@link MalformedMessage} of the
 * kinds TYPE, BODY and TEXT and nothing else. Sequence numbers are 32 bits unsigned.
 */
public final class Requests {
  private Requests() {}

  public static byte[] encodeQuery(int seq, QueryRequest request) {
    return frame(
        seq, RpcFunction.QUERY, BodyType.QUERY_REQUEST, out -> Layouts.queryRequest(out, request));
  }

  public static QueryRequest decodeQuery(byte[] bytes, int offset, int length) {
    return Layouts.queryRequest(
        new StructPackReader(bytes, offset, length, BodyType.QUERY_REQUEST));
  }

  public static byte[] encodeRegister(int seq, ServiceConfig service) {
    return frame(
        seq,
        RpcFunction.REGISTER,
        BodyType.SERVICE_CONFIG,
        out -> Layouts.serviceConfig(out, service));
  }

  public static ServiceConfig decodeRegister(byte[] bytes, int offset, int length) {
    return Layouts.serviceConfig(
        new StructPackReader(bytes, offset, length, BodyType.SERVICE_CONFIG));
  }

  public static byte[] encodeUnregister(int seq, UnregisterArgs args) {
    return frame(
        seq,
        RpcFunction.UNREGISTER,
        BodyType.UNREGISTER_ARGS,
        out -> Layouts.unregisterArgs(out, args));
  }

  public static UnregisterArgs decodeUnregister(byte[] bytes, int offset, int length) {
    return Layouts.unregisterArgs(
        new StructPackReader(bytes, offset, length, BodyType.UNREGISTER_ARGS));
  }

  public static byte[] encodeGetGlobalView(int seq) {
    return bare(seq, RpcFunction.GET_GLOBAL_VIEW);
  }

  public static byte[] encodeListServices(int seq) {
    return bare(seq, RpcFunction.LIST_SERVICES);
  }

  private static byte[] frame(
      int seq, RpcFunction function, BodyType type, Consumer<StructPackWriter> body) {
    byte[] frame = StructPackWriter.frame(RequestHeader.SIZE, type, body);
    RequestHeader.encode(frame, seq, function);
    return frame;
  }

  private static byte[] bare(int seq, RpcFunction function) {
    byte[] frame = new byte[RequestHeader.SIZE];
    RequestHeader.encode(frame, seq, function);
    return frame;
  }
}
