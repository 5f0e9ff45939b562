package baton.http;

import baton.conductor.Rejection;
import baton.rpc.ConductorFailure;
import baton.rpc.ErrorCode;
import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.util.Locale;
import org.jboss.logging.Logger;

/**
 * Every error, in the contract's one shape.
 *
 * @param status the HTTP status; not part of the body
 * @param field the field at fault, or null
 * @param index the element of the field, or null
 */
@RegisterForReflection
@JsonInclude(JsonInclude.Include.NON_NULL)
record ErrorReply(
    @JsonIgnore int status, String error, String reason, String field, Integer index) {
  private static final Logger LOG = Logger.getLogger(ErrorReply.class);

  static ErrorReply of(int status, String reason, String error) {
    return new ErrorReply(status, error, reason, null, null);
  }

  /**
   * What a client is told of a failure; one that is not its own fault is logged and told in
   * general.
   */
  static ErrorReply of(Throwable failure) {
    if (failure instanceof BadRequest bad) {
      Integer index = bad.index() == BadRequest.NO_INDEX ? null : (Integer) bad.index();
      return new ErrorReply(bad.status(), bad.getMessage(), bad.reason(), bad.field(), index);
    }
    if (failure instanceof Rejection rejection) {
      return new ErrorReply(
          status(rejection.reason()),
          rejection.getMessage(),
          label(rejection.reason()),
          rejection.field(),
          null);
    }
    if (failure instanceof ConductorFailure conductor) {
      return conductor.getCause() instanceof Rejection own ? of(own) : of(conductor);
    }
    LOG.error("a request failed", failure);
    return of(500, "internal", "an internal error; the log has more");
  }

  private static int status(Rejection.Reason reason) {
    return switch (reason) {
      case INVALID_VALUE, OUT_OF_RANGE, UNSUPPORTED -> 400;
      case NOT_FOUND -> 404;
      case INVALID_REGISTRATION, CANNOT_SUBSCRIBE -> 409;
      case UNAVAILABLE -> 503;
    };
  }

  private static String label(Rejection.Reason reason) {
    return reason == Rejection.Reason.CANNOT_SUBSCRIBE
        ? "invalid_registration"
        : reason.name().toLowerCase(Locale.ROOT);
  }

  /** What a Conductor elsewhere says with its codes. */
  private static ErrorReply of(ConductorFailure failure) {
    return switch (failure.code()) {
      case ErrorCode.INVALID_PARAMS ->
          of(400, "invalid_value", "the Conductor refused the values: " + failure.getMessage());
      case ErrorCode.SERVICE_NOT_FOUND -> of(404, "not_found", "the publisher is not registered");
      case ErrorCode.CONDUCTOR_UNAVAILABLE, ErrorCode.RPC_FAIL, ErrorCode.RPC_TIMEOUT ->
          of(503, "unavailable", "the Conductor cannot be asked: " + failure.getMessage());
      default -> of(500, "internal", "the Conductor failed: " + failure.getMessage());
    };
  }
}
