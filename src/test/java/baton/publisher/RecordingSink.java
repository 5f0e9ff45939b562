package baton.publisher;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Writes down, a line each, what a decoder says; the keys as unsigned decimals. */
final class RecordingSink implements EngineSink, PoolSink {
  final List<String> heard = new ArrayList<>();
  PoolObject lastObject;
  int blocksWithoutRoom;
  Refusal poolAnswer;

  @Override
  public int stored(Medium medium, long[] keys, int count) {
    heard.add("stored " + medium + ' ' + list(keys, count));
    return blocksWithoutRoom;
  }

  @Override
  public void removed(Medium medium, long[] keys, int count) {
    heard.add("removed " + medium + ' ' + list(keys, count));
  }

  @Override
  public void cleared(Medium medium) {
    heard.add(medium == null ? "cleared all" : "cleared " + medium);
  }

  @Override
  public Refusal stored(PoolObject object) {
    lastObject = object;
    heard.add("stored " + object.medium() + " [" + Long.toUnsignedString(object.key()) + ']');
    return poolAnswer;
  }

  @Override
  public void removed(PoolObject object) {
    lastObject = object;
    heard.add("removed " + object.medium() + ' ' + object.object());
  }

  @Override
  public void cleared(String backend, String tenant) {
    heard.add("cleared " + backend + " of " + tenant);
  }

  @Override
  public void hide() {
    heard.add("hidden");
  }

  @Override
  public void show() {
    heard.add("shown");
  }

  @Override
  public void retract() {
    heard.add("retracted");
  }

  private static String list(long[] keys, int count) {
    return Arrays.stream(keys, 0, count)
        .mapToObj(Long::toUnsignedString)
        .collect(Collectors.joining(", ", "[", "]"));
  }
}
