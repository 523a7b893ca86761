//go:build tools

// Package controlplane pins the programs of a Kubernetes control plane, so
// that `go mod tidy` keeps what they need.
package controlplane

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
