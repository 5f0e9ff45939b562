package baton.publisher;

/** What an engine says of its own blocks. The key arrays are the caller's, and used again. */
public non-sealed interface EngineSink extends Sink {
  /**
   * The engine has these blocks in this medium.
   *
   * @return how many of them could not be taken for want of room
   */
  int stored(Medium medium, long[] keys, int count);

  void removed(Medium medium, long[] keys, int count);

  /** The engine has nothing any more: in one medium, or in all if it is null. */
  void cleared(Medium medium);

  /**
   * Nothing of it is to be found by queries, whatever is stored and removed, until {@link #show}.
   */
  void hide();

  /** What it has now is to be found again. */
  void show();
}
