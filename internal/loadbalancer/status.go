package loadbalancer

import v1 "k8s.io/api/core/v1"

// Status is what the Service's status says of a load balancer with the
// addresses. ok is false when it has no address yet; the status is then that of
// the Service as it is, never a blank one.
//
// The mode is always set: the API server would set it otherwise, and the
// framework would then write the status anew at each sync. VIP lets Nodes take
// packets for the load balancer's address themselves, as it passes them on
// unchanged.
func Status(svc *v1.Service, addresses []string) (status *v1.LoadBalancerStatus, ok bool) {
	status = &v1.LoadBalancerStatus{}
	for _, address := range addresses {
		if address == "" {
			continue
		}
		mode := v1.LoadBalancerIPModeVIP
		status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{IP: address, IPMode: &mode})
	}
	if len(status.Ingress) == 0 {
		return svc.Status.LoadBalancer.DeepCopy(), false
	}
	return status, true
}
