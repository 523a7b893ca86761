// Package firewall keeps the public access firewall: one DigitalOcean firewall
// on the cluster's droplets that admits what the Services need from outside, and
// nothing else.
//
// The core is pure: [Need] says what a Service needs, [Desire] makes the
// firewall's state of what all need, [StateOf] reads a firewall of the API into
// the same normal form, and [Diff] compares the two. [Controller] is the edge: it
// watches Services, reads the firewall as seldom as it can, and writes it only
// where something differs.
package firewall
