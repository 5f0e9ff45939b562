/**
 * The binary channel that Mooncake's own clients speak: coro_rpc frames with struct_pack bodies.
 *
 * <p>{@link baton.rpc.Requests} and {@link baton.rpc.Responses} are the codec's two halves, and
 * each has both directions, so that a server and a client agree by construction. They turn whole
 * frames and bodies into the records of {@link baton.rpc.Wire} and back. {@code Layouts} says which
 * member follows which, reading beside writing; {@code StructPackReader} and {@code
 * StructPackWriter} know how a string, a map or an optional looks; {@code BodyType} knows the
 * hashes. Bytes come from anyone: whatever does not hold is a {@link baton.rpc.MalformedMessage}.
 */
package baton.rpc;
