// Package chart tests the Helm chart in deploy/charts with helm itself and the
// real kube-apiserver, and keeps what is rendered from it up to date:
// deploy/manifests and the chart's README. It also checks the documents' links,
// names and commands.
package chart
