package tagging

import (
	"slices"
	"strings"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// world is what a plan is made from.
type world struct {
	balancers []*godo.LoadBalancer
	services  []*v1.Service
	// tag is the cluster's; empty: it has none.
	tag string
	// before is when a load balancer was made at the latest whose mark may go.
	before time.Time
	// disowned tells whether the Service's load balancer is to be left alone.
	disowned func(*v1.Service) bool
	// backendsOnly tells whether nothing but its backends is the manager's.
	backendsOnly func(*v1.Service) bool
}

// plan is what there is to do, before what was done a moment ago is left out.
type plan struct {
	// untagged are the ids of load balancers that lack the cluster's tag.
	untagged []string
	// marks are the tags of single Services that have served their purpose, by
	// the Service.
	marks map[string]*v1.Service
}

// decide finds what is to be tagged, and which marks can go.
func decide(w world) plan {
	p := plan{marks: map[string]*v1.Service{}}
	if w.tag == "" {
		// The mark is the only sign then that a load balancer is one of ours.
		return p
	}
	marked := countMarks(w.balancers)
	for _, lb := range w.balancers {
		owner := ownerOf(lb, w.services, w.disowned)
		if owner == nil || !isOurs(owner) || isOtherClusters(lb, w.tag) || w.backendsOnly(owner) {
			continue
		}
		holds, mark := holdsID(owner, lb), loadbalancer.ServiceTag(owner)
		if !hasTag(lb, w.tag) {
			if hasTag(lb, mark) || holds && isAtWork(owner, lb) {
				p.untagged = append(p.untagged, lb.ID)
			}
			continue
		}
		// Two with one mark: a creation whose answer was lost was made good for.
		// The mark is what the second is found by, once the list shows it.
		alone := hasTag(lb, mark) && marked[strings.ToLower(mark)] == 1
		if alone && holds && isFoundUnmarked(owner, lb) && !createdOf(lb).After(w.before) {
			p.marks[mark] = owner
		}
	}
	slices.Sort(p.untagged)
	return p
}

// ownerOf returns the Service to which the load balancer belongs, by the rules
// of package reconciler: that with the best claim, or of equal ones the oldest.
func ownerOf(lb *godo.LoadBalancer, services []*v1.Service, disowned func(*v1.Service) bool) *v1.Service {
	best, owner := loadbalancer.NoClaim, (*v1.Service)(nil)
	identity := loadbalancer.Identity{ID: lb.ID, Name: lb.Name, Tags: lb.Tags, Addresses: []string{lb.IP, lb.IPv6}}
	for _, svc := range services {
		if svc.Spec.Type != v1.ServiceTypeLoadBalancer {
			continue
		}
		claim := loadbalancer.ClaimOf(svc, identity)
		better := claim > best || claim != loadbalancer.NoClaim && claim == best && loadbalancer.IsOlder(svc, owner)
		if better && !disowned(svc) {
			best, owner = claim, svc
		}
	}
	return owner
}

// isOurs tells whether the framework's service controller has taken the Service
// on and not begun to let it go.
func isOurs(svc *v1.Service) bool {
	return svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil &&
		svc.DeletionTimestamp == nil && servicehelpers.HasLBFinalizer(svc)
}

// isOtherClusters tells whether the load balancer carries the tag of another
// cluster. That a Service of this one names its id too doesn't make it ours.
func isOtherClusters(lb *godo.LoadBalancer, own string) bool {
	return slices.ContainsFunc(lb.Tags, func(tag string) bool {
		return strings.HasPrefix(tag, loadbalancer.ClusterTagPrefix) && !strings.EqualFold(tag, own)
	})
}

// isAtWork tells whether the load balancer serves the Service already. One that
// a Service only names, and that waits to be taken over, may still be another's.
func isAtWork(svc *v1.Service, lb *godo.LoadBalancer) bool {
	return lb.Name == loadbalancer.DefaultName(svc) || slices.ContainsFunc(svc.Status.LoadBalancer.Ingress, func(i v1.LoadBalancerIngress) bool {
		if i.IP != "" {
			return i.IP == lb.IP || i.IP == lb.IPv6
		}
		return i.Hostname != "" && svc.Annotations[annotation.DefaultsVersion] != ""
	})
}

// isFoundUnmarked tells whether the Service's load balancer is found again
// without the mark, also when all annotations are lost later: by its address in
// the status, whatever its name is then. A host name there hides the address,
// so such a Service's mark stays.
//
// The version of the defaults tells after a restart what the mark tells until
// then: that the load balancer is not met for the first time.
func isFoundUnmarked(svc *v1.Service, lb *godo.LoadBalancer) bool {
	return lb.IP != "" && svc.Annotations[annotation.DefaultsVersion] != "" &&
		slices.ContainsFunc(svc.Status.LoadBalancer.Ingress, func(i v1.LoadBalancerIngress) bool { return i.IP == lb.IP })
}

// createdOf is when the load balancer was made; zero where it isn't known.
func createdOf(lb *godo.LoadBalancer) time.Time {
	created, err := time.Parse(time.RFC3339, lb.Created)
	if err != nil {
		return time.Time{}
	}
	return created
}

func holdsID(svc *v1.Service, lb *godo.LoadBalancer) bool {
	return strings.EqualFold(svc.Annotations[annotation.LoadBalancerID], lb.ID)
}

func hasTag(lb *godo.LoadBalancer, tag string) bool { return loadbalancer.HasTag(lb.Tags, tag) }

// countMarks counts the load balancers that carry a mark, by its lower case.
func countMarks(balancers []*godo.LoadBalancer) map[string]int {
	n := map[string]int{}
	for _, lb := range balancers {
		for _, tag := range lb.Tags {
			if loadbalancer.IsServiceTag(tag) {
				n[strings.ToLower(tag)]++
			}
		}
	}
	return n
}
