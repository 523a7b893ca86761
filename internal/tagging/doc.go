// Package tagging keeps the cluster's tag on what the manager makes, and takes
// the marks of single Services off again once nothing depends on them.
//
// Of what the manager makes, load balancers alone can be tagged: a firewall's
// tags are what it protects, and droplets are made by others.
package tagging
