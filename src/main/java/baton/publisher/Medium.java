package baton.publisher;

import java.util.Locale;

/** Where an event says that blocks lie. */
public enum Medium {
  DEVICE,
  CPU,
  DISK;

  /** A vLLM medium's name, in any case; null for one that is not known. */
  static Medium ofVllm(String name) {
    return switch (name.toLowerCase(Locale.ROOT)) {
      case "gpu", "npu", "device", "hbm" -> DEVICE;
      case "cpu", "cpu_pinned" -> CPU;
      case "disk", "ssd" -> DISK;
      default -> null;
    };
  }

  static Medium ofSglang(String name) {
    return switch (name.toLowerCase(Locale.ROOT)) {
      case "gpu" -> DEVICE;
      case "cpu", "cpu_pinned" -> CPU;
      case "disk" -> DISK;
      default -> null;
    };
  }

  /** A shared pool has no device memory. */
  static Medium ofMooncake(String name) {
    return switch (name.toLowerCase(Locale.ROOT)) {
      case "cpu", "cpu_pinned" -> CPU;
      case "disk" -> DISK;
      default -> null;
    };
  }
}
