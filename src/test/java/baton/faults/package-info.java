/**
 * Engines that lose, repeat, reorder and garble what they publish, that answer replays badly and
 * die, and a model that knows all that they ever published. Whatever they do, no answer may claim a
 * block that was never there or is certainly gone; and when they are quiet again, the answer is the
 * model's, or the publisher is marked.
 */
package baton.faults;
