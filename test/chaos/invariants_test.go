package chaos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/firewall"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// invariants hold in the end whatever happened. Each lists what is against it.
var invariants = []struct {
	name  string
	check func(*world) []string
}{
	{"every Service that should has one load balancer that matches it", servicesAreServed},
	{"no other load balancer that we made exists", noneIsLeft},
	{"finalizers are gone with their Services", noneLingers},
	{"the firewall is exact", firewallIsExact},
	{"tags are exact", tagsAreExact},
	{"Nodes of droplets that are gone are gone, and no others", nodesAreTrue},
}

// violations lists what is against the invariants.
func (w *world) violations() []string {
	var all []string
	for _, i := range invariants {
		for _, v := range i.check(w) {
			all = append(all, i.name+": "+v)
		}
	}
	return all
}

// isBalanced tells whether the Service is one that the manager works for.
func isBalanced(svc *v1.Service) bool {
	spec, _ := parse(svc)
	return svc.Spec.Type == typeLoadBalancer && !spec.Disowned
}

func servicesAreServed(w *world) []string {
	var bad []string
	for _, svc := range w.services {
		if svc.DeletionTimestamp != nil || !isBalanced(svc) {
			continue
		}
		if what := w.served(svc); what != "" {
			bad = append(bad, fmt.Sprintf("%s (%s): %s", svc.Name, svc.UID, what))
		}
	}
	return bad
}

// served says how a Service isn't served, or "".
func (w *world) served(svc *v1.Service) string {
	own := w.of(svc.UID)
	var lb *godo.LoadBalancer
	for _, one := range own {
		if lb == nil || one.ID == svc.Annotations[annotation.LoadBalancerID] {
			lb = one
		}
	}
	v := w.judge(svc, lb)
	switch {
	case len(own) > 1 && !w.seen[svc.UID].released:
		return fmt.Sprintf("it has %d load balancers: %s", len(own), names(own))
	case v.free:
		return ""
	case lb == nil:
		return "it has no load balancer"
	case lb.Status != "active":
		return fmt.Sprintf("load balancer %s is %s", lb.ID, lb.Status)
	case svc.Annotations[annotation.LoadBalancerID] != lb.ID:
		return fmt.Sprintf("it names load balancer %q, and has %s", svc.Annotations[annotation.LoadBalancerID], lb.ID)
	case len(v.differences) > 0:
		return fmt.Sprintf("load balancer %s differs: %s", lb.ID, strings.Join(v.differences, "; "))
	case !shows(svc, lb):
		return fmt.Sprintf("its status is %v, and load balancer %s has %s", svc.Status.LoadBalancer.Ingress, lb.ID, lb.IP)
	}
	return ""
}

// shows tells whether the status has the load balancer's address, or the host
// name that hides it.
func shows(svc *v1.Service, lb *godo.LoadBalancer) bool {
	return slices.ContainsFunc(svc.Status.LoadBalancer.Ingress, func(i v1.LoadBalancerIngress) bool {
		return i.IP == lb.IP || i.IP == "" && i.Hostname == svc.Annotations[annotation.Hostname]
	})
}

func names(all []*godo.LoadBalancer) string {
	var texts []string
	for _, lb := range all {
		texts = append(texts, fmt.Sprintf("%s (%s, %s, %v)", lb.ID, lb.Name, lb.Status, lb.Tags))
	}
	return strings.Join(texts, ", ")
}

func noneIsLeft(w *world) []string {
	byUID := map[types.UID]*v1.Service{}
	for _, svc := range w.services {
		byUID[svc.UID] = svc
	}
	var bad []string
	for _, lb := range w.balancers {
		uid, known := w.born[lb.ID]
		svc := byUID[uid]
		switch {
		case w.strangers[lb.ID]:
		case !known:
			bad = append(bad, "nobody knows for whom this was made: "+names([]*godo.LoadBalancer{lb}))
		case w.seen[uid].released:
		case svc == nil:
			bad = append(bad, fmt.Sprintf("its Service %s (%s) is gone: %s", w.seen[uid].name, uid, names([]*godo.LoadBalancer{lb})))
		case svc.Spec.Type != typeLoadBalancer:
			bad = append(bad, fmt.Sprintf("its Service %s is %s now: %s", svc.Name, svc.Spec.Type, names([]*godo.LoadBalancer{lb})))
		}
	}
	return bad
}

func noneLingers(w *world) []string {
	var bad []string
	for _, svc := range w.services {
		switch {
		case svc.DeletionTimestamp != nil:
			bad = append(bad, fmt.Sprintf("%s is deleted, and kept by %v", svc.Name, svc.Finalizers))
		case svc.Spec.Type != typeLoadBalancer && len(svc.Finalizers) > 0:
			bad = append(bad, fmt.Sprintf("%s is %s, and has %v", svc.Name, svc.Spec.Type, svc.Finalizers))
		case svc.Spec.Type != typeLoadBalancer && len(svc.Status.LoadBalancer.Ingress) > 0:
			bad = append(bad, fmt.Sprintf("%s is %s, and its status is %v", svc.Name, svc.Spec.Type, svc.Status.LoadBalancer.Ingress))
		}
	}
	return bad
}

// firewallIsExact compares the firewall with what the Services need. One that
// can't be understood keeps what it had, which only the manager knows.
func firewallIsExact(w *world) []string {
	settings := firewall.Settings{Defaults: defaults, Shape: func(id string) (firewall.Shape, bool) {
		for _, lb := range w.balancers {
			if lb.ID == id {
				return firewall.Shape{Type: lb.Type, Network: lb.Network}, true
			}
		}
		return firewall.Shape{}, false
	}}
	var claims []firewall.Claim
	understood, gone := true, map[string]bool{}
	for _, svc := range w.services {
		needs, _ := firewall.Need(svc, settings, nil)
		spec, problems := parse(svc)
		// A rule for one that doesn't exist is refused.
		gone[spec.LoadBalancerID] = !slices.ContainsFunc(w.balancers, func(lb *godo.LoadBalancer) bool { return lb.ID == spec.LoadBalancerID })
		understood = understood && len(needs.Problems) == 0 && len(problems) == 0
		claims = append(claims, firewall.Claim{Service: types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}, Created: svc.CreationTimestamp.Time, Needs: needs})
	}
	var found []*godo.Firewall
	for _, fw := range w.firewalls {
		if fw.Name == firewallName {
			found = append(found, fw)
		}
	}
	if len(found) != 1 {
		return []string{fmt.Sprintf("there are %d firewalls %s", len(found), firewallName)}
	}
	actual := firewall.StateOf(found[0])
	var bad []string
	for _, c := range firewall.Diff(firewall.Desire(firewall.Identity{Name: firewallName, Tags: []string{workerTag}}, claims, actual, gone).State, actual) {
		if understood || !c.Removes {
			bad = append(bad, c.Text)
		}
	}
	return bad
}

// tagsAreExact looks at the tags of load balancers and of backends.
func tagsAreExact(w *world) []string {
	owners := map[types.UID]bool{}
	for _, svc := range w.services {
		if isBalanced(svc) {
			owners[svc.UID] = true
		}
	}
	var bad []string
	for _, lb := range w.balancers {
		uid := w.born[lb.ID]
		if w.strangers[lb.ID] {
			continue
		}
		if owners[uid] && !w.seen[uid].released && !loadbalancer.HasTag(lb.Tags, loadbalancer.ClusterTagPrefix+clusterID) {
			bad = append(bad, "the cluster's tag is missing: "+names([]*godo.LoadBalancer{lb}))
		}
		for _, tag := range lb.Tags {
			if loadbalancer.IsServiceTag(tag) && tag != markPrefix+string(uid) {
				bad = append(bad, "it carries another Service's mark: "+names([]*godo.LoadBalancer{lb}))
			}
		}
	}
	return append(bad, w.targetTagIsExact()...)
}

// targetTagIsExact looks whether the backends' tag is on the droplets that are
// backends, where any load balancer targets it.
func (w *world) targetTagIsExact() []string {
	tag := "k8s-backends:" + clusterID
	if !slices.ContainsFunc(w.balancers, func(lb *godo.LoadBalancer) bool { return lb.Tag == tag }) {
		return nil
	}
	want := loadbalancer.Eligible(w.candidates())
	var got []int
	for _, d := range w.droplets {
		if slices.Contains(d.Tags, tag) {
			got = append(got, d.ID)
		}
	}
	slices.Sort(got)
	if slices.Equal(want, got) {
		return nil
	}
	return []string{fmt.Sprintf("the backends' tag is on the droplets %v, and belongs on %v", got, want)}
}

func (w *world) dropletNamed(name string) (id int, lives bool) {
	for id, d := range w.droplets {
		if d.Name == name {
			return id, true
		}
	}
	return 0, false
}

func nodesAreTrue(w *world) []string {
	bad := slices.Clone(w.murders)
	for _, node := range w.nodes {
		// Of one whose droplet vanished before anybody knew which it was, nothing
		// proves that it is gone: it stays, for people to remove.
		if _, lives := w.dropletNamed(node.Name); lives && node.Spec.ProviderID == "" {
			bad = append(bad, node.Name+" has no provider ID")
		}
	}
	for _, c := range w.candidates() {
		if c.Excluded == "no droplet" {
			bad = append(bad, c.Node+" is there without a droplet")
		}
	}
	return bad
}
