package baton.conductor;

import baton.publisher.StreamStatus;

/** A registered publisher, and how its stream is. */
public record PublisherStatus(Publisher publisher, StreamStatus stream) {}
