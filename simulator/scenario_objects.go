package simulator

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
)

// loader makes a scenario's objects through the API's own operations.
type loader struct{ call }

// post runs an operation with a body.
func (l *loader) post(handle handler, body any) error {
	l.body = encode(body)
	_, err := handle(&l.call)
	var refused *apiError
	if errors.As(err, &refused) {
		return errors.New(refused.message)
	}
	return err
}

// vpcID finds a VPC by name, and takes what is no name for an id.
func (l *loader) vpcID(name string) string {
	for v := range l.team.vpcs.all() {
		if v.Name == name {
			return v.ID
		}
	}
	return name
}

func (l *loader) droplets(from scenarioDroplet) error {
	from.VPC = l.vpcID(from.VPC)
	count := max(from.Count, 1)
	if v, ok := l.team.vpcs.get(from.VPC); ok && !l.s.addresses.has(netip.MustParsePrefix(v.IPRange), count) {
		return fmt.Errorf("the VPC has no %d free addresses", count)
	}
	if err := validateTags(from.Tags); err != nil {
		return err
	}
	for i := range count {
		spec := from.DropletSpec
		if from.Count > 0 {
			spec.Name = fmt.Sprintf("%s-%d", cmp.Or(from.Name, "droplet"), i+1)
		}
		l.s.addDroplet(l.team, spec, l.now)
	}
	return nil
}

// dropletIDs finds droplets by name.
func (l *loader) dropletIDs(names []string) ([]int, error) {
	ids := []int{}
	for _, name := range names {
		before := len(ids)
		for d := range l.team.droplets.all() {
			if d.Name == name {
				ids = append(ids, d.ID)
			}
		}
		if len(ids) == before {
			return nil, fmt.Errorf("no droplet is named %q", name)
		}
	}
	return ids, nil
}

func (l *loader) certificateID(name string) (string, error) {
	for cert := range l.team.certificates.all() {
		if cert.Name == name {
			return cert.ID, nil
		}
	}
	return "", fmt.Errorf("no certificate is named %q", name)
}

func (l *loader) loadBalancer(from scenarioLoadBalancer) error {
	req := from.loadBalancerRequest
	req.VPCUUID = l.vpcID(cmp.Or(from.VPC, req.VPCUUID))
	ids, err := l.dropletIDs(from.Droplets)
	if err != nil {
		return err
	}
	req.DropletIDs = append(req.DropletIDs, ids...)
	for _, r := range from.ForwardingRules {
		if r.Certificate != "" {
			if r.CertificateID, err = l.certificateID(r.Certificate); err != nil {
				return err
			}
		}
		req.ForwardingRules = append(req.ForwardingRules, r.ForwardingRule)
	}
	if err := l.post(createLoadBalancer, req); err != nil {
		return err
	}
	if req.ValidateOnly {
		return errors.New("validate_only makes nothing")
	}
	// What a scenario has is there already.
	made := l.team.loadBalancers.items[l.team.loadBalancers.len()-1]
	made.activeAt, made.reads = l.now, 0
	return nil
}

func (l *loader) firewall(from scenarioFirewall) error {
	req := from.firewallRequest
	ids, err := l.dropletIDs(from.Droplets)
	if err != nil {
		return err
	}
	req.DropletIDs = append(req.DropletIDs, ids...)
	if err := l.post(createFirewall, req); err != nil {
		return err
	}
	made := l.team.firewalls.items[l.team.firewalls.len()-1]
	made.appliedAt, made.reads = l.now, 0
	return nil
}
