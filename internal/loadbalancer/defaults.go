package loadbalancer

import (
	"strconv"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// DefaultsVersion is the version of what holds where a Service says nothing: the
// one that new load balancers get. It rises when a default changes.
const DefaultsVersion = 1

// DefaultHTTPIdleTimeoutSeconds is DigitalOcean's.
const DefaultHTTPIdleTimeoutSeconds = 60

// Defaults are what holds where a Service says nothing. Those of a version never
// change: a load balancer keeps the ones that it was made with.
type Defaults struct {
	// HealthCheck holds the times and thresholds.
	HealthCheck            HealthCheck
	HTTPIdleTimeoutSeconds int
}

// firstDefaults are also those of the public manager.
const firstDefaults = 1

// defaultsByVersion grows with each new version.
var defaultsByVersion = map[int]Defaults{
	firstDefaults: {
		HealthCheck:            HealthCheck{CheckIntervalSeconds: 3, ResponseTimeoutSeconds: 5, HealthyThreshold: 5, UnhealthyThreshold: 3},
		HTTPIdleTimeoutSeconds: DefaultHTTPIdleTimeoutSeconds,
	},
}

// VersionOf is the version of the defaults that the Service's load balancer
// follows, or would follow.
func VersionOf(svc *v1.Service) int { return versionOf(svc, DefaultsVersion, defaultsByVersion) }

func defaultsOf(svc *v1.Service) Defaults { return defaultsByVersion[VersionOf(svc)] }

// versionOf is the version that the load balancer was made with. A load balancer without one was made
// by the public manager, or by somebody else. A version from the future, as
// after a return to an older manager, is taken for the newest that is known.
func versionOf(svc *v1.Service, newest int, known map[int]Defaults) int {
	version, err := strconv.Atoi(svc.Annotations[annotation.DefaultsVersion])
	if _, ok := known[version]; err == nil && ok {
		return version
	}
	if svc.Annotations[annotation.DefaultsVersion] == "" && svc.Annotations[annotation.LoadBalancerID] != "" {
		return firstDefaults
	}
	return newest
}
