package baton.publisher;

/** The kinds of publisher, by the names that registrations use. */
public enum PublisherType {
  VLLM("vLLM"),
  SGLANG("SGLang"),
  MOONCAKE("Mooncake");

  private final String label;

  PublisherType(String label) {
    this.label = label;
  }

  public String label() {
    return label;
  }

  /** The type of that name, or null. */
  public static PublisherType of(String label) {
    for (PublisherType type : values()) {
      if (type.label.equals(label)) {
        return type;
      }
    }
    return null;
  }
}
