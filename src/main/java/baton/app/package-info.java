/**
 * The process: builds the core from the configuration ({@code Assembly}), says once what is
 * running, and shows its state as metrics and health.
 */
package baton.app;
