// Package sandbox runs a whole cluster's worth of cloud controller manager on
// one machine: etcd and kube-apiserver, the DigitalOcean simulator, and the
// manager between them as a process of its own, with the rights that it has in
// a real cluster and no more. Nothing else is simulated: what the manager does
// here it would do there.
//
// The parts ([StartControlPlane], [StartAPI], [NewNode], [StartManager]) stand
// alone, for tests that want a scenario of their own. [Run] puts them together
// and shows a person, live, what happens.
package sandbox
