package chaos

import (
	"fmt"
	"slices"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
	"digitalocean-cloud-controller-manager/internal/providerid"
)

const typeLoadBalancer = v1.ServiceTypeLoadBalancer

// verdict is what must be of a Service's load balancer.
type verdict struct {
	// free is true where the Service leaves open what there is, for a reason.
	free   bool
	reason string
	// differences are between the one that exists and what it must be.
	differences []string
}

// judge says how a Service's load balancer, or nil, is not as it must be, by the
// very functions that the manager goes by.
func (w *world) judge(svc *v1.Service, lb *godo.LoadBalancer) verdict {
	rules, actual := defaults, loadbalancer.Settings{}
	if lb != nil {
		actual = reconciler.SettingsOf(lb)
		rules = defaults.Existing(actual.Type, actual.Network)
	}
	spec, problems := annotation.Parse(svc, rules)
	problems = loadbalancer.Effective(spec, problems)
	if spec.DryRun {
		return verdict{free: true, reason: "dry run"}
	}
	certificate, known := w.certificate(spec)
	if !known {
		return verdict{free: true, reason: "certificate unknown"}
	}
	backends := loadbalancer.SelectBackends(spec, actual.NetworkStack, w.candidates())
	desired, more := loadbalancer.Desire(svc, spec, loadbalancer.Inputs{
		Backends: backends, CertificateID: certificate, Cluster: loadbalancer.Cluster{ID: clusterID, Region: region},
	})
	problems = append(problems, more...)
	if lb != nil && len(lb.DropletIDs) > 0 {
		problems = append(problems, backends.SelectorProblem(spec)...)
	}
	if len(problems) > 0 {
		return verdict{free: true, reason: problems[0].String()}
	}
	if lb == nil {
		return verdict{}
	}
	return verdict{differences: w.differences(svc, spec, desired.Settings, actual)}
}

// differences are those that the manager must not leave.
func (w *world) differences(svc *v1.Service, spec annotation.Spec, desired, actual loadbalancer.Settings) []string {
	if spec.Name == "" {
		desired.Name = actual.Name // that of the console is as good
	}
	if w.targetTag && slices.Equal(desired.DropletIDs, loadbalancer.Eligible(w.candidates())) && len(desired.DropletIDs) > 0 {
		desired.Tag, desired.DropletIDs = "k8s-backends:"+clusterID, nil
	}
	desired = loadbalancer.Ignore(desired, actual, spec.Ignored)
	changes := loadbalancer.Diff(desired, actual)
	if isOfAnotherKind(changes) {
		// Its settings are for another kind of load balancer; it serves as it is.
		kept := actual
		if actual.Tag == "" {
			spec.Type, spec.Network = actual.Type, actual.Network
			kept.DropletIDs = loadbalancer.SelectBackends(spec, actual.NetworkStack, w.candidates()).DropletIDs
		}
		changes = loadbalancer.Diff(kept, actual)
	}
	// What was to be left once is left, until the Service is edited.
	if w.seen[svc.UID].reported {
		changes = loadbalancer.Of(loadbalancer.ChangeDroplets, changes)
	}
	var texts []string
	for _, c := range changes {
		if c.Kind != loadbalancer.ChangeImmutable {
			texts = append(texts, c.String())
		}
	}
	return texts
}

// isOfAnotherKind tells whether the load balancer is of another type or network
// than its Service asks for, which only a new one can be.
func isOfAnotherKind(changes []loadbalancer.Change) bool {
	return slices.ContainsFunc(changes, func(c loadbalancer.Change) bool {
		return c.Kind == loadbalancer.ChangeImmutable && (c.Field == loadbalancer.FieldType || c.Field == loadbalancer.FieldNetwork)
	})
}

// certificate is the id of the one that a Service names. It is not known where
// that is none, or one that was replaced and whose id nobody follows.
func (w *world) certificate(spec annotation.Spec) (id string, known bool) {
	switch {
	case spec.Type != annotation.TypeRegional:
		return "", true
	case spec.CertificateID != "":
		for _, id := range w.certificates {
			if id == spec.CertificateID {
				return id, true
			}
		}
		return "", false
	case spec.CertificateName != "":
		id, known := w.certificates[spec.CertificateName]
		return id, known
	}
	return "", true
}

// candidates are the Nodes with their droplets as they truly are.
func (w *world) candidates() []loadbalancer.Candidate {
	var all []loadbalancer.Candidate
	for _, node := range w.nodes {
		c := loadbalancer.Candidate{Node: node.Name, Labels: node.Labels}
		id, err := providerid.Parse(node.Spec.ProviderID)
		droplet, lives := w.droplets[id]
		switch {
		case err != nil:
			c.Excluded = fmt.Sprintf("no provider ID: %v", err)
		case !lives:
			c.Excluded = "no droplet"
		}
		c.DropletID = id
		for _, a := range droplet.Networks.V4 {
			if a.Type == "public" {
				c.Public, c.PublicIPv4 = append(c.Public, a.IPAddress), true
			} else {
				c.Private = append(c.Private, a.IPAddress)
			}
		}
		for _, a := range droplet.Networks.V6 {
			if a.Type == "public" {
				c.Public, c.PublicIPv6 = append(c.Public, a.IPAddress), true
			}
		}
		all = append(all, c)
	}
	return all
}
