package reconciler

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestTheModeOfAddressesIsTheServices(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		want := func(mode v1.LoadBalancerIPMode) {
			s.t.Helper()
			for _, ingress := range s.web().Status.LoadBalancer.Ingress {
				if ingress.IPMode == nil || *ingress.IPMode != mode {
					s.t.Errorf("mode %v, want %s", ingress.IPMode, mode)
				}
			}
		}
		s.ready(annotation.Type, "REGIONAL", annotation.Protocol, "http", annotation.IPMode, "VIP")
		want("VIP")
		s.edit(annotation.IPMode, "Proxy")
		want("Proxy")
		s.restart()
		s.edit(annotation.IPMode, "VIP")
		want("VIP")
		s.edit(annotation.IPMode, "")
		want("Proxy")
		s.wantWrites()
	})
}

func TestProxyIsRefusedOnANetworkLoadBalancer(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.ready()
		s.edit(annotation.IPMode, "Proxy")
		s.wantNews("must be VIP or absent", events.LoadBalancerConfigError)
	})
}

func TestTheClustersNodesMayReachARestrictedLoadBalancer(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		want := func(sources ...string) {
			s.t.Helper()
			got := slices.Sorted(slices.Values(s.mine().Firewall.Allow))
			if slices.Sort(sources); !slices.Equal(got, sources) {
				s.t.Errorf("allowed %v, want %v", got, sources)
			}
		}
		a := s.addNode(simulator.DropletSpec{Name: "a", IPv6: true})
		s.removeNode("w")
		before := s.ready(annotation.AllowRules, "cidr:198.51.100.0/24", annotation.AllowClusterNodes, "true")
		want("cidr:198.51.100.0/24", publicSource(a, 4), publicSource(a, 6))
		b := s.addNode(simulator.DropletSpec{Name: "b", IPv6: true})
		s.later(time.Second)
		s.sync()
		want("cidr:198.51.100.0/24", publicSource(a, 4), publicSource(a, 6), publicSource(b, 4), publicSource(b, 6))
		s.wantWrites("PUT /v2/load_balancers/" + before.ID)
		s.wantNews("allowed sources +"+publicSource(b, 6)+" +"+publicSource(b, 4), events.LoadBalancerUpdated)
		s.edit(annotation.AllowClusterNodes, "")
		want("cidr:198.51.100.0/24")
		s.edit(annotation.AllowRules, "")
		want()
	})
}

// publicSource is a droplet's public address as a source of traffic.
func publicSource(d simulator.Droplet, family int) string {
	for _, n := range d.Networks.V4 {
		if family == 4 && n.Type == "public" {
			return "ip:" + n.IPAddress
		}
	}
	for _, n := range d.Networks.V6 {
		if family == 6 && n.Type == "public" {
			return "ip:" + n.IPAddress
		}
	}
	return "none"
}
