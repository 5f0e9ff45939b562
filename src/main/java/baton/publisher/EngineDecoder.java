package baton.publisher;

import baton.hash.HashProfile;
import baton.msgpack.MsgpackReader;
import java.util.List;

/**
 * The events of vLLM and SGLang, as maps with a {@code type} or as arrays that start with the tag,
 * both with absent or additional fields at the end.
 *
 * <p>Formats: vLLM's {@code vllm/distributed/kv_events.py}, SGLang's {@code
 * sglang/srt/disaggregation/kv_events.py}.
 */
final class EngineDecoder extends EventDecoder {
  private static final byte[][] TAGS = names("BlockStored", "BlockRemoved", "AllBlocksCleared");
  private static final int STORED = 0;
  private static final int REMOVED = 1;
  private static final int CLEARED = 2;

  private static final int TYPE = 0;
  private static final int BLOCK_HASHES = 1;
  private static final int BLOCK_SIZE = 2;
  private static final int LORA_ID = 3;
  private static final int MEDIUM = 4;
  private static final int LORA_NAME = 5;
  private static final int GROUP_IDX = 6;
  private static final int SPEC_KIND = 7;
  private static final int SLIDING_WINDOW = 8;
  private static final int PARENT = 9;
  private static final int TOKENS = 10;

  /** What makes a block's hash depend on more than its tokens. */
  private static final int EXTRA_KEYS = 11;

  private static final int SALT = 12;
  private static final int IGNORED = -1;
  private static final byte[][] FIELDS =
      names(
          "type",
          "block_hashes",
          "block_size",
          "lora_id",
          "medium",
          "lora_name",
          "group_idx",
          "kv_cache_spec_kind",
          "kv_cache_spec_sliding_window",
          "parent_block_hash",
          "token_ids",
          "extra_keys",
          "cache_salt");
  private static final int[] STORED_ORDER = {
    BLOCK_HASHES,
    PARENT,
    TOKENS,
    BLOCK_SIZE,
    LORA_ID,
    MEDIUM,
    LORA_NAME,
    EXTRA_KEYS,
    GROUP_IDX,
    SPEC_KIND,
    SLIDING_WINDOW
  };
  // SGLang's additions after the medium (a salt, a session) change nothing but the hashes.
  private static final int[] SGLANG_STORED_ORDER = {
    BLOCK_HASHES, PARENT, TOKENS, BLOCK_SIZE, LORA_ID, MEDIUM, SALT
  };
  private static final int[] REMOVED_ORDER = {BLOCK_HASHES, MEDIUM, GROUP_IDX};
  private static final int[] CLEARED_ORDER = {MEDIUM};
  private static final byte[][] PREFIX_KINDS =
      names("full_attention", "mla_attention", "sink_full_attention");

  /**
   * What the registration says.
   *
   * @param rank the data-parallel rank of the stream
   */
  record Expected(PublisherType type, long blockSize, String lora, int rank, HashProfile profile) {
    boolean isVllm() {
      return type == PublisherType.VLLM;
    }
  }

  private final Expected expected;
  private final EngineSink sink;

  // The event at hand.
  private final Hashes hashes = new Hashes();
  private int tag;
  private boolean hasHashes;
  private long blockSize;
  private boolean hasBlockSize;
  private boolean hasLoraId;
  private long loraId;
  private String lora;
  private Medium medium;
  private boolean hasMedium;
  private boolean isPrefixGroup;
  private boolean cleared;
  private boolean startsChain;
  private int tokensAt;
  private final Mismatches mismatches;

  EngineDecoder(String publisher, Expected expected, EngineSink sink, EventCounts counts) {
    super(publisher, sink, counts);
    this.expected = expected;
    this.sink = sink;
    this.mismatches = new Mismatches(publisher, expected);
  }

  @Override
  boolean isOurRank(MsgpackReader reader) {
    return reader.tryNil() || mismatches.isRank(reader.int64());
  }

  @Override
  String detail(Refusal reason) {
    return switch (reason) {
      case WRONG_BLOCK_SIZE -> " (" + blockSize + ", registered " + expected.blockSize() + ")";
      case WRONG_RANK -> " (registered " + expected.rank() + ")";
      case WRONG_LORA -> " (registered \"" + expected.lora() + "\")";
      default -> "";
    };
  }

  @Override
  Refusal decodeEvent(MsgpackReader reader) {
    reset();
    if (reader.type() == MsgpackReader.Type.MAP) {
      int entries = reader.mapHeader();
      for (int i = 0; i < entries; i++) {
        field(reader.stringOf(FIELDS), reader);
      }
    } else {
      int elements = reader.arrayHeader();
      if (elements == 0) {
        return Refusal.MALFORMED_EVENT;
      }
      field(TYPE, reader);
      int[] order = order();
      for (int i = 1; i < elements; i++) {
        field(i <= order.length ? order[i - 1] : IGNORED, reader);
      }
    }
    return switch (tag) {
      case STORED -> stored(reader);
      case REMOVED -> removed();
      case CLEARED -> cleared();
      default -> Refusal.UNKNOWN_EVENT;
    };
  }

  private void reset() {
    hashes.clear();
    tag = -1;
    hasHashes = false;
    hasBlockSize = false;
    hasLoraId = false;
    lora = "";
    medium = Medium.DEVICE;
    hasMedium = false;
    isPrefixGroup = true;
    startsChain = true;
    tokensAt = -1;
  }

  private int[] order() {
    return switch (tag) {
      case STORED -> expected.isVllm() ? STORED_ORDER : SGLANG_STORED_ORDER;
      case REMOVED -> REMOVED_ORDER;
      case CLEARED -> CLEARED_ORDER;
      default -> new int[0];
    };
  }

  private void field(int field, MsgpackReader reader) {
    if (field == IGNORED || (field != TYPE && field != BLOCK_HASHES && reader.tryNil())) {
      if (field == IGNORED) {
        reader.skip();
      }
      return;
    }
    switch (field) {
      case TYPE -> tag = reader.stringOf(TAGS);
      case BLOCK_HASHES -> {
        hashes.read(reader, expected.profile());
        hasHashes = true;
      }
      case BLOCK_SIZE -> {
        blockSize = reader.int64();
        hasBlockSize = true;
      }
      case LORA_ID -> {
        loraId = reader.int64();
        hasLoraId = true;
      }
      case MEDIUM -> {
        String name = reader.string();
        medium = expected.isVllm() ? Medium.ofVllm(name) : Medium.ofSglang(name);
        hasMedium = true;
      }
      case PARENT, SALT -> {
        startsChain = false;
        reader.skip();
      }
      case TOKENS -> {
        tokensAt = reader.position();
        reader.skip();
      }
      case EXTRA_KEYS -> {
        startsChain &= hasNoExtraKeys(reader);
      }
      default -> vllmField(field, reader);
    }
  }

  /** A list with nothing for the first block. */
  private static boolean hasNoExtraKeys(MsgpackReader reader) {
    int start = reader.position();
    boolean none =
        reader.type() == MsgpackReader.Type.ARRAY && (reader.arrayHeader() == 0 || reader.tryNil());
    reader.position(start);
    reader.skip();
    return none;
  }

  private void vllmField(int field, MsgpackReader reader) {
    if (!expected.isVllm()) {
      reader.skip();
      return;
    }
    switch (field) {
      case LORA_NAME -> lora = reader.string();
      case GROUP_IDX -> isPrefixGroup &= reader.int64() == 0;
      case SPEC_KIND -> isPrefixGroup &= reader.stringOf(PREFIX_KINDS) >= 0;
      default -> {
        reader.skip();
        isPrefixGroup = false;
      }
    }
  }

  private Refusal stored(MsgpackReader reader) {
    if (!hasHashes || !hasBlockSize) {
      return Refusal.MALFORMED_EVENT;
    }
    if (medium == null) {
      return Refusal.UNKNOWN_MEDIUM;
    }
    if (!isPrefixGroup) {
      return Refusal.UNSUPPORTED_GROUP;
    }
    if (!fitsBlockSize()) {
      mismatches.seenBlockSize(blockSize);
      return Refusal.WRONG_BLOCK_SIZE;
    }
    if (!fitsLora()) {
      mismatches.seenLora(lora);
      return Refusal.WRONG_LORA;
    }
    if (startsChain && tokensAt >= 0 && hashes.count() > 0 && medium == Medium.DEVICE) {
      mismatches.probe(reader, tokensAt, hashes.keys()[0]);
    }
    counts.countApplied(EventKind.STORED);
    if (sink.stored(medium, hashes.keys(), hashes.count()) > 0) {
      // The event counts as applied for the blocks that were taken, and as refused for the others.
      refuse(Refusal.LIMIT);
    }
    return null;
  }

  private boolean fitsBlockSize() {
    if (!expected.isVllm()) {
      return blockSize >= 1 && blockSize <= expected.blockSize();
    }
    // Offloading connectors send 0: they do not know it, and the hash is enough.
    return blockSize == expected.blockSize() || (blockSize == 0 && medium != Medium.DEVICE);
  }

  private boolean fitsLora() {
    if (!expected.isVllm()) {
      return !hasLoraId;
    }
    return lora.equals(expected.lora()) && (!hasLoraId || (loraId > 0 && !lora.isEmpty()));
  }

  private Refusal removed() {
    if (!hasHashes) {
      return Refusal.MALFORMED_EVENT;
    }
    if (medium == null) {
      return Refusal.UNKNOWN_MEDIUM;
    }
    if (!isPrefixGroup) {
      return Refusal.UNSUPPORTED_GROUP;
    }
    counts.countApplied(EventKind.REMOVED);
    sink.removed(medium, hashes.keys(), hashes.count());
    return null;
  }

  private Refusal cleared() {
    if (hasMedium && medium == null) {
      return Refusal.UNKNOWN_MEDIUM;
    }
    counts.countApplied(EventKind.CLEARED);
    sink.cleared(hasMedium ? medium : null);
    cleared |= !hasMedium;
    return null;
  }

  @Override
  boolean takeCleared() {
    boolean was = cleared;
    cleared = false;
    return was;
  }

  @Override
  List<String> problems() {
    return mismatches.sentences();
  }

  @Override
  void hide() {
    sink.hide();
  }

  @Override
  void show() {
    sink.show();
  }
}
