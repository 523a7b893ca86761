package reconciler

import (
	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// What follows lets those who only foretell what the manager will do decide as
// it does.

// SettingsOf reads the parts of a load balancer that the manager decides, in
// normal form.
func SettingsOf(lb *godo.LoadBalancer) loadbalancer.Settings { return settingsOf(lb) }

// CreateRequest is with what the manager asks for a new load balancer.
func CreateRequest(d loadbalancer.Desired) *godo.LoadBalancerRequest { return createRequest(d) }

// UpdateRequest is with what the manager replaces a load balancer that exists.
func UpdateRequest(actual *godo.LoadBalancer, d loadbalancer.Desired) *godo.LoadBalancerRequest {
	return updateRequest(actual, d)
}

// IsOwn tells whether a load balancer was made for this very Service.
func IsOwn(svc *v1.Service, lb *godo.LoadBalancer) bool { return isOwn(svc, lb) }

// OwnerBefore returns another Service to which the load balancer belongs rather
// than to this one, as far as Services and the load balancer itself tell; nil
// for none.
func OwnerBefore(svc *v1.Service, lb *godo.LoadBalancer, services corelisters.ServiceLister) *v1.Service {
	return (&Reconciler{services: services}).ownerBefore(svc, lb)
}
