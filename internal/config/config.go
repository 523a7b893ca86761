// Package config holds the manager's settings: one [Config], read once at
// start and validated as a whole, so that an operator sees everything that is
// wrong in one go and no later code has to read the environment.
package config

import (
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/limits"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// Config is everything an operator can set. The zero value is not valid: make
// one with [FromEnvironment] or [Read].
type Config struct {
	// API says how DigitalOcean's API is reached.
	API API
	// Region is the slug of the region in which load balancers are made.
	// Empty: asked of the droplet's metadata service at start.
	Region string
	// MetadataURL is the base of the droplet metadata service.
	MetadataURL *url.URL
	// ClusterID marks what the manager makes with the tag k8s:<ClusterID>.
	// Empty: no such tag.
	ClusterID string
	// VPCID is the VPC (a UUID) of new load balancers. Empty: the region's
	// default VPC.
	VPCID string
	// Defaults are what holds for a Service that lacks an annotation.
	Defaults annotation.Defaults
	// TargetTag is the droplet tag that load balancers send traffic to where
	// TargetByTag is true, and which the manager then keeps on exactly the
	// droplets that are backends; else they list droplets by id. It is empty
	// without a cluster's id, or with one that doesn't fit into a tag.
	TargetTag   string
	TargetByTag bool
	// Limits are what Services may ask for.
	Limits limits.Limits
	// NameTemplate gives new load balancers their names. The zero value: their
	// names hold nothing but the Service's UID.
	NameTemplate loadbalancer.NameTemplate
	// HealthCheck is the cluster's own default of health checks.
	HealthCheck loadbalancer.DefaultHealthCheck
	// KeepMissing keeps a Service whose load balancer does not exist any more
	// without one, and so without a new address.
	KeepMissing bool
	// DriftPeriod is how often DigitalOcean is asked whether somebody changed
	// what the manager manages. Zero: never.
	DriftPeriod time.Duration
	// Firewall is the public access firewall. Nil: none is managed.
	Firewall *Firewall
	// MetricsAddress is the host:port of a plain HTTP listener for /metrics.
	// Empty: none.
	MetricsAddress string
	// DebugAddress is the host:port of a plain HTTP listener for /healthz and
	// /readyz. Empty: none.
	DebugAddress string
	// Nodes are the settings of the node controllers.
	Nodes Nodes
	// ObserveOnly keeps every write from DigitalOcean and from Kubernetes, and
	// tells what would be written.
	ObserveOnly bool
	// Notes are what was odd in the settings but could be used.
	Notes []string
}

// API says how DigitalOcean's API is reached.
type API struct {
	// Token is the API token. Exactly one of Token and TokenFile is set.
	Token doapi.Token
	// TokenFile is a file that holds the token and is read again when it
	// changes.
	TokenFile string
	// URL is the API's base URL. Nil: DigitalOcean's.
	URL *url.URL
	// RateLimitQPS caps requests a second. Zero: no cap of ours.
	RateLimitQPS float64
}

// Firewall names the DigitalOcean firewall that opens node ports to the
// public, and the droplet tags it applies to.
type Firewall struct {
	Name string
	Tags []string
}

// Nodes are the settings of the node controllers.
type Nodes struct {
	// DeletionBrake is how many Nodes may look gone at once before none of
	// them is removed any more.
	DeletionBrake Brake
	// TagLabels are patterns of droplet tags that become Node labels.
	TagLabels []string
	// Ignore selects the Nodes that the manager leaves alone altogether. Nil:
	// none.
	Ignore labels.Selector
}

// Brake bounds how many Nodes may be removed within its window.
type Brake struct {
	// Off lifts the brake: the operator's override.
	Off bool
	// Count and Percent are both exceeded before the brake acts.
	Count   int
	Percent int
	// Window is the time over which removals are counted.
	Window time.Duration
}
