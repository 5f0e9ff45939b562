package baton.publisher;

/** Where a stream's events go. Called by one thread. */
public sealed interface Sink permits EngineSink, PoolSink {
  /** All that the publisher owns may be wrong: remove it. */
  void retract();
}
