package baton.publisher;

import baton.hash.HashProfile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/**
 * A decoder with its sink and its counts, as of a publisher registered with block size 16 (SGLang:
 * 4), rank 0 and no LoRA; and the payloads to feed it.
 */
record TestStream(EventDecoder decoder, RecordingSink sink, EventCounts counts) {
  static final HashProfile VLLM = new HashProfile("vllm_v1", "sha256_cbor", "0", "low64_be");
  static final HashProfile SGLANG = new HashProfile("sglang", "sha256_raw", "0", "first64_be");

  static TestStream vllm() {
    return vllm("");
  }

  static TestStream vllm(String lora) {
    return engine(new EngineDecoder.Expected(PublisherType.VLLM, 16, lora, 0, VLLM));
  }

  static TestStream sglang() {
    return engine(new EngineDecoder.Expected(PublisherType.SGLANG, 4, "", 0, SGLANG));
  }

  static TestStream engine(EngineDecoder.Expected expected) {
    RecordingSink sink = new RecordingSink();
    EventCounts counts = new EventCounts();
    return new TestStream(new EngineDecoder("test", expected, sink, counts), sink, counts);
  }

  static TestStream pool(HashProfile profile) {
    RecordingSink sink = new RecordingSink();
    EventCounts counts = new EventCounts();
    return new TestStream(new PoolDecoder("test", profile, sink, counts), sink, counts);
  }

  static TestStream of(String type) {
    return switch (PublisherType.of(type)) {
      case VLLM -> vllm();
      case SGLANG -> sglang();
      case MOONCAKE -> pool(VLLM);
    };
  }

  /** Decodes a batch of rank 0 with these events. */
  Refusal decode(Object... events) {
    return decodePayload(List.of(1.5, List.of(events), 0));
  }

  Refusal decodePayload(Object payload) {
    return decoder.decode(pack(payload));
  }

  List<String> heard() {
    return sink.heard;
  }

  /** The refused events by reason, without the reasons that did not occur. */
  Map<Refusal, Long> refused() {
    Map<Refusal, Long> refused = new TreeMap<>();
    for (Refusal reason : Refusal.values()) {
      if (counts.refused(reason) > 0) {
        refused.put(reason, counts.refused(reason));
      }
    }
    return refused;
  }

  /** A map in the given order; unlike Map.of it takes nulls. */
  static Map<String, Object> map(Object... keysAndValues) {
    Map<String, Object> map = new LinkedHashMap<>();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      map.put((String) keysAndValues[i], keysAndValues[i + 1]);
    }
    return map;
  }

  static Map<String, Object> with(Map<String, Object> map, Object... keysAndValues) {
    Map<String, Object> more = new LinkedHashMap<>(map);
    more.putAll(map(keysAndValues));
    return more;
  }

  static byte[] pack(Object value) {
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      pack(packer, value);
      return packer.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void pack(MessageBufferPacker packer, Object value) throws IOException {
    if (value == null) {
      packer.packNil();
    } else if (value instanceof List<?> list) {
      packer.packArrayHeader(list.size());
      for (Object element : list) {
        pack(packer, element);
      }
    } else if (value instanceof Map<?, ?> map) {
      packer.packMapHeader(map.size());
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        pack(packer, entry.getKey());
        pack(packer, entry.getValue());
      }
    } else if (value instanceof byte[] bytes) {
      packer.packBinaryHeader(bytes.length).writePayload(bytes);
    } else if (value instanceof String text) {
      packer.packString(text);
    } else if (value instanceof BigInteger integer) {
      packer.packBigInteger(integer);
    } else if (value instanceof Double number) {
      packer.packDouble(number);
    } else if (value instanceof Boolean truth) {
      packer.packBoolean(truth);
    } else {
      packer.packLong(((Number) value).longValue());
    }
  }
}
