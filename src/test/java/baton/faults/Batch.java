package baton.faults;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.Random;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/**
 * What one batch says: all is cleared, or some blocks are removed; then some are stored.
 *
 * @param time tells it from every other batch, whatever that says
 */
record Batch(long time, boolean clears, Collection<Block> removed, Collection<Block> stored) {
  /** Tokens in a block, as registered. */
  static final int BLOCK_SIZE = 4;

  private int events() {
    return (clears ? 1 : 0) + removed.size() + stored.size();
  }

  /** As vLLM writes it: arrays of arrays, arrays of maps, or maps of maps. */
  byte[] payload(Random random) {
    boolean mapOutside = random.nextInt(3) == 0;
    boolean mapsInside = mapOutside || random.nextBoolean();
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      if (mapOutside) {
        packer.packMapHeader(3).packString("ts").packDouble(time);
        packer.packString("data_parallel_rank").packInt(0);
        packer.packString("events");
        events(packer, mapsInside);
      } else {
        packer.packArrayHeader(3).packDouble(time);
        events(packer, mapsInside);
        packer.packInt(0);
      }
      return packer.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException("packing into memory failed", e);
    }
  }

  private void events(MessageBufferPacker packer, boolean maps) throws IOException {
    packer.packArrayHeader(events());
    if (clears) {
      if (maps) {
        packer.packMapHeader(1).packString("type").packString("AllBlocksCleared");
      } else {
        packer.packArrayHeader(1).packString("AllBlocksCleared");
      }
    }
    for (Block block : removed) {
      removed(packer, block, maps);
    }
    for (Block block : stored) {
      stored(packer, block, maps);
    }
  }

  private static void removed(MessageBufferPacker packer, Block block, boolean maps)
      throws IOException {
    if (maps) {
      packer.packMapHeader(3).packString("type").packString("BlockRemoved");
      packer.packString("block_hashes").packArrayHeader(1).packLong(block.key());
      packer.packString("medium").packString(medium(block));
    } else {
      packer.packArrayHeader(3).packString("BlockRemoved");
      packer.packArrayHeader(1).packLong(block.key()).packString(medium(block));
    }
  }

  private static void stored(MessageBufferPacker packer, Block block, boolean maps)
      throws IOException {
    if (maps) {
      packer.packMapHeader(6).packString("type").packString("BlockStored");
      packer.packString("block_hashes").packArrayHeader(1).packLong(block.key());
      packer.packString("parent_block_hash").packNil();
      packer.packString("token_ids").packArrayHeader(0);
      packer.packString("block_size").packInt(BLOCK_SIZE);
      packer.packString("medium").packString(medium(block));
    } else {
      packer.packArrayHeader(7).packString("BlockStored");
      packer.packArrayHeader(1).packLong(block.key()).packNil().packArrayHeader(0);
      packer.packInt(BLOCK_SIZE).packNil().packString(medium(block));
    }
  }

  private static String medium(Block block) {
    return block.onDevice() ? "GPU" : "CPU";
  }
}
