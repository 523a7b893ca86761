package firewall

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// claimed is a claim on TCP ports, of a Service that is made the later the
// higher its age.
func claimed(name string, age int, sources []peer, ports ...int) Claim {
	c := Claim{Service: types.NamespacedName{Name: name}, Created: time.Unix(int64(age), 0)}
	for _, p := range ports {
		c.Needs.openings = append(c.Needs.openings, opening{protocolTCP, p, fromSources, sources})
	}
	return c
}

func sources(texts ...string) []peer {
	var peers []peer
	for _, text := range texts {
		peers = append(peers, addressPeer(text))
	}
	return peers
}

func TestDesireUsesFewRules(t *testing.T) {
	tests := map[string]struct {
		claims []Claim
		want   []string
	}{
		"nothing":        {},
		"adjacent ports": {[]Claim{claimed("a", 1, everyone, 80, 82), claimed("b", 2, everyone, 81)}, []string{"tcp 80-82 from everywhere"}},
		"same sources":   {[]Claim{claimed("a", 1, sources("192.0.2.1"), 80), claimed("b", 2, sources("192.0.2.2"), 80)}, []string{"tcp 80 from 192.0.2.1, 192.0.2.2"}},
		"one in the middle has a source more": {
			[]Claim{claimed("a", 1, sources("192.0.2.1"), 80, 81, 82), claimed("b", 2, sources("192.0.2.2"), 81)},
			[]string{"tcp 80-82 from 192.0.2.1", "tcp 81 from 192.0.2.2"},
		},
		"open to everyone anyway": {
			[]Claim{claimed("a", 1, everyone, 443), claimed("b", 2, sources("192.0.2.0/24", "2001:db8::1"), 443, 8443)},
			[]string{"tcp 443 from everywhere", "tcp 8443 from 192.0.2.0/24, 2001:db8::1"},
		},
		"prefix within another": {
			[]Claim{claimed("a", 1, sources("10.0.0.0/8"), 80), claimed("b", 2, sources("10.1.0.0/16", "10.1.2.3", "11.0.0.0/8"), 80)},
			[]string{"tcp 80 from 10.0.0.0/8, 11.0.0.0/8"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := Desire(identity, test.claims, State{}, nil)
			if diff := cmp.Diff(test.want, describe(d.State)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDesireStaysWithinTheLimits(t *testing.T) {
	many := func(n int) []peer {
		var peers []peer
		for i := range n {
			peers = append(peers, addressPeer(fmt.Sprintf("10.%d.%d.0/25", i/256, i%256)))
		}
		return peers
	}
	var full []Claim
	for i := range 47 {
		full = append(full, claimed(fmt.Sprint("s", i), i, everyone, 30000+2*i))
	}
	tests := map[string]struct {
		claims  []Claim
		leftOut []string
		rules   int
		targets int
		near    bool
	}{
		"exactly full":                    {full, nil, 50, 100, true},
		"one too many":                    {slices.Concat(full, []Claim{claimed("late", 99, everyone, 31000)}), []string{"late"}, 50, 100, true},
		"the older one stays":             {slices.Concat(full, []Claim{claimed("early", -1, everyone, 31000)}), []string{"s46"}, 50, 100, true},
		"a joining one makes room":        {slices.Concat(full, []Claim{claimed("next", 98, everyone, 31000), claimed("joins", 99, everyone, 30001)}), nil, 50, 100, true},
		"sources":                         {[]Claim{claimed("a", 1, many(600), 80), claimed("b", 2, many(600), 443), claimed("c", 3, many(100), 8080)}, []string{"b"}, 5, 706, false},
		"more than a firewall of its own": {[]Claim{claimed("a", 1, many(995), 80)}, []string{"a"}, 3, 6, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := Desire(identity, test.claims, State{}, nil)
			var left []string
			for _, n := range d.LeftOut {
				left = append(left, n.Name)
			}
			if diff := cmp.Diff(test.leftOut, left); diff != "" {
				t.Error(diff)
			}
			if d.Rules != test.rules || d.Targets != test.targets || d.NearLimit() != test.near {
				t.Errorf("uses %s, near the limit %t; want %d and %d, %t", d.Usage(), d.NearLimit(), test.rules, test.targets, test.near)
			}
		})
	}
}

// What is asked for and read back agrees, however the API orders and spells it.
func TestRequestReadsBackAsDesired(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	pool := slices.Concat(everyone, sources("192.0.2.1", "192.0.2.0/24", "2001:db8::/32", "198.51.100.0/25"))
	for range 200 {
		var claims []Claim
		for i := range dice.IntN(8) {
			dice.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
			c := claimed(fmt.Sprint(i), i, slices.Clone(pool[:1+dice.IntN(len(pool))]), 80+dice.IntN(6), 80+dice.IntN(6), 1+dice.IntN(65535))
			claims = append(claims, c)
		}
		d := Desire(identity, claims, State{}, nil)
		r := d.request(identity.Tags, nil)
		fw := &godo.Firewall{Name: r.Name, Tags: []string{strings.ToUpper(r.Tags[0])}, OutboundRules: r.OutboundRules}
		for _, in := range r.InboundRules {
			slices.Reverse(in.Sources.Addresses)
			fw.InboundRules = append([]godo.InboundRule{in}, fw.InboundRules...)
		}
		for i, out := range fw.OutboundRules {
			if out.Protocol != protocolICMP && out.PortRange != "all" || out.Protocol == protocolICMP && out.PortRange != "" {
				t.Fatalf("outbound %s is sent with the ports %q", out.Protocol, out.PortRange)
			}
			fw.OutboundRules[i].PortRange = "0"
		}
		if changes := Diff(d.State, StateOf(fw)); len(changes) > 0 {
			t.Fatalf("differs: %s", Describe(changes))
		}
		if rules, targets := len(r.InboundRules)+len(r.OutboundRules), d.Targets; rules != d.Rules || targets > maxTargets {
			t.Fatalf("%d rules sent, %d counted", rules, d.Rules)
		}
	}
}

func TestRequestKeepsDropletsAttachedByHand(t *testing.T) {
	d := Desire(identity, nil, State{}, nil)
	if got := d.request(identity.Tags, &godo.Firewall{DropletIDs: []int{7, 8}}).DropletIDs; !slices.Equal(got, []int{7, 8}) {
		t.Errorf("droplets %v are sent, want those that were read", got)
	}
}
