package baton.client;

import java.util.Map;

/** A user's program. It runs in a JVM of its own, where there is nothing but the client. */
final class PlainProgram {
  private PlainProgram() {}

  public static void main(String[] args) {
    try (ConductorClient client = new ConductorClient()) {
      System.out.println(client.healthCheck());
      System.out.println(client.setup("no port"));
      System.out.println(client.setup(args[0]));
      System.out.println(client.healthCheck());
      QueryResult found = client.query("my-model", 16, new int[] {1, 2, 3});
      System.out.println(found.ret() + " " + found.hits());
      System.out.println(
          client.register(
              Map.of(
                  "instance_id", "vllm-0",
                  "endpoint", "tcp://127.0.0.1:5557",
                  "model_name", "my-model",
                  "block_size", 16,
                  "hash_profile",
                      Map.of(
                          "strategy", "vllm_v1",
                          "algorithm", "sha256_cbor",
                          "python_hash_seed", "0",
                          "index_projection", "low64_be"))));
      try {
        client.register(Map.of("modelname", "m"));
      } catch (IllegalArgumentException e) {
        System.out.println(e.getMessage());
      }
      System.out.println(client.unregister("ghost"));
      System.out.println(client.getGlobalView());
      System.out.println(client.listServices());
    }
  }
}
