/**
 * Engines that are played, so that Baton can be tried without a GPU: real sockets and real hashes,
 * an invented workload. {@link baton.demo.DemoEngine} is one of them, {@code DemoFleet} runs all.
 */
package baton.demo;
