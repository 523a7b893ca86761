// Package bench measures what the manager costs: API calls in fake time,
// convergence and memory of the built manager in real time. Recorded numbers of
// calls may only fall: a test fails when one rises.
package bench
