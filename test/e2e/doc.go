// Package e2e tests the built manager from outside: a real kube-apiserver and
// etcd, the DigitalOcean simulator, and the manager between them as a process
// of its own with the rights that are shipped. What a test looks at is what a
// user sees: Kubernetes objects and events, the API's request log, exit codes
// and the manager's log.
//
// No two tests have a control plane at the same time, so tests run beside each
// other. A test gets it as new, though others may have had it before.
package e2e
