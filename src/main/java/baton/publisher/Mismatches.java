package baton.publisher;

import baton.hash.BlockChain;
import baton.msgpack.MsgpackReader;
import java.util.ArrayList;
import java.util.List;
import org.jboss.logging.Logger;

/**
 * Why an engine's blocks are never hit: it is not what its registration says. Written by the
 * publisher's thread, read by any.
 */
final class Mismatches {
  private static final Logger LOG = Logger.getLogger(Mismatches.class);

  /** Chains between two whose first hash is computed. */
  private static final int PROBE_EVERY = 256;

  private static final long LONGEST_BLOCK = 65_536;
  private static final long UNSEEN = -1;

  private final String publisher;
  private final EngineDecoder.Expected expected;
  private int chains;
  private volatile long rank = UNSEEN;
  private volatile long blockSize = UNSEEN;
  private volatile String lora;
  private volatile String hash;

  Mismatches(String publisher, EngineDecoder.Expected expected) {
    this.publisher = publisher;
    this.expected = expected;
  }

  boolean isRank(long seen) {
    if (seen != expected.rank()) {
      rank = seen;
    }
    return seen == expected.rank();
  }

  void seenBlockSize(long seen) {
    blockSize = seen;
  }

  void seenLora(String seen) {
    lora = seen;
  }

  /**
   * Now and then, computes the hash of a chain's first block from its tokens.
   *
   * @param reader left where it was
   * @param key what the engine says it is
   */
  void probe(MsgpackReader reader, int tokensAt, long key) {
    boolean due = chains++ % PROBE_EVERY == 0;
    // The tokens of a bigram chain are not what is hashed.
    if (!due || expected.blockSize() > LONGEST_BLOCK || isBigram()) {
      return;
    }
    int start = reader.position();
    reader.position(tokensAt);
    int[] tokens = firstBlock(reader);
    reader.position(start);
    if (tokens == null) {
      return;
    }
    BlockChain chain = expected.profile().chain(tokens, expected.blockSize(), expected.lora(), "");
    if (chain.length() > 0) {
      compare(chain.nextKey(), key);
    }
  }

  private boolean isBigram() {
    return expected.profile().strategy().equals("sglang_bigram");
  }

  /** Null if they are no tokens. */
  private int[] firstBlock(MsgpackReader reader) {
    if (reader.type() != MsgpackReader.Type.ARRAY) {
      return null;
    }
    int[] tokens = new int[(int) Math.min(reader.arrayHeader(), expected.blockSize())];
    for (int i = 0; i < tokens.length; i++) {
      if (reader.type() != MsgpackReader.Type.INTEGER) {
        return null;
      }
      long token = reader.int64();
      if (token < 0 || token > Integer.MAX_VALUE) {
        return null;
      }
      tokens[i] = (int) token;
    }
    return tokens;
  }

  private void compare(long computed, long seen) {
    String before = hash;
    hash =
        computed == seen
            ? null
            : String.format(
                "hash_profile: by strategy %s, algorithm %s, python_hash_seed \"%s\" the first block of"
                    + " a prompt is %016x, but the engine says %016x: its hash seed or algorithm is"
                    + " another, and none of its blocks will be hit",
                expected.profile().strategy(),
                expected.profile().algorithm(),
                expected.profile().pythonHashSeed(),
                computed,
                seen);
    if ((before == null) != (hash == null)) {
      LOG.warnf(
          hash == null
              ? "publisher %s: its block hashes are those of its hash profile again"
              : "publisher %s: its block hashes are not those of its hash profile; it will not be hit",
          publisher);
    }
  }

  List<String> sentences() {
    List<String> sentences = new ArrayList<>();
    if (hash != null) {
      sentences.add(hash);
    }
    if (blockSize != UNSEEN) {
      sentences.add(
          "block_size: registered "
              + expected.blockSize()
              + ", the engine sends blocks of "
              + blockSize);
    }
    if (lora != null) {
      sentences.add(
          "lora_name: registered "
              + quoted(expected.lora())
              + ", the engine sends blocks of "
              + quoted(lora));
    }
    if (rank != UNSEEN) {
      sentences.add(
          "dp_rank: registered " + expected.rank() + ", the engine sends batches of " + rank);
    }
    return sentences;
  }

  private static String quoted(String name) {
    return name.isEmpty() ? "the base model" : '"' + name + '"';
  }
}
