package instances

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/inventory"
)

// nodeAddresses lists a droplet's addresses for its Node, the host name last:
// consumers that take the first one then get an address that works.
func nodeAddresses(node *v1.Node, d inventory.Droplet) []v1.NodeAddress {
	var addresses []v1.NodeAddress
	add := func(kind v1.NodeAddressType, values ...string) {
		for _, value := range values {
			addresses = append(addresses, v1.NodeAddress{Type: kind, Address: value})
		}
	}
	add(v1.NodeInternalIP, d.PrivateIPv4...)
	add(v1.NodeExternalIP, d.PublicIPv4...)
	add(v1.NodeExternalIP, d.PublicIPv6...)
	// The framework matches Nodes and machines by this, so it is the Node's
	// name even where the droplet is called otherwise.
	add(v1.NodeHostName, node.Name)
	return addresses
}

// reportedAddresses are the IP addresses that the kubelet knows of itself.
func reportedAddresses(node *v1.Node) []string {
	var reported []string
	for _, a := range node.Status.Addresses {
		if a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP {
			reported = append(reported, inventory.Canonical(a.Address))
		}
	}
	return append(reported, providedIPs(node)...)
}

// providedIPs are what the kubelet's --node-ip says: none, one, or an IPv4 and
// an IPv6 address.
func providedIPs(node *v1.Node) []string {
	var provided []string
	for _, ip := range strings.Split(node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr], ",") {
		if ip = strings.TrimSpace(ip); ip != "" {
			provided = append(provided, inventory.Canonical(ip))
		}
	}
	return provided
}

// checkProvidedIP tells the Node's owner what the framework only logs: with a
// --node-ip that isn't among the droplet's addresses, the Node stays tainted.
func (i *Instances) checkProvidedIP(node *v1.Node, d inventory.Droplet, addresses []v1.NodeAddress) {
	for _, provided := range providedIPs(node) {
		if !hasAddress(addresses, provided) {
			i.recorder.Tell(node, events.NodeAddressMismatch, fmt.Sprintf("The kubelet's --node-ip is %s, which droplet %d doesn't have (it has %s). The Node can't be initialised until they agree.",
				provided, d.ID, strings.Join(d.Addresses(), ", ")))
			return
		}
	}
	i.recorder.Forget(node, events.NodeAddressMismatch)
}

func hasAddress(addresses []v1.NodeAddress, ip string) bool {
	for _, a := range addresses {
		if inventory.Canonical(a.Address) == ip {
			return true
		}
	}
	return false
}
