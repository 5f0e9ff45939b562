package baton.config;

/**
 * A value that is in force, as it may be shown.
 *
 * @param value null for none
 * @param origin who gave it
 */
public record Setting(String key, String value, String origin) {}
