/**
 * The Conductor over HTTP, in JSON and MessagePack.
 *
 * <p>{@link baton.http.ConductorResource} has one method for each endpoint. {@code Exchange} does
 * what all of them share: it settles the two media types, reads a bounded body, runs the call and
 * writes the reply. {@code BodyReader} decodes both formats alike, straight from the bytes; {@code
 * Requests} says which fields each request has. Every error becomes an {@code ErrorReply}.
 */
package baton.http;
