/**
 * What {@code k8s/} renders to, checked without a cluster. {@link baton.k8s.Kubectl} renders it,
 * {@link baton.k8s.Schema} says what Kubernetes would refuse, and {@link baton.k8s.Rules} with
 * {@link baton.k8s.PodRules} what it would accept and never make work: a selector that matches
 * nothing, a port that nobody opens, a variable that Baton does not read.
 */
package baton.k8s;
