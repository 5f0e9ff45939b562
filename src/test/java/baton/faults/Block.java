package baton.faults;

/** A block that an engine holds, in its device's memory or in the host's. */
record Block(long key, boolean onDevice) {}
