package baton.rpc;

import baton.rpc.Wire.CacheHit;
import baton.rpc.Wire.ContextView;
import baton.rpc.Wire.GlobalView;
import baton.rpc.Wire.HashProfile;
import baton.rpc.Wire.QueryRequest;
import baton.rpc.Wire.QueryResult;
import baton.rpc.Wire.RankHit;
import baton.rpc.Wire.RegisterResult;
import baton.rpc.Wire.ServiceConfig;
import baton.rpc.Wire.UnregisterArgs;
import baton.rpc.Wire.UnregisterResult;
import java.util.Comparator;

/**
 * Each record's members in the order of the wire, reading beside writing. Java evaluates arguments
 * from left to right, so a constructor call reads its members in order.
 */
final class Layouts {
  private static final Comparator<Long> SIGNED = Comparator.naturalOrder();

  private Layouts() {}

  static QueryRequest queryRequest(StructPackReader in) {
    return new QueryRequest(
        in.string(),
        in.string(),
        in.string(),
        in.int64(),
        in.ints(),
        in.optional(StructPackReader::string),
        in.optional(StructPackReader::string));
  }

  static void queryRequest(StructPackWriter out, QueryRequest request) {
    out.string(request.tenantId());
    out.string(request.modelName());
    out.string(request.loraName());
    out.int64(request.blockSize());
    out.ints(request.tokenIds());
    out.optional(request.cacheSalt(), StructPackWriter::string);
    out.optional(request.instanceFilter(), StructPackWriter::string);
  }

  static ServiceConfig serviceConfig(StructPackReader in) {
    return new ServiceConfig(
        in.string(),
        in.string(),
        in.int32(),
        in.string(),
        in.string(),
        in.string(),
        in.string(),
        in.int64(),
        in.int32(),
        in.optional(StructPackReader::int64),
        hashProfile(in));
  }

  static void serviceConfig(StructPackWriter out, ServiceConfig service) {
    out.string(service.endpoint());
    out.string(service.replayEndpoint());
    out.int32(service.publisherKind());
    out.string(service.modelName());
    out.string(service.loraName());
    out.string(service.tenantId());
    out.string(service.instanceId());
    out.int64(service.blockSize());
    out.int32(service.dpRank());
    out.optional(service.cacheGroup(), StructPackWriter::int64);
    hashProfile(out, service.hashProfile());
  }

  static HashProfile hashProfile(StructPackReader in) {
    return new HashProfile(in.string(), in.string(), in.string(), in.string(), in.string());
  }

  static void hashProfile(StructPackWriter out, HashProfile profile) {
    out.string(profile.strategy());
    out.string(profile.algorithm());
    out.string(profile.pythonHashSeed());
    out.string(profile.rootDigest());
    out.string(profile.indexProjection());
  }

  static UnregisterArgs unregisterArgs(StructPackReader in) {
    return new UnregisterArgs(in.string(), in.string(), in.int32());
  }

  static void unregisterArgs(StructPackWriter out, UnregisterArgs args) {
    out.string(args.instanceId());
    out.string(args.tenantId());
    out.int32(args.dpRank());
  }

  static QueryResult queryResult(StructPackReader in) {
    return new QueryResult(in.map(StructPackReader::string, Layouts::cacheHit));
  }

  static void queryResult(StructPackWriter out, QueryResult result) {
    out.map(
        result.instances(),
        StructPackWriter.BYTE_ORDER,
        StructPackWriter::string,
        Layouts::cacheHit);
  }

  static CacheHit cacheHit(StructPackReader in) {
    return new CacheHit(
        in.int64(),
        in.map(StructPackReader::int64, StructPackReader::int64),
        in.map(StructPackReader::int64, Layouts::rankHit),
        in.int64(),
        in.int64(),
        in.int64(),
        in.int64());
  }

  static void cacheHit(StructPackWriter out, CacheHit hit) {
    out.int64(hit.longestMatched());
    out.map(hit.dp(), SIGNED, StructPackWriter::int64, StructPackWriter::int64);
    out.map(hit.rankMatches(), SIGNED, StructPackWriter::int64, Layouts::rankHit);
    out.int64(hit.device());
    out.int64(hit.cpuLocal());
    out.int64(hit.cpuShare());
    out.int64(hit.disk());
  }

  static RankHit rankHit(StructPackReader in) {
    return new RankHit(in.int64(), in.int64(), in.int64(), in.int64());
  }

  static void rankHit(StructPackWriter out, RankHit hit) {
    out.int64(hit.device());
    out.int64(hit.cpuLocal());
    out.int64(hit.cpuShare());
    out.int64(hit.disk());
  }

  static RegisterResult registerResult(StructPackReader in) {
    return new RegisterResult(in.string(), in.bool());
  }

  static void registerResult(StructPackWriter out, RegisterResult result) {
    out.string(result.instanceId());
    out.bool(result.isNew());
  }

  static UnregisterResult unregisterResult(StructPackReader in) {
    return new UnregisterResult(in.string());
  }

  static void unregisterResult(StructPackWriter out, UnregisterResult result) {
    out.string(result.removedKey());
  }

  static GlobalView globalView(StructPackReader in) {
    return new GlobalView(in.int32(), in.list(Layouts::contextView));
  }

  static void globalView(StructPackWriter out, GlobalView view) {
    out.int32(view.contextCount());
    out.list(view.contexts(), Layouts::contextView);
  }

  static ContextView contextView(StructPackReader in) {
    return new ContextView(
        in.string(),
        in.string(),
        in.string(),
        in.int64(),
        hashProfile(in),
        in.map(StructPackReader::string, ranks -> ranks.set(StructPackReader::int64)),
        in.int64());
  }

  static void contextView(StructPackWriter out, ContextView view) {
    out.string(view.tenantId());
    out.string(view.modelName());
    out.string(view.loraName());
    out.int64(view.blockSize());
    hashProfile(out, view.hashProfile());
    out.map(
        view.instanceRanks(),
        StructPackWriter.BYTE_ORDER,
        StructPackWriter::string,
        (to, ranks) -> to.set(ranks, SIGNED, StructPackWriter::int64));
    out.int64(view.prefixCount());
  }
}
