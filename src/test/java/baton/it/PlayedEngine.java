package baton.it;

import static baton.it.Dialect.VLLM;

import java.util.List;
import java.util.Map;

/** A vLLM engine with a stream and a replay socket, all of one model. Used by one thread. */
final class PlayedEngine implements AutoCloseable {
  private final EnginePublisher publisher = EnginePublisher.serve();
  private final ReplayServer replay = new ReplayServer();
  private final Registration registration;

  private PlayedEngine(String model, String name) {
    registration =
        new Registration("vLLM", publisher.endpoint(), model, name, "default", 0, Prompt.VLLM);
  }

  static PlayedEngine of(String model, String name) {
    return new PlayedEngine(model, name);
  }

  String name() {
    return registration.instance();
  }

  Registration registration() {
    return registration;
  }

  String endpoint() {
    return publisher.endpoint();
  }

  /** What a registration says of it. */
  Map<String, Object> body() {
    return Api.with(registration.body(), "replay_endpoint", replay.endpoint());
  }

  void store(List<Long> keys) {
    publisher.sendPayload(replay.remember(VLLM.batch(VLLM.stored(keys, "GPU"))));
  }

  void remove(List<Long> keys) {
    publisher.sendPayload(replay.remember(VLLM.batch(VLLM.removed(keys, "GPU"))));
  }

  @Override
  public void close() {
    publisher.close();
    replay.close();
  }
}
