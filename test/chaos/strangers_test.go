package chaos

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/simulator"
)

// strangers are in the account and none of ours: another cluster's load
// balancers, somebody's own, their firewall, droplets and tags.
const strangersScenario = `
teams:
- name: team-a
  tags: ["k8s:other", "k8s-svc:0f9a2f4e-4a57-4f25-9a34-0d2c6f6f6f01", "strangers"]
  droplets:
  - {name: stranger, count: 2, region: nyc3, tags: [strangers]}
  load_balancers:
  - name: a0f9a2f4e4a574f259a340d2c6f6f6f01
    region: nyc3
    droplets: [stranger-1]
    tags: ["k8s:other", "k8s-svc:0f9a2f4e-4a57-4f25-9a34-0d2c6f6f6f01"]
    forwarding_rules: [{entry_protocol: tcp, entry_port: 80, target_protocol: tcp, target_port: 30080}]
  - name: somebodys-own
    region: nyc3
    type: REGIONAL_NETWORK
    droplets: [stranger-1, stranger-2]
    forwarding_rules: [{entry_protocol: tcp, entry_port: 25, target_protocol: tcp, target_port: 25}]
  - name: by-tag
    region: nyc3
    tag: strangers
    forwarding_rules: [{entry_protocol: http, entry_port: 80, target_protocol: http, target_port: 8080}]
  firewalls:
  - name: strangers
    tags: [strangers]
    inbound_rules: [{protocol: tcp, ports: "22", sources: {addresses: [0.0.0.0/0]}}]
`

// strangerTags are the tags of strangers.
var strangerTags = []string{"k8s:other", "k8s-svc:0f9a2f4e-4a57-4f25-9a34-0d2c6f6f6f01", "strangers"}

// strangers is everything that isn't ours, as it was in the beginning.
type strangers struct {
	ids   map[string]bool
	state string
}

// settle puts the strangers into the account.
func settle(t *testing.T, sim *simulator.Simulator) strangers {
	t.Helper()
	if err := sim.Load(strings.NewReader(strangersScenario)); err != nil {
		t.Fatal(err)
	}
	s := strangers{ids: map[string]bool{}}
	for _, lb := range sim.LoadBalancers() {
		s.ids[lb.ID] = true
	}
	for _, fw := range sim.Firewalls() {
		s.ids[fw.ID] = true
	}
	for _, d := range sim.Droplets() {
		s.ids[fmt.Sprint(d.ID)] = true
	}
	s.state = s.stateIn(sim)
	return s
}

// stateIn is everything of the strangers' as text.
func (s strangers) stateIn(sim *simulator.Simulator) string {
	var kept []any
	for _, lb := range sim.LoadBalancers() {
		if s.ids[lb.ID] {
			kept = append(kept, lb)
		}
	}
	for _, fw := range sim.Firewalls() {
		if s.ids[fw.ID] {
			kept = append(kept, fw)
		}
	}
	for _, d := range sim.Droplets() {
		if s.ids[fmt.Sprint(d.ID)] {
			kept = append(kept, d)
		}
	}
	// The simulator's objects are plain data, which always encode.
	text, _ := json.MarshalIndent(kept, "", " ")
	return string(text)
}

// harmed lists what happened to strangers, and which requests meant them.
func (s strangers) harmed(sim *simulator.Simulator, requests []simulator.Request) []string {
	var harm []string
	if diff := cmp.Diff(s.state, s.stateIn(sim)); diff != "" {
		harm = append(harm, "what isn't ours changed:\n"+diff)
	}
	for _, r := range requests {
		if r.Method != "GET" && s.isMeant(r) {
			harm = append(harm, fmt.Sprintf("what isn't ours was written to: %s %s %s, answered %d", r.Method, r.Path, r.Body, r.Status))
		}
	}
	return harm
}

func (s strangers) isMeant(r simulator.Request) bool {
	path := strings.Split(r.Path, "/")
	for _, part := range path {
		if s.ids[part] {
			return true
		}
	}
	for _, tag := range strangerTags {
		if strings.Contains(r.Path, "/tags/"+tag) || strings.Contains(string(r.Body), `"`+tag+`"`) {
			return true
		}
	}
	for id := range s.ids {
		if strings.Contains(string(r.Body), `"`+id+`"`) || strings.Contains(string(r.Body), `[`+id+`]`) {
			return true
		}
	}
	return false
}
