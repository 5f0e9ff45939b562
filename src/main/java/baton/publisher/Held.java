package baton.publisher;

import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicLong;
import zmq.io.Metadata;

/**
 * Live messages that wait for those before them, within limits: of one stream, and of all streams
 * together. Used by one thread, but for the figures.
 */
final class Held {
  /** What a message costs besides its payload. */
  private static final int OVERHEAD_BYTES = 64;

  /**
   * @param from the connection that it came on
   * @param order how many were added before it
   */
  record Message(long number, long digest, byte[] payload, Metadata from, long order) {
    private long bytes() {
      return payload.length + OVERHEAD_BYTES;
    }
  }

  /**
   * Limits of one stream, and of all.
   *
   * @param total the bytes that all streams hold
   */
  record Limits(int messages, long bytes, long totalBytes, AtomicLong total) {}

  private final ArrayDeque<Message> messages = new ArrayDeque<>();
  private final Limits limits;
  private volatile long bytes;
  private long added;
  private long highest;

  Held(Limits limits) {
    this.limits = limits;
  }

  /** False if there is no room. */
  boolean add(long number, long digest, byte[] payload, Metadata from) {
    Message message = new Message(number, digest, payload, from, added);
    if (messages.size() >= limits.messages() || bytes + message.bytes() > limits.bytes()) {
      return false;
    }
    if (limits.total().addAndGet(message.bytes()) > limits.totalBytes()) {
      limits.total().addAndGet(-message.bytes());
      return false;
    }
    added++;
    highest = messages.isEmpty() ? number : Math.max(highest, number);
    messages.add(message);
    setBytes(bytes + message.bytes());
    return true;
  }

  Message first() {
    return messages.peekFirst();
  }

  Message poll() {
    Message message = messages.pollFirst();
    if (message != null) {
      limits.total().addAndGet(-message.bytes());
      setBytes(bytes - message.bytes());
    }
    return message;
  }

  /** Puts one back that was polled. */
  void putBack(Message message) {
    messages.addFirst(message);
    limits.total().addAndGet(message.bytes());
    setBytes(bytes + message.bytes());
  }

  void clear() {
    limits.total().addAndGet(-bytes);
    messages.clear();
    setBytes(0);
  }

  boolean isEmpty() {
    return messages.isEmpty();
  }

  /** How many have been added, those that have gone included. */
  long added() {
    return added;
  }

  /** The highest number that was added since none were here. */
  long highest() {
    return highest;
  }

  long bytes() {
    return bytes;
  }

  /** One thread writes it. */
  private void setBytes(long now) {
    bytes = now;
  }
}
