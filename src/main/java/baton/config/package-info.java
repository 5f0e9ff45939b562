/** What an operator can set: {@link baton.config.BatonConfig}, read once at the start. */
package baton.config;
