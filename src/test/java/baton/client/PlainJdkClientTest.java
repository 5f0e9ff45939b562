package baton.client;

import static org.assertj.core.api.Assertions.assertThat;

import baton.rpc.ErrorCode;
import baton.rpc.Expected;
import baton.rpc.Responses;
import baton.rpc.RpcFunction;
import baton.rpc.Wire;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The client and the channel's codec, copied into a program that has nothing but the JDK. */
@Timeout(60)
class PlainJdkClientTest {
  private static final Path CLASSES = Path.of("target/classes/baton");
  private static final Path PROGRAM = Path.of("target/test-classes/baton/client");

  @TempDir private Path classPath;

  @Test
  void program_withTheClientsTwoPackagesAndTheBaseModule_worksAsDocumented() throws Exception {
    copy(CLASSES.resolve("client"), "baton/client", "");
    copy(CLASSES.resolve("rpc"), "baton/rpc", "");
    copy(PROGRAM, "baton/client", "PlainProgram");
    try (Peer peer = Peer.with(PlainJdkClientTest::conductor)) {
      Process java =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "--limit-modules",
                  "java.base",
                  "-cp",
                  classPath.toString(),
                  "baton.client.PlainProgram",
                  peer.address())
              .redirectErrorStream(true)
              .start();
      String output = new String(java.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(output.lines())
          .containsExactly(
              "1",
              "-600",
              "0",
              "0",
              "0 {vllm-0=InstanceHit[longestMatched=48, dp={0=16},"
                  + " rankMatches={0=RankHit[device=16, cpuLocal=32, cpuShare=48, disk=48]},"
                  + " device=16, cpuLocal=32, cpuShare=48, disk=48]}",
              "0",
              "unknown key modelname",
              "-2001",
              "GlobalViewResult[ret=0, contextCount=1, contexts=[Context[modelName=my-model,"
                  + " loraName=, blockSize=16, tenantId=default, prefixCount=3,"
                  + " hashProfile=HashProfile[strategy=vllm_v1, algorithm=sha256_cbor,"
                  + " pythonHashSeed=0, rootDigest=00ff, indexProjection=low64_be],"
                  + " instances={vllm-0=[0]}]]]",
              "ServicesResult[ret=0, count=0, services=[]]");
      assertThat(java.waitFor()).isZero();
    }
  }

  private void copy(Path from, String to, String prefix) throws IOException {
    Path target = Files.createDirectories(classPath.resolve(to));
    try (Stream<Path> files = Files.list(from)) {
      for (Path file : files.toList()) {
        String name = file.getFileName().toString();
        if (name.startsWith(prefix) && name.endsWith(".class")) {
          Files.copy(file, target.resolve(name));
        }
      }
    }
  }

  /** Answers each function once and again. */
  private static void conductor(Peer.Connection connection) throws IOException {
    while (true) {
      Peer.Request request = connection.next();
      connection.send(
          answer(RpcFunction.of(request.header().functionId()).orElseThrow(), request.seq()));
    }
  }

  private static byte[] answer(RpcFunction function, int seq) {
    return switch (function) {
      case QUERY ->
          Responses.encodeQuery(
              seq,
              Expected.of(
                  new Wire.QueryResult(
                      Map.of(
                          "vllm-0",
                          new Wire.CacheHit(
                              48,
                              Map.of(0L, 16L),
                              Map.of(0L, new Wire.RankHit(16, 32, 48, 48)),
                              16,
                              32,
                              48,
                              48)))));
      case REGISTER ->
          Responses.encodeRegister(seq, Expected.of(new Wire.RegisterResult("vllm-0", true)));
      case UNREGISTER ->
          Responses.encodeUnregister(seq, Expected.error(ErrorCode.SERVICE_NOT_FOUND));
      case LIST_SERVICES -> Responses.encodeListServices(seq, List.of());
      case GET_GLOBAL_VIEW ->
          Responses.encodeGetGlobalView(
              seq,
              new Wire.GlobalView(
                  1,
                  List.of(
                      new Wire.ContextView(
                          "default",
                          "my-model",
                          "",
                          16,
                          new Wire.HashProfile("vllm_v1", "sha256_cbor", "0", "00ff", "low64_be"),
                          Map.of("vllm-0", Set.of(0L)),
                          3))));
    };
  }
}
