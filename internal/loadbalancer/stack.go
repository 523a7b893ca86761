package loadbalancer

import (
	"fmt"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// networkStack is what the user asks for, or whatever fits. It concerns only a
// load balancer that is yet to be made.
func networkStack(spec annotation.Spec, backends Backends) (string, []annotation.Problem) {
	if spec.NetworkStack == annotation.StackDual {
		if why := dualStackObstacle(spec, backends); why != "" {
			return spec.NetworkStack, []annotation.Problem{{Field: annotation.NetworkStack, Value: spec.NetworkStack, Allowed: why}}
		}
	}
	switch {
	case spec.NetworkStack != "":
		return spec.NetworkStack, nil
	case spec.Network == annotation.NetworkInternal:
		return annotation.StackIPv4, nil
	case spec.Type == annotation.TypeRegional, backends.DualStack:
		return annotation.StackDual, nil
	default:
		return annotation.StackIPv4, nil
	}
}

// dualStackObstacle says what must be instead where DUALSTACK can't be, or "".
func dualStackObstacle(spec annotation.Spec, backends Backends) string {
	if n := len(backends.IPv4Only); needsPublicAddresses(spec) && n > 0 {
		return fmt.Sprintf("must be IPV4 or absent while there are Nodes without a public IPv6 address, which a REGIONAL_NETWORK load balancer sends to: %s (%d of %d); "+
			"give them one, or exclude them with the label node.kubernetes.io/exclude-from-external-load-balancers",
			names(backends.IPv4Only), n, len(backends.DropletIDs))
	}
	return ""
}

// needsPublicAddresses tells whether the load balancer hands packets to the
// droplets' public addresses; every other kind reaches them through the VPC.
func needsPublicAddresses(spec annotation.Spec) bool {
	return spec.Type == annotation.TypeRegionalNetwork && spec.Network != annotation.NetworkInternal
}
