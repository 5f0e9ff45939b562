package baton.rpc;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;

/** Every kind of body, with the codec and the model for it and values as JSON for both. */
enum Body {
  QUERY_REQUEST(
      BodyType.QUERY_REQUEST,
      StructPackModel.QUERY_REQUEST,
      (seq, v) -> Requests.encodeQuery(seq, read(v, Wire.QueryRequest.class)),
      Requests::decodeQuery),
  SERVICE_CONFIG(
      BodyType.SERVICE_CONFIG,
      StructPackModel.SERVICE_CONFIG,
      (seq, v) -> Requests.encodeRegister(seq, read(v, Wire.ServiceConfig.class)),
      Requests::decodeRegister),
  UNREGISTER_ARGS(
      BodyType.UNREGISTER_ARGS,
      StructPackModel.UNREGISTER_ARGS,
      (seq, v) -> Requests.encodeUnregister(seq, read(v, Wire.UnregisterArgs.class)),
      Requests::decodeUnregister),
  QUERY_RESULT(
      BodyType.QUERY_RESULT,
      StructPackModel.QUERY_RESULT,
      (seq, v) -> Responses.encodeQuery(seq, expected(v, Wire.QueryResult.class)),
      Responses::decodeQuery),
  REGISTER_RESULT(
      BodyType.REGISTER_RESULT,
      StructPackModel.REGISTER_RESULT,
      (seq, v) -> Responses.encodeRegister(seq, expected(v, Wire.RegisterResult.class)),
      Responses::decodeRegister),
  UNREGISTER_RESULT(
      BodyType.UNREGISTER_RESULT,
      StructPackModel.UNREGISTER_RESULT,
      (seq, v) -> Responses.encodeUnregister(seq, expected(v, Wire.UnregisterResult.class)),
      Responses::decodeUnregister),
  GLOBAL_VIEW(
      BodyType.GLOBAL_VIEW,
      StructPackModel.GLOBAL_VIEW,
      (seq, v) -> Responses.encodeGetGlobalView(seq, read(v, Wire.GlobalView.class)),
      Responses::decodeGetGlobalView),
  SERVICES(
      BodyType.SERVICES,
      StructPackModel.SERVICES,
      (seq, v) -> Responses.encodeListServices(seq, List.of(read(v, Wire.ServiceConfig[].class))),
      Responses::decodeListServices),
  ERROR_TEXT(
      BodyType.ERROR_TEXT,
      StructPackModel.STRING,
      (seq, v) -> Responses.encodeError(seq, RpcError.handlerThrew(v.asText())),
      (bytes, offset, length) -> Responses.decodeError(10, bytes, offset, length).text()),
  ERROR_PAIR(
      BodyType.ERROR_PAIR,
      StructPackModel.ERROR_PAIR,
      (seq, v) -> Responses.encodeError(seq, read(v, RpcError.class)),
      (bytes, offset, length) -> Responses.decodeError(255, bytes, offset, length));

  interface Encoder {
    byte[] encode(int seq, JsonNode value);
  }

  interface Decoder {
    Object decode(byte[] bytes, int offset, int length);
  }

  private static final ObjectMapper JSON =
      new ObjectMapper().setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE);

  final BodyType type;
  final StructPackModel model;
  private final Encoder encoder;
  private final Decoder decoder;

  Body(BodyType type, StructPackModel model, Encoder encoder, Decoder decoder) {
    this.type = type;
    this.model = model;
    this.encoder = encoder;
    this.decoder = decoder;
  }

  static Body ofRequest(RpcFunction function) {
    return switch (function) {
      case QUERY -> QUERY_REQUEST;
      case REGISTER -> SERVICE_CONFIG;
      case UNREGISTER -> UNREGISTER_ARGS;
      default -> null;
    };
  }

  static Body ofResponse(RpcFunction function, int errorCode) {
    if (errorCode != 0) {
      return errorCode == 255 ? ERROR_PAIR : ERROR_TEXT;
    }
    return switch (function) {
      case QUERY -> QUERY_RESULT;
      case REGISTER -> REGISTER_RESULT;
      case UNREGISTER -> UNREGISTER_RESULT;
      case GET_GLOBAL_VIEW -> GLOBAL_VIEW;
      case LIST_SERVICES -> SERVICES;
    };
  }

  byte[] frame(int seq, JsonNode value) {
    return encoder.encode(seq, value);
  }

  /** Of the frame without its header. */
  byte[] encode(JsonNode value) {
    byte[] frame = frame(0, value);
    int header = ordinal() < QUERY_RESULT.ordinal() ? RequestHeader.SIZE : ResponseHeader.SIZE;
    return Arrays.copyOfRange(frame, header, frame.length);
  }

  Object decodeRecord(byte[] body) {
    return decoder.decode(body, 0, body.length);
  }

  JsonNode decode(byte[] body) {
    Object value = decodeRecord(body);
    if (value instanceof Expected<?> expected) {
      ObjectNode node = JSON.createObjectNode();
      return expected.hasValue()
          ? node.set("ok", json(expected.value()))
          : node.put("error", expected.error());
    }
    return json(value);
  }

  /** A value of {@code rpc.json}, flattened and with the number types as {@link #decode} has. */
  static JsonNode flat(JsonNode value) {
    JsonNode copy = json(value);
    copy.findParents("context").forEach(p -> ((ObjectNode) p).setAll(takeObject(p, "context")));
    copy.findParents("profile")
        .forEach(p -> ((ObjectNode) p).set("hash_profile", takeObject(p, "profile")));
    return copy;
  }

  private static ObjectNode takeObject(JsonNode from, String name) {
    return (ObjectNode) ((ObjectNode) from).remove(name);
  }

  private static JsonNode json(Object value) {
    try {
      return JSON.readTree(JSON.writeValueAsString(value));
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static <T> T read(JsonNode value, Class<T> type) {
    try {
      return JSON.treeToValue(flat(value), type);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static <T> Expected<T> expected(JsonNode value, Class<T> type) {
    return value.has("ok")
        ? Expected.of(read(value.get("ok"), type))
        : Expected.error(value.get("error").intValue());
  }
}
