package simulator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

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
