package baton.client;

import baton.rpc.ConductorFailure;
import baton.rpc.ConductorFunctions;
import baton.rpc.ErrorCode;
import baton.rpc.Expected;
import baton.rpc.MalformedMessage;
import baton.rpc.Requests;
import baton.rpc.ResponseHeader;
import baton.rpc.Responses;
import baton.rpc.RpcError;
import baton.rpc.Wire.GlobalView;
import baton.rpc.Wire.QueryRequest;
import baton.rpc.Wire.QueryResult;
import baton.rpc.Wire.RegisterResult;
import baton.rpc.Wire.ServiceConfig;
import baton.rpc.Wire.UnregisterArgs;
import baton.rpc.Wire.UnregisterResult;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntFunction;
import java.util.function.IntSupplier;

/**
 * One connection to a Conductor, with one call in flight at a time. A call that fails in the
 * channel ends the connection, so that its answer, should it still come, is nobody else's; every
 * later call is RPC_FAIL then.
 */
final class RpcLink implements ConductorFunctions {
  private static final int MAX_BODY = 256 * 1024 * 1024;
  private static final int CHUNK = 64 * 1024;

  private final TimedSocket socket;
  private final int timeoutMs;
  private final IntSupplier sequence;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile boolean broken;

  /** Reads an answer's body. */
  private interface Decoder<T> {
    T decode(byte[] bytes, int offset, int length);
  }

  private RpcLink(TimedSocket socket, int timeoutMs, IntSupplier sequence) {
    this.socket = socket;
    this.timeoutMs = timeoutMs;
    this.sequence = sequence;
  }

  /**
   * Connects.
   *
   * @param sequence the numbers of the requests
   */
  static RpcLink connect(
      InetSocketAddress address, int connectTimeoutMs, int requestTimeoutMs, IntSupplier sequence)
      throws IOException {
    TimedSocket socket = TimedSocket.connect(address, connectTimeoutMs);
    return new RpcLink(socket, requestTimeoutMs, sequence);
  }

  boolean isBroken() {
    return broken;
  }

  @Override
  public QueryResult query(QueryRequest request) {
    return value(call(seq -> Requests.encodeQuery(seq, request), Responses::decodeQuery));
  }

  @Override
  public RegisterResult register(ServiceConfig service) {
    return value(call(seq -> Requests.encodeRegister(seq, service), Responses::decodeRegister));
  }

  @Override
  public UnregisterResult unregister(UnregisterArgs args) {
    return value(call(seq -> Requests.encodeUnregister(seq, args), Responses::decodeUnregister));
  }

  @Override
  public GlobalView globalView() {
    return call(Requests::encodeGetGlobalView, Responses::decodeGetGlobalView);
  }

  @Override
  public List<ServiceConfig> services() {
    return call(Requests::encodeListServices, Responses::decodeListServices);
  }

  private static <T> T value(Expected<T> expected) {
    if (expected.hasValue()) {
      return expected.value();
    }
    throw new ConductorFailure(expected.error(), "the Conductor answered " + expected.error());
  }

  private <T> T call(IntFunction<byte[]> request, Decoder<T> decoder) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    try {
      if (!lock.tryLock(timeoutMs, TimeUnit.MILLISECONDS)) {
        throw new ConductorFailure(ErrorCode.RPC_TIMEOUT, "other calls did not end in time");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ConductorFailure(ErrorCode.RPC_FAIL, "interrupted");
    }
    try {
      if (broken) {
        throw new ConductorFailure(ErrorCode.RPC_FAIL, "the connection has ended");
      }
      return exchange(request, decoder, deadline);
    } catch (SocketTimeoutException e) {
      close();
      throw new ConductorFailure(ErrorCode.RPC_TIMEOUT, "no answer within " + timeoutMs + " ms");
    } catch (IOException | MalformedMessage | ClosedSelectorException | CancelledKeyException e) {
      close();
      throw new ConductorFailure(ErrorCode.RPC_FAIL, "the connection failed: " + e.getMessage());
    } finally {
      lock.unlock();
    }
  }

  private <T> T exchange(IntFunction<byte[]> request, Decoder<T> decoder, long deadline)
      throws IOException {
    int seq = sequence.getAsInt();
    socket.write(request.apply(seq), deadline);
    byte[] head = read(ResponseHeader.SIZE, deadline);
    ResponseHeader header = ResponseHeader.decode(head, 0, head.length);
    if (header.seq() != seq) {
      throw new IOException("the answer is to another request");
    }
    if (header.length() + header.attachLength() > MAX_BODY) {
      throw new IOException("the answer is longer than " + MAX_BODY + " bytes");
    }
    int length = (int) header.length();
    byte[] body = read(length + (int) header.attachLength(), deadline);
    if (header.errorCode() == 0) {
      return decoder.decode(body, 0, length);
    }
    RpcError error = Responses.decodeError(header.errorCode(), body, 0, length);
    if (header.errorCode() != RpcError.IN_BODY) {
      close();
    }
    int code = error.code() == RpcError.TIMED_OUT ? ErrorCode.RPC_TIMEOUT : ErrorCode.RPC_FAIL;
    throw new ConductorFailure(code, "the Conductor answered RPC error " + error.code());
  }

  /** Reads bytes as they come: a length that was only announced takes no memory. */
  private byte[] read(int count, long deadline) throws IOException {
    byte[] bytes = new byte[Math.min(count, CHUNK)];
    socket.read(bytes, 0, bytes.length, deadline);
    while (bytes.length < count) {
      int from = bytes.length;
      bytes = Arrays.copyOf(bytes, (int) Math.min(count, 2L * from));
      socket.read(bytes, from, bytes.length - from, deadline);
    }
    return bytes;
  }

  @Override
  public boolean waits() {
    return true;
  }

  @Override
  public void close() {
    broken = true;
    try {
      socket.close();
    } catch (IOException e) {
      // Whatever is left of it, no call uses it any more; and a client's close must not fail.
      return;
    }
  }
}
