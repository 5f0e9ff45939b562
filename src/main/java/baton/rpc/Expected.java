package baton.rpc;

import java.util.Objects;

/**
 * What a function returns: a value or a business error.
 *
 * @param value null for an error
 * @param error an {@link ErrorCode}, or any other int32; without meaning beside a value
 */
public record Expected<T>(T value, int error) {
  public static <T> Expected<T> of(T value) {
    return new Expected<>(Objects.requireNonNull(value), ErrorCode.OK);
  }

  public static <T> Expected<T> error(int error) {
    return new Expected<>(null, error);
  }

  /** Decided by the value, not by the code: on the wire an error may have any code, even 0. */
  public boolean hasValue() {
    return value != null;
  }
}
