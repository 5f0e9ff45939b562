package baton.rpc;

import baton.rpc.Wire.GlobalView;
import baton.rpc.Wire.QueryRequest;
import baton.rpc.Wire.QueryResult;
import baton.rpc.Wire.RegisterResult;
import baton.rpc.Wire.ServiceConfig;
import baton.rpc.Wire.UnregisterArgs;
import baton.rpc.Wire.UnregisterResult;
import java.util.List;

/**
 * A Conductor, wherever it is: in this process or at the other end of a connection. Every function
 * throws {@link ConductorFailure} where it has no result. Safe for many threads.
 */
public interface ConductorFunctions extends AutoCloseable {
  QueryResult query(QueryRequest request);

  RegisterResult register(ServiceConfig service);

  UnregisterResult unregister(UnregisterArgs args);

  GlobalView globalView();

  List<ServiceConfig> services();

  /** Whether a query may wait for someone else, so that it must not run on an event loop. */
  boolean waits();

  /** Releases what connects to the Conductor; the Conductor itself goes on. */
  @Override
  void close();
}
