package simulator

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"sigs.k8s.io/yaml"
)

// scenario is what a scenario file holds.
type scenario struct {
	Settings SettingsPatch  `json:"settings"`
	Faults   []Fault        `json:"faults"`
	Teams    []scenarioTeam `json:"teams"`
}

// scenarioTeam is what a team has. Objects name each other by their names.
type scenarioTeam struct {
	Name          string                 `json:"name"`
	Tags          []string               `json:"tags"`
	VPCs          []scenarioVPC          `json:"vpcs"`
	Certificates  []CertificateSpec      `json:"certificates"`
	Droplets      []scenarioDroplet      `json:"droplets"`
	LoadBalancers []scenarioLoadBalancer `json:"load_balancers"`
	Firewalls     []scenarioFirewall     `json:"firewalls"`
	// BYOIP maps addresses to their region.
	BYOIP map[string]string `json:"byoip"`
}

type scenarioVPC struct {
	Name        string `json:"name"`
	Region      string `json:"region"`
	Description string `json:"description,omitempty"`
	IPRange     string `json:"ip_range,omitempty"`
}

type scenarioDroplet struct {
	DropletSpec
	// Count makes several, whose names end in -1, -2, and so on.
	Count int `json:"count"`
}

type scenarioLoadBalancer struct {
	loadBalancerRequest
	ForwardingRules []scenarioRule `json:"forwarding_rules"`
	Droplets        []string       `json:"droplets"`
	VPC             string         `json:"vpc"`
}

type scenarioRule struct {
	ForwardingRule
	// Certificate is a certificate's name.
	Certificate string `json:"certificate"`
}

type scenarioFirewall struct {
	firewallRequest
	Droplets []string `json:"droplets"`
}

// Load adds what a scenario file in YAML describes: settings, faults, and for
// each team tags, vpcs, certificates, droplets, load_balancers and firewalls.
//
//	settings: {busy_window: 10s}
//	teams:
//	- name: blue
//	  vpcs: [{name: own, region: fra1, ip_range: 10.20.0.0/20}]
//	  certificates: [{name: web}]
//	  droplets:
//	  - {name: node, count: 3, region: fra1, vpc: own, tags: [workers]}
//	  load_balancers:
//	  - name: web
//	    region: fra1
//	    vpc: own
//	    droplets: [node-1, node-2]
//	    forwarding_rules:
//	    - {entry_protocol: https, entry_port: 443, target_protocol: http, target_port: 80, certificate: web}
//	  firewalls:
//	  - name: nodes
//	    tags: [workers]
//	    inbound_rules: [{protocol: tcp, ports: "22", sources: {addresses: [0.0.0.0/0]}}]
//
// Droplets have the members of DropletSpec, load balancers and firewalls those
// of the API's requests and obey its rules; all are ready at once. A team
// without a name is that of the first token. Unknown members are refused, and
// on an error nothing is changed.
func (s *Simulator) Load(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("read scenario: %w", err)
	}
	var sc scenario
	if err := yaml.UnmarshalStrict(data, &sc); err != nil {
		return fmt.Errorf("read scenario: %w", err)
	}
	if err := sc.validate(); err != nil {
		return fmt.Errorf("read scenario: %w", err)
	}
	now := s.lock()
	defer s.mu.Unlock()
	err = s.undo(now, func() error { return s.load(&sc, now) })
	if err != nil {
		return fmt.Errorf("load scenario: %w", err)
	}
	return nil
}

func (sc *scenario) validate() error {
	for i := range sc.Faults {
		if err := sc.Faults[i].validate(); err != nil {
			return err
		}
	}
	for _, t := range sc.Teams {
		for _, d := range t.Droplets {
			if d.Count < 0 || d.Count > maxScenarioDroplets {
				return fmt.Errorf("droplet %s: count must be between 0 and %d", d.Name, maxScenarioDroplets)
			}
		}
	}
	return sc.Settings.validate()
}

// maxScenarioDroplets bounds the droplets of one entry, well above what a team
// may have.
const maxScenarioDroplets = 50_000

func (s *Simulator) load(sc *scenario, now time.Time) error {
	for i := range sc.Teams {
		if err := s.loadTeam(&sc.Teams[i], now); err != nil {
			return fmt.Errorf("team %s: %w", orElse(sc.Teams[i].Name, s.homeTeam), err)
		}
	}
	// Last, for they are for those who use the world, not for its making.
	s.settings.patch(sc.Settings)
	for _, f := range sc.Faults {
		s.faults.add(f)
	}
	s.lagChanged()
	return nil
}

func (s *Simulator) loadTeam(from *scenarioTeam, now time.Time) error {
	l := &loader{call{s: s, team: s.team(from.Name), method: http.MethodPost, now: now}}
	for _, name := range from.Tags {
		if err := validateTagName(name); err != nil {
			return err
		}
		l.team.ensureTag(name)
	}
	for address, region := range from.BYOIP {
		s.addresses.reserve(address)
		l.team.byoip[address] = region
	}
	for _, v := range from.VPCs {
		if err := l.post(createVPC, v); err != nil {
			return fmt.Errorf("VPC %s: %w", v.Name, err)
		}
	}
	for _, spec := range from.Certificates {
		s.addCertificate(l.team, spec, now)
	}
	for _, d := range from.Droplets {
		if err := l.droplets(d); err != nil {
			return fmt.Errorf("droplet %s: %w", d.Name, err)
		}
	}
	for _, lb := range from.LoadBalancers {
		if err := l.loadBalancer(lb); err != nil {
			return fmt.Errorf("load balancer %s: %w", lb.Name, err)
		}
	}
	for _, f := range from.Firewalls {
		if err := l.firewall(f); err != nil {
			return fmt.Errorf("firewall %s: %w", f.Name, err)
		}
	}
	return nil
}
