package baton.rpc;

import baton.rpc.RpcMeter.Outcome;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jboss.logging.Logger;

/** From a request's body to its answer's frame. */
final class RpcCalls {
  private static final Logger LOG = Logger.getLogger(RpcCalls.class);
  private static final int REMEMBERED_PEERS = 1024;

  /** Hosts whose other version was logged; the oldest is forgotten when there are too many. */
  private static final Set<String> TOLD =
      Collections.synchronizedSet(
          Collections.newSetFromMap(
              new LinkedHashMap<>() {
                private static final long serialVersionUID = 1L;

                @Override
                protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
                  return size() > REMEMBERED_PEERS;
                }
              }));

  private final ConductorFunctions conductor;
  private final RpcMeter meter;
  private final String peer;

  RpcCalls(ConductorFunctions conductor, RpcMeter meter, String peer) {
    this.conductor = conductor;
    this.meter = meter;
    this.peer = peer;
  }

  /** Whether the call may wait, so that an event loop must not make it. */
  boolean waits(RequestHeader header) {
    return conductor.waits()
        || RpcFunction.of(header.functionId()).filter(f -> f != RpcFunction.QUERY).isPresent();
  }

  byte[] answer(RequestHeader header, byte[] bytes, int offset, int length) {
    RpcFunction function = RpcFunction.of(header.functionId()).orElse(null);
    if (function == null) {
      meter.unknownFunction();
      return Responses.encodeError(header.seq(), RpcError.unknownFunction());
    }
    long begin = System.nanoTime();
    Answer answer = run(function, header.seq(), bytes, offset, length);
    meter.called(function, answer.outcome, System.nanoTime() - begin);
    return answer.frame;
  }

  private record Answer(byte[] frame, Outcome outcome) {}

  private Answer run(RpcFunction function, int seq, byte[] bytes, int offset, int length) {
    try {
      return switch (function) {
        case QUERY ->
            expected(
                () -> conductor.query(Requests.decodeQuery(bytes, offset, length)),
                result -> Responses.encodeQuery(seq, result));
        case REGISTER ->
            expected(
                () -> conductor.register(Requests.decodeRegister(bytes, offset, length)),
                result -> Responses.encodeRegister(seq, result));
        case UNREGISTER ->
            expected(
                () -> conductor.unregister(Requests.decodeUnregister(bytes, offset, length)),
                result -> Responses.encodeUnregister(seq, result));
        case GET_GLOBAL_VIEW ->
            new Answer(Responses.encodeGetGlobalView(seq, conductor.globalView()), Outcome.OK);
        case LIST_SERVICES ->
            new Answer(Responses.encodeListServices(seq, conductor.services()), Outcome.OK);
      };
    } catch (MalformedMessage e) {
      tellOtherVersion(function, e);
      return new Answer(Responses.encodeError(seq, RpcError.invalidArgument()), Outcome.MALFORMED);
    } catch (ConductorFailure e) {
      // These two have no way to say it; the pair of code 255 keeps a C++ client's connection.
      RpcError error = new RpcError(RpcError.IN_BODY, e.getMessage());
      return new Answer(Responses.encodeError(seq, error), Outcome.ERROR);
    } catch (RuntimeException e) {
      LOG.errorf(e, "rpc call %s failed", function.method());
      RpcError error = RpcError.handlerThrew("an internal error; the log has more");
      return new Answer(Responses.encodeError(seq, error), Outcome.FAULT);
    }
  }

  private static <T> Answer expected(Supplier<T> call, Function<Expected<T>, byte[]> encode) {
    try {
      return new Answer(encode.apply(Expected.of(call.get())), Outcome.OK);
    } catch (ConductorFailure e) {
      return new Answer(encode.apply(Expected.error(sent(e.code()))), Outcome.ERROR);
    } catch (MalformedMessage e) {
      if (e.kind() != MalformedMessage.Kind.TEXT) {
        throw e;
      }
      // C++ takes any bytes for a text, and would close its connection at code 4.
      return new Answer(encode.apply(Expected.error(ErrorCode.INVALID_PARAMS)), Outcome.ERROR);
    }
  }

  /** What failed between here and a Conductor elsewhere is, to a caller, that it is unavailable. */
  private static int sent(int code) {
    return code == ErrorCode.RPC_FAIL || code == ErrorCode.RPC_TIMEOUT
        ? ErrorCode.CONDUCTOR_UNAVAILABLE
        : code;
  }

  private void tellOtherVersion(RpcFunction function, MalformedMessage e) {
    if (e.kind() == MalformedMessage.Kind.TYPE && TOLD.add(peer)) {
      LOG.warnf(
          "rpc peer %s sends another type to %s: %s; most likely it is of another version",
          peer, function.method(), e.getMessage());
    }
  }
}
