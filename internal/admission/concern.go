package admission

import (
	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// isOurs tells whether the manager makes a load balancer for the Service.
func isOurs(svc *v1.Service) bool {
	return svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil
}

// changesNothing tells whether two states of a Service ask for the same load
// balancer, valid or not.
func changesNothing(before, now *v1.Service) bool {
	return isOurs(before) && apiequality.Semantic.DeepEqual(settingsOnly(before), settingsOnly(now))
}

// settingsOnly is the Service without what its load balancer doesn't depend on.
func settingsOnly(svc *v1.Service) *v1.Service {
	only := &v1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
	for _, key := range annotation.Unknown(svc) {
		only.Annotations[key] = svc.Annotations[key]
	}
	for key, value := range svc.Annotations {
		if _, known := annotation.Lookup(key); known {
			only.Annotations[key] = value
		}
	}
	only.Spec = v1.ServiceSpec{
		Type:                          svc.Spec.Type,
		Ports:                         svc.Spec.Ports,
		LoadBalancerIP:                svc.Spec.LoadBalancerIP,
		LoadBalancerSourceRanges:      svc.Spec.LoadBalancerSourceRanges,
		ExternalTrafficPolicy:         svc.Spec.ExternalTrafficPolicy,
		HealthCheckNodePort:           svc.Spec.HealthCheckNodePort,
		AllocateLoadBalancerNodePorts: svc.Spec.AllocateLoadBalancerNodePorts,
	}
	return only
}
