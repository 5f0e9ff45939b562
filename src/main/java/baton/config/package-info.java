/**
 * What an operator can set, and who says what is wrong with it.
 *
 * <p>At the start {@link baton.config.ConductorConfigSourceFactory} looks at all that was given, by
 * whatever way, together: {@code GivenValues} is what properties and environment say, {@code
 * ConductorFile} what the file of publishers says, {@code Settings} both, with every fault in them.
 * With a fault the process ends there. Else {@link baton.config.BatonConfig} has the values, and
 * {@link baton.config.ConfiguredPublishers} registers the publishers and follows changes of the
 * file: one with a fault is refused whole.
 */
package baton.config;
