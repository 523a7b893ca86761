// Package harness is what the tests of the whole share: the programs that they
// run, the control planes that they hand on, the manager's log and what must never be in it, and DigitalOcean's API as
// the manager must use it.
package harness
