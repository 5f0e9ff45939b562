package baton.publisher;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Selector;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** The frames of a request and of its answers. */
class ReplayTest {
  private static final byte[] EMPTY = new byte[0];
  private static final byte[] TOPIC = {'k', 'v'};
  private static final byte[] PAYLOAD = {1, 2, 3};

  private final ZContext context = new ZContext();
  private final ZMQ.Socket engine = context.createSocket(SocketType.ROUTER);
  private Selector selector;
  private Replay replay;
  private byte[] peer;

  @BeforeEach
  void ask() throws IOException {
    engine.setReceiveTimeOut(60_000);
    int port = engine.bindToRandomPort("tcp://127.0.0.1", 12_000, 32_000);
    selector = Selector.open();
    replay = new Replay(context.createSocket(SocketType.DEALER), selector, null);
    replay.ask("tcp://127.0.0.1:" + port, 258);
    peer = engine.recv();
  }

  @AfterEach
  void close() throws IOException {
    replay.close();
    selector.close();
    context.close();
  }

  private static byte[] bytes(long number) {
    return ByteBuffer.allocate(8).putLong(number).array();
  }

  private Replay.Answer answer(byte[]... frames) {
    engine.send(peer, ZMQ.SNDMORE);
    for (int i = 0; i < frames.length; i++) {
      engine.send(frames[i], i < frames.length - 1 ? ZMQ.SNDMORE : 0);
    }
    var answer = new AtomicReference<Replay.Answer>();
    Awaitility.await()
        .pollInSameThread()
        .atMost(Duration.ofSeconds(60))
        .until(
            () -> {
              answer.set(replay.receive());
              return answer.get() != null;
            });
    return answer.get();
  }

  @Test
  void request_isAnEmptyFrameAndTheNumber() {
    assertThat(engine.recv()).isEmpty();
    assertThat(engine.recv()).containsExactly(0, 0, 0, 0, 0, 0, 1, 2);
    assertThat(engine.hasReceiveMore()).isFalse();
  }

  @Test
  void answer_withAndWithoutTopic_isTheSame() {
    for (byte[][] frames :
        new byte[][][] {{EMPTY, bytes(7), PAYLOAD}, {EMPTY, TOPIC, bytes(7), PAYLOAD}}) {
      Replay.Answer answer = answer(frames);
      assertThat(answer.number()).isEqualTo(7);
      assertThat(answer.payload()).isEqualTo(PAYLOAD);
      assertThat(answer.isEnd()).isFalse();
      assertThat(answer.isMalformed()).isFalse();
    }
  }

  @Test
  void end_isTheNumberMinusOne_withoutPayload() {
    assertThat(answer(EMPTY, bytes(-1), EMPTY).isEnd()).isTrue();
    assertThat(answer(EMPTY, TOPIC, bytes(-1), EMPTY).isEnd()).isTrue();
  }

  @Test
  void answer_thatIsNone_isMalformed() {
    assertThat(answer(EMPTY).isMalformed()).isTrue();
    assertThat(answer(EMPTY, bytes(7)).isMalformed()).isTrue();
    assertThat(answer(EMPTY, new byte[7], PAYLOAD).isMalformed()).isTrue();
    assertThat(answer(TOPIC, bytes(7), PAYLOAD).isMalformed()).isTrue();
    assertThat(answer(EMPTY, TOPIC, TOPIC, bytes(7), PAYLOAD).isMalformed()).isTrue();
    assertThat(answer(EMPTY, bytes(-2), PAYLOAD).isMalformed()).isTrue();
    assertThat(answer(EMPTY, bytes(-1), PAYLOAD).isMalformed()).isTrue();
    assertThat(answer(EMPTY, bytes(8), PAYLOAD).isMalformed()).isFalse();
  }

  @Test
  void closed_isClosed() {
    assertThat(replay.isClosed()).isFalse();
    replay.close();
    assertThat(replay.isClosed()).isTrue();
  }
}
