package conformance

import (
	"testing"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/simulator"
)

func everyCertificateCall(t *testing.T, _ *simulator.Simulator, c *godo.Client) {
	ctx := t.Context()
	cert := done[*godo.Certificate](t, 201)(c.Certificates.Create(ctx, &godo.CertificateRequest{
		Name: "web", Type: "lets_encrypt", DNSNames: []string{"example.com"},
	}))
	done[*godo.Certificate](t, 200)(c.Certificates.Get(ctx, cert.ID))
	listed[godo.Certificate](t, 1)(c.Certificates.List(ctx, nil))
	listed[godo.Certificate](t, 1)(c.Certificates.ListByName(ctx, "web", nil))
	listed[godo.Certificate](t, 0)(c.Certificates.ListByName(ctx, "none", nil))
	gone(t)(c.Certificates.Delete(ctx, cert.ID))
}

func tcp(port int) godo.ForwardingRule {
	return godo.ForwardingRule{EntryProtocol: "tcp", EntryPort: port, TargetProtocol: "tcp", TargetPort: port}
}

func everyBalancerCall(t *testing.T, sim *simulator.Simulator, c *godo.Client) {
	ctx, lbs := t.Context(), c.LoadBalancers
	d := sim.AddDroplet(simulator.DropletSpec{})
	req := &godo.LoadBalancerRequest{Name: "lb", Region: "nyc3", ForwardingRules: []godo.ForwardingRule{tcp(80)}}
	valid := *req
	valid.ValidateOnly = true
	done[*godo.LoadBalancer](t, 200)(lbs.Create(ctx, &valid))
	listed[godo.LoadBalancer](t, 0)(lbs.List(ctx, nil))
	lb := done[*godo.LoadBalancer](t, 202)(lbs.Create(ctx, req))
	done[*godo.LoadBalancer](t, 200)(lbs.Get(ctx, lb.ID))
	listed[godo.LoadBalancer](t, 1)(lbs.ListByNames(ctx, []string{"lb", "none"}, nil))
	listed[godo.LoadBalancer](t, 1)(lbs.ListByUUIDs(ctx, []string{lb.ID}, nil))
	gone(t)(lbs.AddDroplets(ctx, lb.ID, d.ID))
	gone(t)(lbs.RemoveDroplets(ctx, lb.ID, d.ID))
	gone(t)(lbs.AddForwardingRules(ctx, lb.ID, tcp(81)))
	gone(t)(lbs.RemoveForwardingRules(ctx, lb.ID, tcp(80)))
	req.ForwardingRules = []godo.ForwardingRule{tcp(82)}
	done[*godo.LoadBalancer](t, 200)(lbs.Update(ctx, lb.ID, req))
	global := done[*godo.LoadBalancer](t, 202)(lbs.Create(ctx, &godo.LoadBalancerRequest{
		Name: "g", Type: godo.LoadBalancerTypeGlobal, TargetLoadBalancerIDs: []string{lb.ID},
		GLBSettings: &godo.GLBSettings{TargetProtocol: "http", TargetPort: 80, CDN: &godo.CDNSettings{IsEnabled: true}},
	}))
	gone(t)(lbs.PurgeCache(ctx, global.ID))
	gone(t)(lbs.Delete(ctx, global.ID))
	gone(t)(lbs.Delete(ctx, lb.ID))
	_, _, err := lbs.Get(ctx, lb.ID)
	wantGone(t, err)
}

func everyFirewallCall(t *testing.T, sim *simulator.Simulator, c *godo.Client) {
	ctx, firewalls := t.Context(), c.Firewalls
	d := sim.AddDroplet(simulator.DropletSpec{Tags: []string{"nodes"}})
	in := func(ports string) godo.InboundRule {
		return godo.InboundRule{Protocol: "tcp", PortRange: ports, Sources: &godo.Sources{Addresses: []string{"0.0.0.0/0", "::/0"}}}
	}
	req := &godo.FirewallRequest{
		Name: "fw", InboundRules: []godo.InboundRule{in("22")},
		OutboundRules: []godo.OutboundRule{{Protocol: "icmp", Destinations: &godo.Destinations{Addresses: []string{"0.0.0.0/0"}}}},
	}
	f := done[*godo.Firewall](t, 202)(firewalls.Create(ctx, req))
	gone(t)(firewalls.AddDroplets(ctx, f.ID, d.ID))
	listed[godo.Firewall](t, 1)(firewalls.ListByDroplet(ctx, d.ID, nil))
	gone(t)(firewalls.RemoveDroplets(ctx, f.ID, d.ID))
	gone(t)(firewalls.AddTags(ctx, f.ID, "nodes"))
	gone(t)(firewalls.RemoveTags(ctx, f.ID, "nodes"))
	rules := &godo.FirewallRulesRequest{InboundRules: []godo.InboundRule{in("443")}}
	gone(t)(firewalls.AddRules(ctx, f.ID, rules))
	gone(t)(firewalls.RemoveRules(ctx, f.ID, rules))
	done[*godo.Firewall](t, 200)(firewalls.Get(ctx, f.ID))
	req.Name = "other"
	done[*godo.Firewall](t, 200)(firewalls.Update(ctx, f.ID, req))
	listed[godo.Firewall](t, 1)(firewalls.List(ctx, nil))
	gone(t)(firewalls.Delete(ctx, f.ID))
}

func everyReservedIPCall(t *testing.T, sim *simulator.Simulator, c *godo.Client) {
	ctx := t.Context()
	d := sim.AddDroplet(simulator.DropletSpec{IPv6: true})
	ip := done[*godo.ReservedIP](t, 202)(c.ReservedIPs.Create(ctx, &godo.ReservedIPCreateRequest{Region: "nyc3"})).IP
	a := done[*godo.Action](t, 201)(c.ReservedIPActions.Assign(ctx, ip, d.ID))
	done[*godo.Action](t, 200)(c.ReservedIPActions.Get(ctx, ip, a.ID))
	listed[godo.Action](t, 1)(c.ReservedIPActions.List(ctx, ip, nil))
	if got := done[*godo.ReservedIP](t, 200)(c.ReservedIPs.Get(ctx, ip)); got.Droplet == nil || got.Droplet.ID != d.ID {
		t.Errorf("reserved IP %+v", got)
	}
	listed[godo.ReservedIP](t, 1)(c.ReservedIPs.List(ctx, nil))
	done[*godo.Action](t, 201)(c.ReservedIPActions.Unassign(ctx, ip))
	gone(t)(c.ReservedIPs.Delete(ctx, ip))

	ip = done[*godo.FloatingIP](t, 202)(c.FloatingIPs.Create(ctx, &godo.FloatingIPCreateRequest{DropletID: d.ID})).IP
	done[*godo.FloatingIP](t, 200)(c.FloatingIPs.Get(ctx, ip))
	listed[godo.FloatingIP](t, 1)(c.FloatingIPs.List(ctx, nil))
	a = done[*godo.Action](t, 201)(c.FloatingIPActions.Unassign(ctx, ip))
	done[*godo.Action](t, 200)(c.FloatingIPActions.Get(ctx, ip, a.ID))
	listed[godo.Action](t, 2)(c.FloatingIPActions.List(ctx, ip, nil))
	gone(t)(c.FloatingIPs.Delete(ctx, ip))

	ip = done[*godo.ReservedIPV6](t, 201)(c.ReservedIPV6s.Create(ctx, &godo.ReservedIPV6CreateRequest{Region: "nyc3"})).IP
	done[*godo.Action](t, 201)(c.ReservedIPV6Actions.Assign(ctx, ip, d.ID))
	if got := done[*godo.ReservedIPV6](t, 200)(c.ReservedIPV6s.Get(ctx, ip)); got.Droplet == nil || got.Droplet.ID != d.ID {
		t.Errorf("reserved IPv6 %+v", got)
	}
	listed[godo.ReservedIPV6](t, 1)(c.ReservedIPV6s.List(ctx, nil))
	listed[godo.ReservedIP](t, 0)(c.ReservedIPs.List(ctx, nil))
	done[*godo.Action](t, 201)(c.ReservedIPV6Actions.Unassign(ctx, ip))
	gone(t)(c.ReservedIPV6s.Delete(ctx, ip))
}

func everyProjectCall(t *testing.T, sim *simulator.Simulator, c *godo.Client) {
	ctx, projects := t.Context(), c.Projects
	d := sim.AddDroplet(simulator.DropletSpec{})
	p := done[*godo.Project](t, 201)(projects.Create(ctx, &godo.CreateProjectRequest{Name: "p", Purpose: "Website or blog", Environment: "Staging"}))
	standard := done[*godo.Project](t, 200)(projects.GetDefault(ctx))
	done[*godo.Project](t, 200)(projects.Get(ctx, p.ID))
	listed[godo.Project](t, 2)(projects.List(ctx, nil))
	done[*godo.Project](t, 200)(projects.Update(ctx, p.ID, &godo.UpdateProjectRequest{Description: "d"}))
	urn := godo.Droplet{ID: d.ID}.URN()
	done[[]godo.ProjectResource](t, 200)(projects.AssignResources(ctx, p.ID, urn))
	listed[godo.ProjectResource](t, 1)(projects.ListResources(ctx, p.ID, nil))
	done[[]godo.ProjectResource](t, 200)(projects.AssignResources(ctx, standard.ID, urn))
	gone(t)(projects.Delete(ctx, p.ID))
}
