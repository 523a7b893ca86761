// Package doctor finds why the manager doesn't work, or doesn't do what is
// expected of it. Each check is pure: what was read in, findings with their cures
// out. [Gather] reads, and only reads.
package doctor

import (
	"time"

	"github.com/digitalocean/godo"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/preview"
)

// Severity is how bad a finding is.
type Severity string

// Severities.
const (
	// Error is for what doesn't work.
	Error Severity = "error"
	// Warning is for what may not, or not for long.
	Warning Severity = "warning"
)

// Finding is one thing that is wrong, and what to do about it.
type Finding struct {
	Severity Severity `json:"severity"`
	// Check is the name of the check that found it.
	Check string `json:"check"`
	// Object is what it is about, such as "Node w1".
	Object  string `json:"object"`
	Message string `json:"message"`
	Cure    string `json:"cure"`
}

// Facts are what the checks go by. What couldn't be read is nil or empty, and its
// error among the Reads.
type Facts struct {
	Now      time.Time
	Settings *config.Config
	// Reads are the harmless reads by which the rights of the token, and those in
	// Kubernetes, are found out.
	Reads []Read

	Nodes    []v1.Node
	Services []v1.Service
	// Entries are what the manager would do for the Services.
	Entries []preview.Entry

	Droplets  []godo.Droplet
	Regions   []godo.Region
	VPC       *godo.VPC
	Firewalls []godo.Firewall
	Quota     doapi.Quota

	// Lease is the manager's; nil: there is none.
	Lease       *coordinationv1.Lease
	Deployments []appsv1.Deployment
	DaemonSets  []appsv1.DaemonSet
	Webhooks    []admissionv1.ValidatingWebhookConfiguration
	// Ready tells of each webhook's Service, by namespace/name, how many of its
	// endpoints are ready; a Service that doesn't exist is missing.
	Ready map[string]int
	// Pods tells the same of each Service in Entries; one whose endpoints couldn't
	// be read is missing.
	Pods map[string]Endpoints
}

// Endpoints counts those of one Service, mostly Pods that its selector matches.
type Endpoints struct{ Ready, All int }

// Read is an attempt to read something.
type Read struct {
	// What was read, for people.
	What string
	// Scope is the right that it takes: a scope of the token, or empty for a read
	// of Kubernetes.
	Scope string
	Err   error
}

func (f *Facts) read(what string) bool {
	for _, r := range f.Reads {
		if r.What == what {
			return r.Err == nil
		}
	}
	return false
}

// check is one of the checks, by the name that findings carry.
type check struct {
	name string
	find func(*Facts) []Finding
}

var checks = []check{
	{"access", checkReads},
	{"region", checkRegion},
	{"vpc", checkVPC},
	{"kubelets", checkKubelets},
	{"droplets", checkDroplets},
	{"manager", checkManager},
	{"controllers", checkControllers},
	{"services", checkServices},
	{"backends", checkBackends},
	{"pods", checkPods},
	{"firewall", checkFirewall},
	{"webhook", checkWebhook},
	{"quota", checkQuota},
}

// Examine runs all checks, in the order in which troubles follow from another.
func Examine(f *Facts) []Finding {
	var findings []Finding
	for _, c := range checks {
		for _, found := range c.find(f) {
			found.Check = c.name
			findings = append(findings, found)
		}
	}
	return findings
}

// Names are those of all checks.
func Names() []string {
	all := make([]string, len(checks))
	for i, c := range checks {
		all[i] = c.name
	}
	return all
}
