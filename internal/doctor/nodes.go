package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"digitalocean-cloud-controller-manager/internal/nearest"
	"digitalocean-cloud-controller-manager/internal/providerid"
)

// initTime is how long the manager may take for a new Node.
const initTime = 2 * time.Minute

func isTainted(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// checkKubelets finds Nodes that the manager doesn't initialise, and why.
func checkKubelets(f *Facts) []Finding {
	var found []Finding
	for i := range f.Nodes {
		node := &f.Nodes[i]
		if ignore := f.Settings.Nodes.Ignore; ignore != nil && ignore.Matches(labelSet(node)) {
			continue
		}
		object := "Node " + node.Name
		tainted := isTainted(node)
		switch id := node.Spec.ProviderID; {
		case id == "" && !tainted:
			found = append(found, Finding{
				Severity: Error, Object: object, Message: "It has neither a provider ID nor the taint that asks for one: its kubelet runs without --cloud-provider=external.",
				Cure: "Start the kubelet with --cloud-provider=external, delete the Node object and restart the kubelet.",
			})
		case tainted && f.Now.Sub(node.CreationTimestamp.Time) > initTime:
			found = append(found, Finding{
				Severity: Error, Object: object, Message: "It still has the taint " + cloudproviderapi.TaintExternalCloudProvider + ": no manager has initialised it.",
				Cure: "See the checks of the manager and of droplets here, and the events of the Node.",
			})
		}
		if id := node.Spec.ProviderID; id != "" && !isDroplet(id) {
			found = append(found, Finding{
				Severity: Warning, Object: object, Message: fmt.Sprintf("Its provider ID %q is not a droplet's: the manager leaves it alone.", id),
				Cure: "If it is a droplet, remove --provider-id from the kubelet, delete the Node object and restart the kubelet.",
			})
		}
	}
	return found
}

func isDroplet(providerID string) bool {
	_, err := providerid.Parse(providerID)
	return err == nil
}

// checkDroplets finds Nodes without a droplet, and names that don't agree.
func checkDroplets(f *Facts) []Finding {
	if !f.read(readDroplets) {
		return nil
	}
	names := map[string]int{}
	var all []string
	for _, d := range f.Droplets {
		names[d.Name]++
		all = append(all, d.Name)
	}
	var found []Finding
	for i := range f.Nodes {
		node := &f.Nodes[i]
		object := "Node " + node.Name
		if id, err := providerid.Parse(node.Spec.ProviderID); err == nil {
			if !slices.ContainsFunc(f.Droplets, func(d godo.Droplet) bool { return d.ID == id }) {
				found = append(found, Finding{
					Severity: Error, Object: object, Message: fmt.Sprintf("The token shows no droplet %d, which its provider ID names.", id),
					Cure: "Check that the token is of the team that owns the droplets; if the droplet was deleted, delete the Node.",
				})
			}
			continue
		}
		if node.Spec.ProviderID != "" {
			continue
		}
		switch n := names[node.Name]; {
		case n == 0 && !sharesAddress(node, f.Droplets):
			message := "No droplet has its name or one of its addresses."
			if near := nearest.By(node.Name, all, shortName); near != "" {
				message += fmt.Sprintf(" The droplet %s has nearly its name.", near)
			}
			found = append(found, Finding{
				Severity: Error, Object: object, Message: message,
				Cure: "Give the Node its droplet's name (the kubelet's --hostname-override), or check that the token is of the droplets' team.",
			})
		case n > 1:
			found = append(found, Finding{
				Severity: Warning, Object: object, Message: fmt.Sprintf("%d droplets have its name.", n),
				Cure: "Give droplets names of their own.",
			})
		}
	}
	return found
}

// shortName is a host name without its domain.
func shortName(name string) string {
	short, _, _ := strings.Cut(name, ".")
	return strings.ToLower(short)
}

func sharesAddress(node *v1.Node, droplets []godo.Droplet) bool {
	own := map[string]bool{}
	for _, a := range node.Status.Addresses {
		if a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP {
			own[a.Address] = true
		}
	}
	return slices.ContainsFunc(droplets, func(d godo.Droplet) bool {
		return d.Networks != nil && (slices.ContainsFunc(d.Networks.V4, func(n godo.NetworkV4) bool { return own[n.IPAddress] }) ||
			slices.ContainsFunc(d.Networks.V6, func(n godo.NetworkV6) bool { return own[n.IPAddress] }))
	})
}
