package simulator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"digitalocean-cloud-controller-manager/simulator"
)

const consoleScenario = `
teams:
- certificates: [{name: shop-example-com, type: lets_encrypt, dns_names: [shop.example.com]}, {name: wildcard}]
  droplets:
  - {name: control-plane, region: fra1, size: s-4vcpu-8gb, tags: ["k8s:prod", control-plane]}
  - {name: pool-a, count: 4, region: fra1, tags: ["k8s:prod", workers], ipv6: true}
  - {name: database, region: fra1, size: m-2vcpu-16gb, tags: [database], no_public_ipv4: true}
  load_balancers:
  - name: shop
    region: fra1
    droplets: [pool-a-1, pool-a-2, pool-a-3, pool-a-4]
    forwarding_rules:
    - {entry_protocol: https, entry_port: 443, target_protocol: http, target_port: 30443, certificate: shop-example-com}
    - {entry_protocol: http, entry_port: 80, target_protocol: http, target_port: 30080}
    health_check: {protocol: http, port: 30080, path: /healthz, check_interval_seconds: 10, response_timeout_seconds: 5, healthy_threshold: 3, unhealthy_threshold: 3}
  - name: mail
    region: fra1
    tag: workers
    forwarding_rules: [{entry_protocol: tcp, entry_port: 25, target_protocol: tcp, target_port: 30025}]
  firewalls:
  - name: workers
    tags: [workers]
    inbound_rules:
    - {protocol: tcp, ports: "22", sources: {addresses: [198.51.100.0/24]}}
    - {protocol: tcp, ports: "30000-32767", sources: {addresses: [0.0.0.0/0, "::/0"]}}
    - {protocol: icmp, sources: {tags: ["k8s:prod"]}}
    outbound_rules: [{protocol: tcp, ports: all, destinations: {addresses: [0.0.0.0/0, "::/0"]}}]
`

// consoleWorld has a bit of everything, and an hour of traffic behind it.
func consoleWorld(t *testing.T, opts ...simulator.Option) *world {
	t.Helper()
	w := newWorld(t, opts...)
	if err := w.Load(strings.NewReader(consoleScenario)); err != nil {
		t.Fatal(err)
	}
	if err := w.StopDroplet(w.droplet("pool-a-3").ID); err != nil {
		t.Fatal(err)
	}
	w.AddFault(simulator.Fault{Method: "POST", Path: "/v2/load_balancers", Count: 2, Status: 503})
	for minute := range 40 {
		w.advance(time.Minute)
		for range (minute*7)%11 + 1 {
			w.do("GET", "/v2/droplets?page=1&per_page=200", "")
		}
		if minute%9 == 4 {
			w.do("POST", "/v2/load_balancers", `{"name":"refused"}`)
		}
	}
	w.do("POST", "/v2/tags", `{"name":"made-later"}`)
	return w
}

func (w *world) droplet(name string) simulator.Droplet {
	w.t.Helper()
	all := w.Droplets()
	i := slices.IndexFunc(all, func(d simulator.Droplet) bool { return d.Name == name })
	if i < 0 {
		w.t.Fatalf("no droplet %s", name)
	}
	return all[i]
}

func (w *world) balancer(name string) simulator.LoadBalancer {
	w.t.Helper()
	all := w.LoadBalancers()
	i := slices.IndexFunc(all, func(lb simulator.LoadBalancer) bool { return lb.Name == name })
	if i < 0 {
		w.t.Fatalf("no load balancer %s", name)
	}
	return all[i]
}

// TestConsole shares one browser: its start takes longer than most tests.
func TestConsole(t *testing.T) {
	browser := startBrowser(t)
	open := func(t *testing.T, w *world) *page { return openConsole(t, browser, w, 1440, 1000) }
	for name, test := range map[string]func(*testing.T, *world, *page){
		"shows what there is":                        showsObjects,
		"the log is live":                            showsLog,
		"the log's entries open":                     opensLogEntries,
		"droplets are switched off and on":           switchesDroplets,
		"a droplet is deleted once confirmed":        deletesDroplet,
		"a droplet is added":                         addsDroplet,
		"a load balancer is edited":                  editsBalancer,
		"an edit sends only what was changed":        editsOnlyChanges,
		"a backend is dropped":                       dropsBackend,
		"load balancer and firewall are deleted":     deletesOthers,
		"a certificate is renewed, not deleted":      renewsCertificate,
		"faults are injected and cleared":            handlesFaults,
		"a form tells what is wrong":                 refusesForms,
		"search finds objects":                       searches,
		"pause holds still":                          pauses,
		"names are text":                             showsNamesAsText,
		"the keyboard reaches every action":          reachesActions,
		"focus stays with a button that is redrawn":  keepsFocus,
		"everything has a name for a screen reader":  namesEverything,
		"it says when the simulator is out of reach": tellsAbsence,
	} {
		t.Run(name, func(t *testing.T) {
			w := consoleWorld(t)
			test(t, w, open(t, w))
		})
	}
	t.Run("looks", func(t *testing.T) {
		looks(t, func(w *world, width, height int64, steps ...chromedp.Action[chromedp.Void]) *page {
			return openConsole(t, browser, w, width, height, steps...)
		})
	})
	t.Run("teams", func(t *testing.T) {
		w := newWorld(t, simulator.WithToken(token, "blue"), simulator.WithToken("other", "green"))
		w.AddDroplet(simulator.DropletSpec{Name: "of-blue"})
		w.AddDroplet(simulator.DropletSpec{Name: "of-green", Team: "green"})
		p := open(t, w)
		p.waitText("#droplet-list", "of-blue")
		p.do(chromedp.SendKeys(chromedp.CSS("#team"), "green"))
		p.waitText("#droplet-list", "of-green")
		if shown := read[string](p, `document.querySelector("#droplet-list").textContent`); strings.Contains(shown, "of-blue") {
			t.Errorf("green sees %s", shown)
		}
	})
}

func showsObjects(t *testing.T, w *world, p *page) {
	for selector, texts := range map[string][]string{
		"#droplet-list":     {"pool-a-1", "active", "off", "s-4vcpu-8gb", w.droplet("pool-a-1").Networks.V4[0].IPAddress, "workers"},
		"#balancer-list":    {"shop", "HTTPS 443", "HTTP 30443", "every 10 s", "/healthz", "Backends: 3 of 4 on", "droplets tagged workers", w.balancer("shop").IP},
		"#firewall-list":    {"workers", "TCP 22", "from 198.51.100.0/24", "ICMP", "tag k8s:prod", "on 4 droplets", "to 0.0.0.0/0"},
		"#certificate-list": {"shop-example-com", "lets encrypt", "verified"},
		"#tag-list":         {"workers 4", "made-later 0"},
		"#fault-list":       {"POST /v2/load_balancers", "answers 503", "met 2 times of 2", "spent"},
		"#budget-list":      {"left", "token …cdef", "in this minute"},
		"#plot":             {"calls in the last hour", "4 failed"},
	} {
		for _, text := range texts {
			p.waitText(selector, text)
		}
	}
	used := len(w.Requests())
	left := fmt.Sprintf("%d", 5000-used)
	p.wait(fmt.Sprintf(`document.querySelector("[role=meter]").ariaValueNow === %q`, left))
}

func showsLog(t *testing.T, w *world, p *page) {
	w.do("DELETE", "/v2/tags/made-later?now=1", "")
	p.waitText("#request-list li:first-child", "DELETE/v2/tags/made-later?now=1204")
	w.do("GET", "/v2/droplets/7", "")
	p.waitText("#request-list li:first-child", "404")
	p.do(chromedp.SendKeys(chromedp.CSS("#log-kind"), "Writes"))
	p.wait(`[...document.querySelectorAll("#request-list .method")].every((m) => m.textContent !== "GET")`)
	p.do(chromedp.SendKeys(chromedp.CSS("#log-text"), "/v2/tags"))
	p.wait(`document.querySelectorAll("#request-list li").length === 2`)
	p.do(chromedp.SendKeys(chromedp.CSS("#log-text"), "zzz"))
	p.waitText("#request-note", "No request matches.")
}

func opensLogEntries(t *testing.T, w *world, p *page) {
	p.do(chromedp.Click(chromedp.CSS("#request-list li:first-child summary")))
	p.waitText("#request-list li:first-child pre", `"name": "made-later"`)
	// What comes later does not close it.
	w.do("GET", "/v2/account", "")
	p.waitText("#request-list li:first-child", "/v2/account")
	p.wait(`document.querySelector("#request-list li:nth-child(2) details").open`)
}

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

func searches(t *testing.T, w *world, p *page) {
	p.do(chromedp.SendKeys(chromedp.CSS("#search"), "DATABASE"))
	p.wait(`document.querySelectorAll("#droplet-list tr").length === 1`)
	p.waitText("#balancer-note", "None of 2 match the search.")
}

func pauses(t *testing.T, w *world, p *page) {
	p.do(chromedp.Click(chromedp.CSS("#pause")))
	p.waitText("#live", "Paused")
	w.do("GET", "/v2/account", "")
	// Longer than the page's interval: nothing comes.
	read[bool](p, `new Promise((done) => setTimeout(() => done(true), 1500))`)
	if text := read[string](p, `document.querySelector("#request-list").textContent`); strings.Contains(text, "/v2/account") {
		t.Error("went on")
	}
	p.do(chromedp.Click(chromedp.CSS("#pause")))
	p.waitText("#request-list", "/v2/account")
}

func showsNamesAsText(t *testing.T, w *world, p *page) {
	const evil = `<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>"'&lt;`
	d := w.AddDroplet(simulator.DropletSpec{Name: evil, Tags: []string{evil}})
	w.AddCertificate(simulator.CertificateSpec{Name: evil, DNSNames: []string{evil}})
	id := w.balancer("shop").ID
	err := w.EditLoadBalancer(id, func(lb *simulator.LoadBalancer) {
		lb.Name, lb.HealthCheck.Path, lb.DropletIDs = evil, evil, append(lb.DropletIDs, d.ID)
		lb.ForwardingRules[0].EntryProtocol = evil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.do("POST", "/v2/tags?x=<b>", `{"name":"<img src=x onerror=hurt=1>"}`)
	w.AddFault(simulator.Fault{Path: "/" + evil, Status: 500})
	for _, selector := range []string{"#droplet-list strong", "#balancer-list h3", "#certificate-list strong"} {
		p.wait(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.textContent === %q)`, selector, evil))
	}
	p.waitText("#fault-list", evil)
	p.do(chromedp.Click(chromedp.CSS("#request-list li:first-child summary")))
	p.waitText("#request-list pre", "onerror")
	read[bool](p, `document.querySelector("#balancer-list [data-act=edit]").click(), true`)
	p.wait(`document.getElementById("dialog").open`)
	if read[bool](p, `window.hurt !== undefined || document.querySelector("img[src=x], main script, #request-list b:not(.method)") !== null`) {
		t.Error("a name became markup")
	}
}

func reachesActions(t *testing.T, w *world, p *page) {
	p.do(chromedp.KeyEvent(kb.Tab))
	if got := read[string](p, `document.activeElement.textContent`); got != "Skip to the objects" {
		t.Errorf("first is %q", got)
	}
	reached, invisible := map[string]bool{}, []string{}
	for range 150 {
		p.do(chromedp.KeyEvent(kb.Tab))
		at := read[string](p, `(document.activeElement.ariaLabel ?? document.activeElement.textContent).slice(0, 60)`)
		if read[bool](p, `document.activeElement === document.body`) {
			break // once around
		}
		if read[bool](p, `getComputedStyle(document.activeElement).outlineStyle === "none"`) {
			invisible = append(invisible, at)
		}
		reached[at] = true
	}
	for _, want := range []string{
		"Add droplet", "Power off pool-a-1", "Delete pool-a-1", "Edit shop", "Delete shop", "Drop pool-a-1 from shop", "Delete workers",
		"Renew wildcard", "Inject fault", "Clear all", "Clear fault POST /v2/load_balancers", "Newest requests first", "Pause",
	} {
		if !reached[want] {
			t.Errorf("Tab does not reach %q", want)
		}
	}
	if len(invisible) > 0 {
		t.Errorf("focus is not seen on %q", invisible)
	}
	// By keyboard alone.
	read[bool](p, `document.querySelector('[aria-label="Power off pool-a-1"]').focus(), true`)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.waitText("#said", "pool-a-1 is off.")
}

func keepsFocus(t *testing.T, w *world, p *page) {
	p.press("Power off pool-a-1")
	p.wait(`document.activeElement.ariaLabel === "Power on pool-a-1"`)
	p.press("Delete pool-a-1")
	p.submit()
	p.wait(`document.activeElement.id === "droplets"`)
}

func namesEverything(t *testing.T, w *world, p *page) {
	for what, count := range map[string]int{"main": 1, "aside": 1, "nav": 1, "body > header": 1, "h1": 1, "html[lang]": 1} {
		if got := read[int](p, fmt.Sprintf(`document.querySelectorAll(%q).length`, what)); got != count {
			t.Errorf("%d of %s, want %d", got, what, count)
		}
	}
	nameless := read[[]string](p, `[...document.querySelectorAll("button, input, select, section, nav, aside, [role=meter], svg")]
		.filter((e) => !(e.ariaLabel || e.textContent.trim() || e.closest("label")?.textContent.trim() || document.getElementById(e.getAttribute("aria-labelledby"))))
		.map((e) => e.outerHTML)`)
	if len(nameless) > 0 {
		t.Errorf("without a name: %q", nameless)
	}
	if same := read[[]string](p, `(() => { const ids = [...document.querySelectorAll("[id]")].map((e) => e.id); return ids.filter((id, i) => ids.indexOf(id) !== i); })()`); len(same) > 0 {
		t.Errorf("ids twice: %q", same)
	}
	if got := read[string](p, `document.getElementById("said").ariaLive`); got != "polite" {
		t.Errorf("aria-live %s", got)
	}
}

func tellsAbsence(t *testing.T, w *world, p *page) {
	read[bool](p, `window.fetch = () => Promise.reject(new Error("gone")), true`)
	p.waitText("#live", "Not reachable")
	p.waitText("#said", "what is shown is old")
}
