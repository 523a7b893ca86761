package simulator_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"digitalocean-cloud-controller-manager/simulator"
)

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
