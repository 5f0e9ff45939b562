package baton.publisher;

import baton.hash.HashProfile;
import baton.msgpack.MsgpackReader;
import java.util.Arrays;

/** The events of a Mooncake store's master: maps, some fields of which have an older name too. */
final class PoolDecoder extends EventDecoder {
  private static final int EVENT_TYPE = 0;
  private static final int TYPE = 1;
  private static final int MODEL_NAME = 2;
  private static final int BLOCK_SIZE = 3;
  private static final int LORA_NAME = 4;
  private static final int TENANT_ID = 5;
  private static final int BACKEND_ID = 6;
  private static final int MEDIUM = 7;
  private static final int GROUP_ID = 8;
  private static final int OBJECT_KEY = 9;
  private static final int CONNECTOR_BLOCK_HASH = 10;
  private static final int SEQ_HASHES = 11;
  private static final int BLOCK_HASHES = 12;
  private static final int PARENT_HASH = 13;
  private static final int PARENT_BLOCK_HASH = 14;
  private static final byte[][] FIELDS =
      names(
          "event_type",
          "type",
          "model_name",
          "block_size",
          "lora_name",
          "tenant_id",
          "backend_id",
          "medium",
          "group_id",
          "object_key",
          "connector_block_hash",
          "seq_hashes",
          "block_hashes",
          "parent_hash",
          "parent_block_hash");
  private static final String DEFAULT_TENANT = "default";

  private final HashProfile profile;
  private final PoolSink sink;

  // The event at hand.
  private final Hashes seqHashes = new Hashes();
  private final Hashes blockHashes = new Hashes();
  private final boolean[] present = new boolean[FIELDS.length];
  private EventKind kind;
  private EventKind legacyKind;
  private String model;
  private long blockSize;
  private String lora;
  private String tenant;
  private String backend;
  private Medium medium;
  private boolean isFirstGroup;
  private String object;
  private String connectorHash;
  private long parentHash;
  private long parentBlockHash;

  PoolDecoder(String publisher, HashProfile profile, PoolSink sink, EventCounts counts) {
    super(publisher, sink, counts);
    this.profile = profile;
    this.sink = sink;
  }

  @Override
  boolean isOurRank(MsgpackReader reader) {
    reader.skip();
    return true;
  }

  @Override
  Refusal decodeEvent(MsgpackReader reader) {
    reset();
    int entries = reader.mapHeader();
    for (int i = 0; i < entries; i++) {
      int field = reader.stringOf(FIELDS);
      if (field < 0) {
        reader.skip();
      } else if (!reader.tryNil()) {
        present[field] = true;
        field(field, reader);
      }
    }
    if (!present[EVENT_TYPE] && !present[TYPE]) {
      return Refusal.MALFORMED_EVENT;
    }
    EventKind decided = present[EVENT_TYPE] ? kind : legacyKind;
    if (decided == null) {
      return Refusal.UNKNOWN_EVENT;
    }
    if (aliasesDiffer()) {
      return Refusal.CONFLICTING_FIELDS;
    }
    return apply(decided);
  }

  private void reset() {
    Arrays.fill(present, false);
    seqHashes.clear();
    blockHashes.clear();
    model = null;
    blockSize = 0;
    lora = "";
    tenant = DEFAULT_TENANT;
    backend = "";
    medium = null;
    isFirstGroup = true;
    object = "";
    connectorHash = null;
    kind = null;
    legacyKind = null;
  }

  private void field(int field, MsgpackReader reader) {
    switch (field) {
      case EVENT_TYPE -> kind = kind(reader.string());
      case TYPE -> legacyKind = kind(reader.string());
      case MODEL_NAME -> model = reader.string();
      case BLOCK_SIZE -> blockSize = reader.int64();
      case LORA_NAME -> lora = reader.string();
      case TENANT_ID -> tenant = orDefault(reader.string());
      case BACKEND_ID -> backend = reader.string();
      case MEDIUM -> medium = Medium.ofMooncake(reader.string());
      case GROUP_ID -> isFirstGroup = isFirstGroup(reader);
      case OBJECT_KEY -> object = reader.string();
      case CONNECTOR_BLOCK_HASH -> connectorHash = reader.string();
      case SEQ_HASHES -> seqHashes.read(reader, profile);
      case BLOCK_HASHES -> blockHashes.read(reader, profile);
      case PARENT_HASH -> parentHash = Hashes.readOne(reader, profile);
      default -> parentBlockHash = Hashes.readOne(reader, profile);
    }
  }

  private static String orDefault(String tenant) {
    return tenant.isEmpty() ? DEFAULT_TENANT : tenant;
  }

  private static boolean isFirstGroup(MsgpackReader reader) {
    if (reader.type() == MsgpackReader.Type.STRING) {
      String group = reader.string();
      return group.isEmpty() || group.equals("0");
    }
    return reader.int64() == 0;
  }

  private static EventKind kind(String name) {
    return switch (name) {
      case "stored", "BlockStored" -> EventKind.STORED;
      case "removed", "BlockRemoved" -> EventKind.REMOVED;
      case "cleared", "AllBlocksCleared" -> EventKind.CLEARED;
      default -> null;
    };
  }

  private boolean aliasesDiffer() {
    return (both(EVENT_TYPE, TYPE) && kind != legacyKind)
        || (both(SEQ_HASHES, BLOCK_HASHES)
            && !Arrays.equals(
                seqHashes.keys(), 0, seqHashes.count(), blockHashes.keys(), 0, blockHashes.count()))
        || (both(PARENT_HASH, PARENT_BLOCK_HASH) && parentHash != parentBlockHash);
  }

  private boolean both(int field, int alias) {
    return present[field] && present[alias];
  }

  private Refusal apply(EventKind decided) {
    if (decided == EventKind.CLEARED) {
      counts.countApplied(EventKind.CLEARED);
      sink.cleared(backend, tenant);
      return null;
    }
    if (object.isEmpty() || blockSize < 0) {
      return Refusal.MALFORMED_EVENT;
    }
    if (medium == null) {
      return Refusal.UNKNOWN_MEDIUM;
    }
    if (decided == EventKind.REMOVED) {
      counts.countApplied(EventKind.REMOVED);
      sink.removed(poolObject(0));
      return null;
    }
    return stored();
  }

  private Refusal stored() {
    ObjectHash found = ObjectHash.of(object, profile);
    if (!isFirstGroup || !found.isFirstGroup()) {
      return Refusal.UNSUPPORTED_GROUP;
    }
    Long key = null;
    if (connectorHash != null) {
      key = ObjectHash.projectHex(connectorHash, profile);
      if (key == null) {
        return Refusal.BAD_HASH;
      }
    }
    Hashes seq = present[SEQ_HASHES] ? seqHashes : blockHashes;
    Long[] others = {found.key(), seq.count() == 1 ? (Long) seq.keys()[0] : null};
    for (Long other : others) {
      if (key == null) {
        key = other;
      } else if (other != null && !other.equals(key)) {
        return Refusal.BAD_HASH;
      }
    }
    if (key == null) {
      return Refusal.BAD_HASH;
    }
    Refusal refusal = sink.stored(poolObject(key));
    if (refusal == null) {
      counts.countApplied(EventKind.STORED);
    }
    return refusal;
  }

  private PoolSink.PoolObject poolObject(long key) {
    return new PoolSink.PoolObject(tenant, model, lora, blockSize, backend, object, medium, key);
  }
}
