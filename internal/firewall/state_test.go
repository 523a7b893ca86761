package firewall

import (
	"strings"
	"testing"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
)

func from4(ports string, addresses ...string) godo.InboundRule {
	return godo.InboundRule{Protocol: "tcp", PortRange: ports, Sources: &godo.Sources{Addresses: addresses}}
}

func TestEqualFirewalls(t *testing.T) {
	one := func(rules ...godo.InboundRule) State { return StateOf(&godo.Firewall{InboundRules: rules}) }
	all := []string{"0.0.0.0/0", "::/0"}
	tests := map[string]struct {
		a, b  State
		equal bool
	}{
		"order of rules":                 {one(from4("80", all...), from4("443", all...)), one(from4("443", all...), from4("80", all...)), true},
		"order of addresses":             {one(from4("80", all...)), one(from4("80", all[1], all[0])), true},
		"all, 0 and 1-65535":             {one(from4("all", "192.0.2.1"), from4("0", "192.0.2.2"), from4("1-65535", "192.0.2.3")), one(from4("0", "192.0.2.1", "192.0.2.2", "192.0.2.3")), true},
		"no ports":                       {one(from4("", "192.0.2.1")), one(from4("all", "192.0.2.1")), true},
		"split ranges":                   {one(from4("80-82", all...)), one(from4("80", all...), from4("81-82", all...)), true},
		"split sources":                  {one(from4("80", all...)), one(from4("80", all[0]), from4("80", all[1])), true},
		"one address":                    {one(from4("80", "192.0.2.1/32", "2001:db8::1/128")), one(from4("80", "2001:0db8::0:1", "192.0.2.1")), true},
		"host bits":                      {one(from4("80", "192.0.2.7/24")), one(from4("80", "192.0.2.0/24")), true},
		"spelling of protocols":          {one(godo.InboundRule{Protocol: "TCP", PortRange: "80", Sources: &godo.Sources{Addresses: all}, Action: "allow"}), one(from4("80", all...)), true},
		"no sources at all":              {one(godo.InboundRule{Protocol: "tcp", PortRange: "80"}), one(), true},
		"another port":                   {one(from4("80", all...)), one(from4("81", all...)), false},
		"a wider range":                  {one(from4("80-81", all...)), one(from4("80-82", all...)), false},
		"one family less":                {one(from4("80", all...)), one(from4("80", all[0])), false},
		"denied":                         {one(godo.InboundRule{Protocol: "tcp", PortRange: "80", Sources: &godo.Sources{Addresses: all}, Action: "deny"}), one(from4("80", all...)), false},
		"another protocol":               {one(godo.InboundRule{Protocol: "udp", PortRange: "80", Sources: &godo.Sources{Addresses: all}}), one(from4("80", all...)), false},
		"source that isn't readable":     {one(from4("80", "somewhere")), one(), false},
		"inbound and outbound":           {one(from4("80", all...)), StateOf(&godo.Firewall{OutboundRules: []godo.OutboundRule{{Protocol: "tcp", PortRange: "80", Destinations: &godo.Destinations{Addresses: all}}}}), false},
		"tags in another case and order": {StateOf(&godo.Firewall{Tags: []string{"B", "a"}}), StateOf(&godo.Firewall{Tags: []string{"a", "b", "b"}}), true},
		"another tag":                    {StateOf(&godo.Firewall{Tags: []string{"a"}}), StateOf(&godo.Firewall{Tags: []string{"b"}}), false},
		"another name":                   {StateOf(&godo.Firewall{Name: "a"}), StateOf(&godo.Firewall{Name: "b"}), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if Equal(test.a, test.b) != test.equal || Equal(test.b, test.a) != test.equal {
				t.Errorf("equal is %t, want %t; differences: %s", !test.equal, test.equal, Describe(Diff(test.a, test.b)))
			}
		})
	}
}

func TestDiffReadsWell(t *testing.T) {
	actual := StateOf(&godo.Firewall{
		Name: "fw", Tags: []string{"old"},
		InboundRules: []godo.InboundRule{
			from4("80-90", "0.0.0.0/0", "::/0"), from4("22", "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6"),
			{Protocol: "icmp", PortRange: "0", Sources: &godo.Sources{Tags: []string{"Bastion"}, DropletIDs: []int{7}, KubernetesIDs: []string{"k"}}},
		},
		OutboundRules: []godo.OutboundRule{{Protocol: "udp", PortRange: "0", Destinations: &godo.Destinations{Addresses: []string{"0.0.0.0/0"}}}},
	})
	desired := StateOf(&godo.Firewall{
		Name: "fw", Tags: []string{"new"},
		InboundRules: []godo.InboundRule{from4("80-84", "0.0.0.0/0", "::/0"), from4("86-90", "0.0.0.0/0", "::/0"), {Protocol: "tcp", PortRange: "10256", Sources: &godo.Sources{LoadBalancerUIDs: []string{"lb"}}}},
	})
	want := []string{
		"+target tag new", "-target tag old", "+inbound tcp 10256 from load balancer lb",
		"-inbound icmp from Kubernetes cluster k, droplet 7, tag bastion",
		"-inbound tcp 22 from 192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, 2 more", "-inbound tcp 85 from everywhere",
		"-outbound udp all ports to 0.0.0.0/0",
	}
	var got []string
	for _, c := range Diff(desired, actual) {
		got = append(got, c.Text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDescriptionFitsAnEvent(t *testing.T) {
	var fw godo.Firewall
	for _, r := range strings.Fields(strings.Repeat("x ", 47)) {
		fw.InboundRules = append(fw.InboundRules, from4(strings.Repeat("1", len(fw.InboundRules)%4+1), "2001:db8:0:0:0:0:0:"+r, "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"))
	}
	for i := range fw.InboundRules {
		fw.InboundRules[i].PortRange = []string{"1", "3", "5", "7", "9", "11", "13", "15", "17"}[i%9]
	}
	text := Describe(Diff(State{}, StateOf(&fw)))
	if len(text) > 700 || !strings.Contains(text, "more changes") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestPortsMinus(t *testing.T) {
	tests := map[string]struct{ a, b, want Ports }{
		"nothing from nothing": {nil, nil, nil},
		"nothing":              {Ports{{1, 5}}, nil, Ports{{1, 5}}},
		"all":                  {Ports{{1, 5}}, Ports{{1, 65535}}, nil},
		"a hole":               {Ports{{1, 10}}, Ports{{3, 4}, {7, 7}}, Ports{{1, 2}, {5, 6}, {8, 10}}},
		"edges":                {Ports{{1, 10}, {20, 30}}, Ports{{5, 20}, {30, 40}}, Ports{{1, 4}, {21, 29}}},
		"last port":            {Ports{{1, 65535}}, Ports{{65535, 65535}}, Ports{{1, 65534}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.a.minus(test.b)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzRuleOfTheAPI(f *testing.F) {
	f.Add("tcp", "80-90", "192.0.2.0/24")
	f.Add("icmp", "", "::1")
	f.Add("", "9-8", "%")
	f.Fuzz(func(t *testing.T, protocol, ports, address string) {
		s := StateOf(&godo.Firewall{InboundRules: []godo.InboundRule{{Protocol: protocol, PortRange: ports, Sources: &godo.Sources{Addresses: []string{address}}}}})
		if !Equal(s, s) {
			t.Error("a firewall differs from itself")
		}
		if Equal(s, State{}) {
			t.Error("a rule is no difference")
		}
		_ = Describe(Diff(s, State{}))
	})
}
