package doctor

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/providerid"
)

// checkReads tells of what can't be read. What has one cause, as an API that is
// away, is told once.
func checkReads(f *Facts) []Finding {
	var causes []Finding
	unread := map[Finding][]string{}
	for _, r := range f.Reads {
		if r.Err == nil {
			continue
		}
		cause := judgeRead(r)
		if !slices.Contains(causes, cause) {
			causes = append(causes, cause)
		}
		unread[cause] = append(unread[cause], r.What)
	}
	findings := make([]Finding, len(causes))
	for i, cause := range causes {
		findings[i] = cause
		findings[i].Message = fmt.Sprintf("%s can't be read: %s", strings.Join(unread[cause], ", "), cause.Message)
	}
	return findings
}

// judgeRead tells why something can't be read, and what to do; what that is, is
// left out.
func judgeRead(r Read) Finding {
	if r.Scope == "" {
		return Finding{Severity: Error, Object: "Kubernetes", Message: r.Err.Error(), Cure: "Use a kubeconfig of somebody who may; what depends on it was not looked at."}
	}
	found := Finding{Severity: Error, Object: "API token", Message: doapi.Message(r.Err)}
	status := 0
	if response, ok := errors.AsType[*godo.ErrorResponse](r.Err); ok && response.Response != nil {
		status = response.Response.StatusCode
	}
	switch {
	// After the first such answer the client asks no more.
	case status == http.StatusUnauthorized, errors.Is(r.Err, doapi.ErrUnauthorized):
		found.Message = "DigitalOcean refuses the token (401)."
		found.Cure = "Make another token and put it into " + config.EnvToken + ", of the manager too: it is wrong, expired or was revoked."
	case status == http.StatusForbidden:
		found.Cure = "Give the token the scope " + r.Scope + "."
	case doapi.Classify(r.Err) == doapi.ClassThrottled:
		found.Object, found.Cure = "DigitalOcean's API", "Wait until the hour's quota of requests is there again."
	default:
		found.Object, found.Cure = "DigitalOcean's API", "Look at the way to the API from here, and at status.digitalocean.com."
	}
	return found
}

func checkRegion(f *Facts) []Finding {
	slug := f.Settings.Region
	if slug == "" || len(f.Regions) == 0 {
		return nil
	}
	var found []Finding
	if !slices.ContainsFunc(f.Regions, func(r godo.Region) bool { return r.Slug == slug }) {
		found = append(found, Finding{Severity: Error, Object: config.EnvRegion, Message: fmt.Sprintf("There is no region %q.", slug), Cure: "Set it to the region of the cluster's droplets."})
	}
	for _, pair := range f.pairs() {
		if r := pair.droplet.Region; r != nil && r.Slug != slug {
			found = append(found, Finding{
				Severity: Error, Object: "Node " + pair.node,
				Message: fmt.Sprintf("Its droplet %d is in the region %s, and load balancers are made in %s: it can't be a backend.", pair.droplet.ID, r.Slug, slug),
				Cure:    "Set " + config.EnvRegion + " to the droplets' region, or move the Node's droplet.",
			})
		}
	}
	return found
}

func checkVPC(f *Facts) []Finding {
	id := f.Settings.VPCID
	if id == "" || !f.read(readVPC) {
		return nil
	}
	var found []Finding
	if f.VPC == nil {
		return []Finding{{Severity: Error, Object: config.EnvVPCID, Message: "There is no VPC " + id + " in the token's account.", Cure: "Set it to the UUID of the droplets' VPC."}}
	}
	if r := f.Settings.Region; r != "" && f.VPC.RegionSlug != r {
		found = append(found, Finding{
			Severity: Error, Object: config.EnvVPCID, Message: fmt.Sprintf("The VPC %s is in the region %s, and load balancers are made in %s.", id, f.VPC.RegionSlug, r),
			Cure: "Make the two settings agree.",
		})
	}
	for _, pair := range f.pairs() {
		if vpc := pair.droplet.VPCUUID; vpc != "" && vpc != id {
			found = append(found, Finding{
				Severity: Error, Object: "Node " + pair.node, Message: fmt.Sprintf("Its droplet %d is in the VPC %s, and load balancers are made in %s: they don't reach it.", pair.droplet.ID, vpc, id),
				Cure: "Set " + config.EnvVPCID + " to the droplets' VPC.",
			})
		}
	}
	return found
}

// pair is a Node and the droplet of its provider ID.
type pair struct {
	node    string
	droplet godo.Droplet
}

func (f *Facts) pairs() []pair {
	byID := make(map[int]godo.Droplet, len(f.Droplets))
	for _, d := range f.Droplets {
		byID[d.ID] = d
	}
	var pairs []pair
	for _, node := range f.Nodes {
		id, err := providerid.Parse(node.Spec.ProviderID)
		if err != nil {
			continue
		}
		if d, ok := byID[id]; ok {
			pairs = append(pairs, pair{node.Name, d})
		}
	}
	return pairs
}

// checkFirewall finds firewalls that the manager would fight over with others.
func checkFirewall(f *Facts) []Finding {
	want := f.Settings.Firewall
	if want == nil {
		return nil
	}
	var found []Finding
	var named []godo.Firewall
	for _, fw := range f.Firewalls {
		if fw.Name == want.Name {
			named = append(named, fw)
		}
	}
	if len(named) > 1 {
		found = append(found, Finding{
			Severity: Error, Object: "firewall " + want.Name, Message: fmt.Sprintf("%d firewalls have this name.", len(named)),
			Cure: "Keep one, or give this cluster's another name in " + config.EnvFirewallName + ".",
		})
	}
	for _, fw := range named {
		if tags := slices.Sorted(slices.Values(fw.Tags)); len(tags) > 0 && !slices.Equal(tags, slices.Sorted(slices.Values(want.Tags))) {
			found = append(found, Finding{
				Severity: Warning, Object: "firewall " + want.Name, Message: fmt.Sprintf("It is on the tags %s, and the settings ask for %s: it may be another cluster's, which would be cut off.", strings.Join(tags, ", "), strings.Join(want.Tags, ", ")),
				Cure: "Give each cluster's firewall its own name in " + config.EnvFirewallName + ".",
			})
		}
	}
	return found
}

// lowQuota is the part of the hour's requests below which the manager may have to
// wait.
const lowQuota = 10 // a tenth

func checkQuota(f *Facts) []Finding {
	if q := f.Quota; q.Limit > 0 && q.Remaining < q.Limit/lowQuota {
		return []Finding{{
			Severity: Warning, Object: "API token", Message: fmt.Sprintf("%d of %d requests are left in this hour.", q.Remaining, q.Limit),
			Cure: "Find what else uses this token, and give the manager one of its own account; docs/performance.md tells how many it needs.",
		}}
	}
	return nil
}
