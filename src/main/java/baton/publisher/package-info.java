/**
 * One publisher's event stream, from its ZMQ socket to what it says about blocks.
 *
 * <p>A few {@link baton.publisher.Receivers} threads own all sockets. A {@link
 * baton.publisher.Subscription} checks the sequence of its messages and hands each payload to its
 * {@code EventDecoder}: {@code EngineDecoder} for vLLM and SGLang, {@code PoolDecoder} for
 * Mooncake. What the events say goes to a sink, {@link baton.publisher.EngineSink} or {@link
 * baton.publisher.PoolSink}; what is refused is counted by reason.
 */
package baton.publisher;
