package simulator_test

import (
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"digitalocean-cloud-controller-manager/simulator"
)

func switchesDroplets(t *testing.T, w *world, p *page) {
	status := func() string { return w.droplet("pool-a-1").Status }
	p.press("Power off pool-a-1")
	p.waitText("#said", "pool-a-1 is off.")
	if got := status(); got != "off" {
		t.Errorf("status %s", got)
	}
	p.waitText("#balancer-list", "Backends: 2 of 4 on")
	p.press("Power on pool-a-1")
	p.waitText("#said", "pool-a-1 is on.")
	if got := status(); got != "active" {
		t.Errorf("status %s", got)
	}
}

func deletesDroplet(t *testing.T, w *world, p *page) {
	id := w.droplet("database").ID
	p.press("Delete database")
	p.do(chromedp.Click(chromedp.CSS(`dialog button[type=button]`)))
	if _, found := w.Droplet(id); !found {
		t.Error("deleted although it was cancelled")
	}
	p.press("Delete database")
	p.submit()
	p.waitText("#said", "database is deleted.")
	if _, found := w.Droplet(id); found {
		t.Error("still there")
	}
	p.wait(`!document.querySelector("#droplet-list").textContent.includes("database")`)
}

func addsDroplet(t *testing.T, w *world, p *page) {
	p.do(chromedp.Click(chromedp.CSS("#add-droplet")))
	p.wait(`document.getElementById("dialog").open`)
	p.enter("Name", "pool-b-1")
	p.enter("Region", "ams3")
	p.enter("Size", "g-2vcpu-8gb")
	p.enter("Tags", "workers, gpu-less")
	p.enter("Public IPv6", "")
	p.submit()
	d := w.droplet("pool-b-1")
	if d.Region.Slug != "ams3" || d.SizeSlug != "g-2vcpu-8gb" || !slices.Equal(d.Tags, []string{"workers", "gpu-less"}) || len(d.Networks.V6) != 1 {
		t.Errorf("added %+v", d)
	}
	p.waitText("#droplet-list", "pool-b-1")
}

func editsBalancer(t *testing.T, w *world, p *page) {
	before := w.balancer("shop")
	p.press("Edit shop")
	p.enter("Name", "shop-2")
	p.enter("Size in units", "3")
	p.enter("Algorithm", "least_connections")
	p.enter("PROXY protocol", "")
	p.enter("Health check path", "/ready")
	p.enter("Entry port", "8443") // the first rule's
	p.do(chromedp.Click(chromedp.CSS(`dialog [role=group]:nth-child(2) button`)))
	p.submit()
	got := w.balancer("shop-2")
	if got.SizeUnit != 3 || got.Algorithm != "least_connections" || !got.EnableProxyProtocol || got.HealthCheck.Path != "/ready" ||
		got.HealthCheck.Port != before.HealthCheck.Port || !slices.Equal(got.DropletIDs, before.DropletIDs) {
		t.Errorf("edited %+v", got)
	}
	rule := before.ForwardingRules[0]
	rule.EntryPort = 8443
	if !slices.Equal(got.ForwardingRules, []simulator.ForwardingRule{rule}) {
		t.Errorf("rules %+v, want %+v", got.ForwardingRules, rule)
	}
	p.waitText("#balancer-list", "HTTPS 8443")
}

func editsOnlyChanges(t *testing.T, w *world, p *page) {
	id := w.balancer("shop").ID
	p.press("Edit shop")
	err := w.EditLoadBalancer(id, func(lb *simulator.LoadBalancer) { lb.Algorithm, lb.HealthCheck.Port = "least_connections", 99 })
	if err != nil {
		t.Fatal(err)
	}
	p.enter("Name", "renamed")
	p.submit()
	if got := w.balancer("renamed"); got.Algorithm != "least_connections" || got.HealthCheck.Port != 99 {
		t.Errorf("undone: %+v", got)
	}
}

func dropsBackend(t *testing.T, w *world, p *page) {
	id := w.droplet("pool-a-2").ID
	p.press("Drop pool-a-2 from shop")
	p.waitText("#said", "pool-a-2 is dropped from shop.")
	if got := w.balancer("shop").DropletIDs; len(got) != 3 || slices.Contains(got, id) {
		t.Errorf("droplets %v", got)
	}
	if read[bool](p, `document.querySelector('[aria-label="Drop pool-a-2 from mail"]') !== null`) {
		t.Error("offers to drop what a tag selects")
	}
}

func deletesOthers(t *testing.T, w *world, p *page) {
	p.press("Delete mail")
	p.submit()
	if got := w.LoadBalancers(); len(got) != 1 {
		t.Errorf("load balancers %+v", got)
	}
	p.press("Delete workers")
	p.submit()
	if got := w.State().Teams[0].Firewalls; len(got) != 0 {
		t.Errorf("firewalls %+v", got)
	}
	p.waitText("#firewall-note", "No firewalls.")
}

func renewsCertificate(t *testing.T, w *world, p *page) {
	before := w.balancer("shop").ForwardingRules[0].CertificateID
	p.press("Renew shop-example-com")
	p.waitText("#said", "with a new id")
	got := w.balancer("shop").ForwardingRules[0].CertificateID
	if got == before || got == "" {
		t.Errorf("certificate %s, was %s", got, before)
	}
	p.waitText("#certificate-list", got[:8])
	p.press("Delete shop-example-com")
	p.do(chromedp.Click(chromedp.CSS(`dialog button[type=submit]`)))
	p.waitText("dialog [role=alert]", "in use")
	p.forgive() // the refusal
}

func handlesFaults(t *testing.T, w *world, p *page) {
	p.press("Clear fault POST /v2/load_balancers")
	p.waitText("#fault-note", "None")
	p.do(chromedp.Click(chromedp.CSS("#add-fault")))
	p.enter("Method", "GET")
	p.enter("Path", "/v2/account")
	p.enter("Status", "418")
	p.enter("How many times", "3")
	p.submit()
	if got := w.do("GET", "/v2/account", "").status; got != 418 {
		t.Errorf("answered %d", got)
	}
	p.waitText("#fault-list", "met 1 time of 3")
	p.do(chromedp.Click(chromedp.CSS("#add-fault")))
	p.enter("What happens", "Answer in a slow trickle")
	p.enter("Chance in percent", "25")
	p.submit()
	last := w.Faults()[1]
	if last.Trickle != 5*time.Second || last.Probability != 0.25 || last.Status != 0 || last.Count != 1 {
		t.Errorf("injected %+v", last)
	}
	p.do(chromedp.Click(chromedp.CSS("#clear-faults")))
	p.waitText("#fault-note", "None")
	if got := w.Faults(); len(got) != 0 {
		t.Errorf("faults %+v", got)
	}
}

func refusesForms(t *testing.T, w *world, p *page) {
	p.press("Edit shop")
	p.enter("Entry port", "70000")
	p.do(chromedp.Click(chromedp.CSS(`dialog button[type=submit]`)))
	p.waitText("dialog [role=alert]", "Entry port")
	if got := read[string](p, `document.activeElement.ariaLabel`); got != "Entry port" {
		t.Errorf("focus on %s", got)
	}
	p.do(chromedp.KeyEvent(kb.Escape))
	p.wait(`!document.getElementById("dialog").open`)
	if got := w.balancer("shop").ForwardingRules[0].EntryPort; got != 443 {
		t.Errorf("entry port %d", got)
	}
}
