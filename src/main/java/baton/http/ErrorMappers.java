package baton.http;

import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import jakarta.ws.rs.NotAllowedException;
import jakarta.ws.rs.NotFoundException;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.Set;
import org.jboss.resteasy.reactive.server.ServerExceptionMapper;

/**
 * Failures outside the endpoints' own work: unknown paths, wrong methods, faults of the framework.
 */
@Singleton
public final class ErrorMappers {
  private static final Set<String> READ_ONLY =
      Set.of(
          "/services",
          "/services/status",
          "/global_view",
          "/admin/prompt_embeds/can_hold",
          "/admin/prompt_embeds/stats");

  private final Exchange exchange;

  @Inject
  ErrorMappers(Exchange exchange) {
    this.exchange = exchange;
  }

  @ServerExceptionMapper
  public Response notFound(NotFoundException e, HttpHeaders headers, UriInfo uri) {
    return reply(headers, ErrorReply.of(404, "not_found", "there is nothing at " + uri.getPath()));
  }

  @ServerExceptionMapper
  public Response notAllowed(NotAllowedException e, HttpHeaders headers, UriInfo uri) {
    String path = uri.getPath();
    // A path with a slash at its end leads to the same endpoint.
    boolean readOnly = READ_ONLY.contains(path.replaceAll("/+$", ""));
    String allow =
        path.startsWith("/prompt_embeds/")
            ? "GET, HEAD, PUT, DELETE, OPTIONS"
            : readOnly ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
    ErrorReply error = ErrorReply.of(405, "method_not_allowed", "allowed here: " + allow);
    return Response.fromResponse(reply(headers, error)).header(HttpHeaders.ALLOW, allow).build();
  }

  @ServerExceptionMapper
  public Response other(WebApplicationException e, HttpHeaders headers) {
    int status = e.getResponse().getStatus();
    ErrorReply error =
        switch (status) {
          case 413 -> ErrorReply.of(413, "too_large", "the body is too long");
          case 503 -> ErrorReply.of(503, "unavailable", "shutting down");
          default ->
              status < 500
                  ? ErrorReply.of(status, "invalid_value", "the request cannot be understood")
                  : ErrorReply.of(e);
        };
    return reply(headers, error);
  }

  @ServerExceptionMapper
  public Response fault(Throwable e, HttpHeaders headers) {
    return reply(headers, ErrorReply.of(e));
  }

  private Response reply(HttpHeaders headers, ErrorReply error) {
    return exchange.error(
        headers.getHeaderString(HttpHeaders.CONTENT_TYPE),
        headers.getHeaderString(HttpHeaders.ACCEPT),
        error);
  }
}
