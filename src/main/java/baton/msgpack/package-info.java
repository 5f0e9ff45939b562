/**
 * Reading MessagePack from peers that nobody vouches for.
 *
 * <p>{@link baton.msgpack.MsgpackReader} walks an array of bytes in place: no copies, no tree,
 * every count checked against the bytes that are left, nesting capped. Writing, where the values
 * are our own, is msgpack-java's.
 */
package baton.msgpack;
