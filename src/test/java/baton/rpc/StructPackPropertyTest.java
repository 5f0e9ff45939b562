package baton.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import baton.rpc.StructPackModel.Form;
import com.fasterxml.jackson.databind.JsonNode;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Any value and any bytes, against a slow model of struct_pack. */
class StructPackPropertyTest {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @ParameterizedTest
  @EnumSource
  void anyValue_encoded_bytesOfTheModel(Body body) {
    Random random = new Random(1);
    for (int i = 0; i < 200; i++) {
      JsonNode value = body.model.random(random);
      assertThat(body.encode(value)).isEqualTo(body.model.encode(value, Form.PLAIN));
    }
  }

  @ParameterizedTest
  @EnumSource
  void anyValue_inAnyForm_decoded(Body body) {
    Random random = new Random(2);
    for (int i = 0; i < 200; i++) {
      JsonNode value = body.model.random(random);
      Form form = new Form(1 << random.nextInt(4), random.nextBoolean());
      byte[] bytes = body.model.encode(value, form);
      assertThat(body.decode(bytes)).isEqualTo(Body.flat(value));
      byte[] longer = Arrays.copyOf(bytes, bytes.length + 1 + random.nextInt(9));
      assertThat(body.decode(longer)).isEqualTo(Body.flat(value));
      byte[] shorter = Arrays.copyOf(bytes, random.nextInt(bytes.length));
      assertThatThrownBy(() -> body.decode(shorter)).isInstanceOf(MalformedMessage.class);
    }
  }

  @ParameterizedTest
  @EnumSource
  void randomBytes_decoded_valueOrMalformed(Body body) {
    Random random = new Random(3);
    for (int i = 0; i < 8_000; i++) {
      byte[] bytes = new byte[random.nextInt(120)];
      random.nextBytes(bytes);
      if (bytes.length > 5 && i % 4 != 0) {
        LittleEndian.INT.set(bytes, 0, body.type.hash() | random.nextInt(2));
        bytes[4] &= 0x1b;
        // small numbers look like sizes and flags, and lead deeper in
        for (int at = 5; at < bytes.length && i % 4 > 1; at++) {
          bytes[at] &= (byte) (i % 4 == 2 ? 1 : 7);
        }
      }
      requireValueOrMalformed(body, bytes);
    }
  }

  @ParameterizedTest
  @EnumSource
  void damagedBody_decoded_valueOrMalformed(Body body) {
    Random random = new Random(4);
    for (int i = 0; i < 200; i++) {
      Form form = new Form(1 << random.nextInt(4), random.nextBoolean());
      byte[] bytes = body.model.encode(body.model.random(random), form);
      for (int j = 0; j < 20; j++) {
        int length = bytes.length - random.nextInt(2) * random.nextInt(4);
        byte[] damaged = Arrays.copyOf(bytes, length);
        for (int k = random.nextInt(3); k >= 0; k--) {
          damaged[random.nextInt(length)] = (byte) random.nextInt();
        }
        requireValueOrMalformed(body, damaged);
      }
    }
  }

  private static void requireValueOrMalformed(Body body, byte[] bytes) {
    long before = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
    try {
      body.decodeRecord(bytes);
    } catch (MalformedMessage e) {
      assertThat(e.kind()).isNotEqualTo(MalformedMessage.Kind.HEADER);
    }
    long allocated = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
    if (allocated > 32_768 + 128L * bytes.length) {
      assertThat(allocated).as("allocated for %s bytes", bytes.length).isZero();
    }
  }
}
