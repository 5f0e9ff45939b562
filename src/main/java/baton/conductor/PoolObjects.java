package baton.conductor;

import baton.hash.HashProfile;
import baton.index.Budget;
import baton.index.ContextIndex;
import baton.index.Owner;
import baton.index.Tier;
import baton.publisher.Medium;
import baton.publisher.PoolSink;
import baton.publisher.Refusal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.Map;

/**
 * The objects of one shared pool: which block each is, and where. An object belongs to a {@link
 * Part}, one backend's share in one context. Used by the publisher's thread.
 */
final class PoolObjects implements PoolSink {
  private static final int MAX_PARTS = 4096;

  /** Finds the context of an event, open and bound to the given profile, or null. */
  interface Contexts {
    ContextIndex find(ContextKey key, HashProfile profile);
  }

  /**
   * Names are long and many, so an object is known by 128 bits of a SHA-256 of backend and name.
   */
  private record ObjectId(long high, long low) {}

  private record PartKey(ContextKey context, String backend) {}

  /** One backend's objects in one context, linked so that they can be dropped without a search. */
  private static final class Part {
    final PartKey key;
    final ContextIndex index;
    final Owner owner;
    Item first;

    Part(PartKey key, ContextIndex index, Owner owner) {
      this.key = key;
      this.index = index;
      this.owner = owner;
    }
  }

  private static final class Item {
    final ObjectId id;
    final Part part;
    final long block;
    boolean inMemory;
    boolean onDisk;
    Item previous;
    Item next;

    Item(ObjectId id, Part part, long block) {
      this.id = id;
      this.part = part;
      this.block = block;
    }

    boolean isIn(Medium medium) {
      return medium == Medium.DISK ? onDisk : inMemory;
    }

    void setIn(Medium medium, boolean there) {
      if (medium == Medium.DISK) {
        onDisk = there;
      } else {
        inMemory = there;
      }
    }
  }

  private final Publisher publisher;
  private final Contexts contexts;
  private final Budget budget;
  private final MessageDigest sha;
  private final Map<ObjectId, Item> items = new HashMap<>();
  private final Map<PartKey, Part> parts = new HashMap<>();
  private final long[] oneKey = new long[1];

  PoolObjects(Publisher publisher, Contexts contexts, Budget budget) {
    this.publisher = publisher;
    this.budget = budget;
    this.contexts = contexts;
    try {
      this.sha = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }

  @Override
  public Refusal stored(PoolObject object) {
    ContextKey context = contextOf(object);
    ContextIndex index = contexts.find(context, publisher.hashProfile());
    if (index == null) {
      return Refusal.UNKNOWN_CONTEXT;
    }
    ObjectId id = idOf(object);
    Item item = items.get(id);
    if (item != null && item.part.index.isClosed()) {
      drop(item.part);
      item = null;
    }
    if (item != null && (!item.part.key.context().equals(context) || item.block != object.key())) {
      return Refusal.OBJECT_CONFLICT;
    }
    if (item != null && item.isIn(object.medium())) {
      return null;
    }
    Part part = item == null ? part(new PartKey(context, object.backend()), index) : item.part;
    if (part == null || !store(part, object, item == null)) {
      return Refusal.LIMIT;
    }
    if (item == null) {
      item = new Item(id, part, object.key());
      link(item);
    }
    item.setIn(object.medium(), true);
    return null;
  }

  private ContextKey contextOf(PoolObject object) {
    String model = object.model() == null ? publisher.modelName() : object.model();
    long blockSize = object.blockSize() == 0 ? publisher.blockSize() : object.blockSize();
    return new ContextKey(object.tenant(), model, object.lora(), blockSize);
  }

  private ObjectId idOf(PoolObject object) {
    sha.update(object.backend().getBytes(StandardCharsets.UTF_8));
    sha.update((byte) 0xff);
    sha.update(object.object().getBytes(StandardCharsets.UTF_8));
    ByteBuffer digest = ByteBuffer.wrap(sha.digest());
    return new ObjectId(digest.getLong(), digest.getLong());
  }

  private Part part(PartKey key, ContextIndex index) {
    Part part = parts.get(key);
    if (part != null && part.index == index) {
      return part;
    }
    dropClosed();
    if (parts.size() == MAX_PARTS) {
      return null;
    }
    Owner owner = index.joinPool();
    if (owner == null) {
      return null;
    }
    part = new Part(key, index, owner);
    parts.put(key, part);
    return part;
  }

  private boolean takeRoom() {
    if (budget.take()) {
      return true;
    }
    dropClosed();
    return budget.take();
  }

  /** Contexts that ended took their blocks with them; what is left of them here goes now. */
  private void dropClosed() {
    parts.values().stream().filter(p -> p.index.isClosed()).toList().forEach(this::drop);
  }

  private boolean store(Part part, PoolObject object, boolean isNew) {
    oneKey[0] = object.key();
    boolean room = !isNew || takeRoom();
    boolean stored = room && part.index.store(part.owner, tier(object.medium()), oneKey, 1) == 0;
    if (!stored && room && isNew) {
      budget.give(1);
    }
    if (!stored && part.first == null) {
      drop(part);
    }
    return stored;
  }

  @Override
  public void removed(PoolObject object) {
    Item item = items.get(idOf(object));
    if (item == null || !item.isIn(object.medium())) {
      return;
    }
    item.setIn(object.medium(), false);
    oneKey[0] = item.block;
    item.part.index.remove(item.part.owner, tier(object.medium()), oneKey, 1);
    if (!item.inMemory && !item.onDisk) {
      unlink(item);
    }
  }

  @Override
  public void cleared(String backend, String tenant) {
    parts.values().stream()
        .filter(p -> p.key.backend().equals(backend) && p.key.context().tenantId().equals(tenant))
        .toList()
        .forEach(this::drop);
  }

  @Override
  public void retract() {
    parts.values().stream().toList().forEach(this::drop);
  }

  private void drop(Part part) {
    part.index.leave(part.owner);
    parts.remove(part.key);
    int dropped = 0;
    for (Item item = part.first; item != null; item = item.next) {
      items.remove(item.id);
      dropped++;
    }
    budget.give(dropped);
  }

  private void link(Item item) {
    items.put(item.id, item);
    item.next = item.part.first;
    if (item.next != null) {
      item.next.previous = item;
    }
    item.part.first = item;
  }

  private void unlink(Item item) {
    items.remove(item.id);
    budget.give(1);
    if (item.next != null) {
      item.next.previous = item.previous;
    }
    if (item.previous != null) {
      item.previous.next = item.next;
    } else {
      item.part.first = item.next;
    }
    if (item.part.first == null) {
      drop(item.part);
    }
  }

  private static Tier tier(Medium medium) {
    return medium == Medium.DISK ? Tier.DISK : Tier.CPU_SHARE;
  }
}
