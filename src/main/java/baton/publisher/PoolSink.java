package baton.publisher;

/** What a shared pool says of its objects. */
public non-sealed interface PoolSink extends Sink {

  /**
   * An object in a medium.
   *
   * @param tenant never empty
   * @param model null where the event leaves it to the registration
   * @param blockSize 0 where the event leaves it to the registration
   * @param backend the part of the pool that has it
   * @param key the block's key; 0 in a removal
   */
  record PoolObject(
      String tenant,
      String model,
      String lora,
      long blockSize,
      String backend,
      String object,
      Medium medium,
      long key) {}

  /**
   * @return why it was refused, or null
   */
  Refusal stored(PoolObject object);

  void removed(PoolObject object);

  /** The backend has nothing of this tenant any more. */
  void cleared(String backend, String tenant);
}
