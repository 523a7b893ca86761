package firewall

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// granted is what a Service alone has opened in a firewall that admits current.
func granted(n Needs, current access, gone ...string) []string {
	missing := map[string]bool{}
	for _, id := range gone {
		missing[id] = true
	}
	return describe(Desire(identity, []Claim{{Needs: n}}, State{access: current}, missing).State)
}

func admits(rules ...flow) access {
	a := access{}
	for _, f := range rules {
		a.add(f, Range{443, 443})
	}
	return a
}

func withClass(svc *v1.Service) { svc.Spec.LoadBalancerClass = new("example.com/other") }

func local(svc *v1.Service) {
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32100
}

func TestNeed(t *testing.T) {
	tcp443 := []string{"tcp/443/31443"}
	byID := annotated(annotation.LoadBalancerID, balancerID)
	toBalancers := Settings{Defaults: settings.Defaults, BalancerNodePorts: true}
	tests := map[string]struct {
		svc      *v1.Service
		settings *Settings
		current  access
		gone     []string
		want     []string
		problem  string
	}{
		"node ports, both protocols": {svc: nodePort("s", "tcp/80/30080", "udp/80/30080"), want: []string{"tcp 30080 from everywhere", "udp 30080 from everywhere"}},
		"adjacent node ports":        {svc: nodePort("s", "tcp/80/30080", "tcp/81/30081"), want: []string{"tcp 30080-30081 from everywhere"}},
		"port without a node port":   {svc: nodePort("s", "tcp/80/0")},
		"SCTP is skipped":            {svc: nodePort("s", "sctp/80/30080", "tcp/81/30081"), want: []string{"tcp 30081 from everywhere"}, problem: "spec.ports[0].protocol"},
		"not managed":                {svc: service("s", v1.ServiceTypeNodePort, []string{"tcp/80/30080"}, annotated(annotation.FirewallManagedKey, "false"))},
		"not managed load balancer":  {svc: balancer("s", tcp443, annotated(annotation.FirewallManagedKey, "False"))},
		"managed, said so":           {svc: service("s", v1.ServiceTypeNodePort, []string{"tcp/80/30080"}, annotated(annotation.FirewallManagedKey, "true")), want: []string{"tcp 30080 from everywhere"}},
		"managed, empty value":       {svc: service("s", v1.ServiceTypeNodePort, []string{"tcp/80/30080"}, annotated(annotation.FirewallManagedKey, "")), want: []string{"tcp 30080 from everywhere"}},
		"managed, for want of a boolean": {
			svc:  service("s", v1.ServiceTypeNodePort, []string{"tcp/80/30080"}, annotated(annotation.FirewallManagedKey, "no")),
			want: []string{"tcp 30080 from everywhere"}, problem: annotation.FirewallManagedKey,
		},
		"cluster IP":                          {svc: service("s", v1.ServiceTypeClusterIP, []string{"tcp/80/0"})},
		"load balancer of another controller": {svc: balancer("s", tcp443, withClass)},
		"network load balancer":               {svc: balancer("s", []string{"tcp/443/31443", "udp/443/31443"}, byID), want: []string{"tcp 443 from everywhere", "tcp 10256 from load balancer " + balancerID, "udp 443 from everywhere"}},
		"id not known yet":                    {svc: balancer("s", tcp443), want: []string{"tcp 443 from everywhere", "tcp 10256 from everywhere"}},
		"load balancer is gone":               {svc: balancer("s", tcp443, byID), gone: []string{balancerID}, want: []string{"tcp 443 from everywhere"}},
		"local traffic":                       {svc: balancer("s", tcp443, byID, local), want: []string{"tcp 443 from everywhere", "tcp 32100 from load balancer " + balancerID}},
		"health check of its own":             {svc: balancer("s", tcp443, byID, annotated(annotation.OverrideHealthCheck, "")), want: []string{"tcp 443 from everywhere", "tcp 31443 from load balancer " + balancerID}},
		"without node ports":                  {svc: balancer("s", []string{"tcp/443/0"}, byID), want: []string{"tcp 443 from everywhere", "tcp 10256 from load balancer " + balancerID}},
		"disowned":                            {svc: balancer("s", tcp443, byID, annotated(annotation.Disown, "true")), want: []string{"tcp 443 from everywhere", "tcp 10256 from load balancer " + balancerID}},
		"allow rules": {
			svc:  balancer("s", tcp443, byID, annotated(annotation.AllowRules, "ip:203.0.113.7, cidr:198.51.100.9/24,cidr:2001:db8::/32")),
			want: []string{"tcp 443 from 198.51.100.0/24, 2001:db8::/32, 203.0.113.7", "tcp 10256 from load balancer " + balancerID},
		},
		"source ranges win over allow rules": {
			svc:  balancer("s", tcp443, byID, annotated(annotation.AllowRules, "ip:203.0.113.7"), func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} }),
			want: []string{"tcp 443 from 192.0.2.0/24", "tcp 10256 from load balancer " + balancerID},
		},
		"internal":                              {svc: balancer("s", tcp443, byID, annotated(annotation.Network, "INTERNAL"))},
		"REGIONAL":                              {svc: balancer("s", tcp443, byID, annotated(annotation.Type, "REGIONAL"))},
		"broken, and no matter of the firewall": {svc: balancer("s", tcp443, byID, annotated(annotation.Type, "REGIONAL", annotation.SizeUnit, "many"))},
		"broken internal, no matter of it either": {svc: balancer("s", tcp443, byID, annotated(annotation.Network, "INTERNAL", annotation.SizeUnit, "many"))},
		"of a type that doesn't exist":            {svc: balancer("s", tcp443, annotated(annotation.Type, "GLOBAL")), problem: annotation.Type},
		"REGIONAL by default":                     {svc: balancer("s", tcp443, byID), settings: &Settings{Defaults: annotation.Defaults{Type: annotation.TypeRegional}}},
		"REGIONAL, node ports to load balancers": {
			svc: balancer("s", []string{"tcp/443/31443", "udp/53/31053"}, byID, annotated(annotation.Type, "REGIONAL", annotation.Protocol, "http")), settings: &toBalancers,
			want: []string{"tcp 10256 from load balancer " + balancerID, "tcp 31443 from load balancer " + balancerID, "udp 31053 from load balancer " + balancerID},
		},
		"REGIONAL without an id, node ports to load balancers": {svc: balancer("s", tcp443, annotated(annotation.Type, "REGIONAL")), settings: &toBalancers},
		"type annotation of another type than the load balancer has": {
			svc:      balancer("s", tcp443, byID, annotated(annotation.Type, "REGIONAL")),
			settings: &Settings{Defaults: settings.Defaults, Shape: func(string) (Shape, bool) { return Shape{"REGIONAL_NETWORK", "EXTERNAL"}, true }},
			want:     []string{"tcp 443 from everywhere", "tcp 10256 from load balancer " + balancerID},
		},
		"port of the kubelet":         {svc: balancer("s", []string{"tcp/10250/31250", "tcp/443/31443"}, byID), want: []string{"tcp 443 from everywhere", "tcp 10256 from load balancer " + balancerID}, problem: "10250"},
		"port of etcd as a node port": {svc: nodePort("s", "tcp/80/2379"), problem: "2379"},
		"port of the kubelet for some": {
			svc:  balancer("s", []string{"tcp/10250/31250"}, byID, annotated(annotation.AllowRules, "ip:203.0.113.7")),
			want: []string{"tcp 10250 from 203.0.113.7", "tcp 10256 from load balancer " + balancerID},
		},
		"broken, nothing known": {svc: balancer("s", tcp443, byID, annotated(annotation.AllowRules, "everyone")), problem: annotation.AllowRules},
		"broken, as it is now": {
			svc: balancer("s", tcp443, byID, annotated(annotation.AllowRules, "everyone")),
			current: admits(flow{protocol: "tcp", peer: peer{kindAddress, "203.0.113.7"}}, flow{protocol: "tcp", peer: peer{kindTag, "x"}},
				flow{protocol: "udp", peer: everyIPv4}, flow{protocol: "tcp", outbound: true, peer: everyIPv6}),
			want: []string{"tcp 443 from 203.0.113.7"}, problem: annotation.AllowRules,
		},
		"broken in what the firewall doesn't read": {svc: balancer("s", tcp443, annotated(annotation.StickySessionsType, "sometimes")), problem: annotation.StickySessionsType},
		"certificate that needn't exist here":      {svc: balancer("s", tcp443, byID, annotated(annotation.Type, "REGIONAL", annotation.TLSPorts, "443", annotation.CertificateName, "shop"))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := settings
			if test.settings != nil {
				s = *test.settings
			}
			needs, _ := Need(test.svc, s, nil)
			if diff := cmp.Diff(test.want, granted(needs, test.current, test.gone...)); diff != "" {
				t.Error(diff)
			}
			var problems []string
			for _, p := range needs.Problems {
				problems = append(problems, p.String())
			}
			if all := strings.Join(problems, "; "); (test.problem == "") != (all == "") || !strings.Contains(all, test.problem) {
				t.Errorf("problems %q, want one of %q", all, test.problem)
			}
		})
	}
}

func TestNeedKeepsWhatWasLastUnderstood(t *testing.T) {
	good := balancer("s", []string{"tcp/443/31443"}, annotated(annotation.LoadBalancerID, balancerID))
	want := []string{"tcp 443 from everywhere", "tcp 10256 from load balancer " + balancerID}
	tests := map[string]edit{
		"annotation":          annotated(annotation.NetworkStack, "IPV5"),
		"reserved port":       func(svc *v1.Service) { svc.Spec.Ports[0].Port = 50053 },
		"SCTP":                func(svc *v1.Service) { svc.Spec.Ports[0].Protocol = v1.ProtocolSCTP },
		"source ranges":       func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"x"} },
		"type of another one": annotated(annotation.Type, annotation.TypeRegional),
		"id that is no id":    annotated(annotation.LoadBalancerID, "edge"),
	}
	for name, broken := range tests {
		t.Run(name, func(t *testing.T) {
			_, last := Need(good, settings, nil)
			svc := good.DeepCopy()
			broken(svc)
			for range 2 {
				var needs Needs
				needs, last = Need(svc, settings, last)
				if diff := cmp.Diff(want, granted(needs, nil)); diff != "" {
					t.Error(diff)
				}
			}
			mended := good.DeepCopy()
			mended.Spec.Ports[0].Port = 8443
			needs, _ := Need(mended, settings, last)
			if got := granted(needs, nil); got[0] != "tcp 8443 from everywhere" {
				t.Errorf("after it is mended: %v", got)
			}
		})
	}
}

func TestNeedOfABrokenServiceLearnsItsLoadBalancer(t *testing.T) {
	svc := balancer("s", []string{"tcp/443/31443"})
	_, last := Need(svc, settings, nil)
	svc.Annotations[annotation.LoadBalancerID] = balancerID
	svc.Annotations[annotation.NetworkStack] = "IPV5"
	needs, _ := Need(svc, settings, last)
	if diff := cmp.Diff([]string{"tcp 443 from everywhere", "tcp 10256 from load balancer " + balancerID}, granted(needs, nil)); diff != "" {
		t.Error(diff)
	}
}
