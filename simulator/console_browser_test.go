package simulator_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// requireChromium names the environment variable that makes a missing browser
// an error.
const requireChromium = "REQUIRE_CHROMIUM"

// shotsDir names the environment variable with a directory for screenshots.
const shotsDir = "CONSOLE_SCREENSHOTS"

// patience bounds what the browser and the page may take for one step.
const patience = 90 * time.Second

func chromiumPath(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv(requireChromium) == "1" {
		t.Fatalf("no Chromium found, and %s=1 asks for one", requireChromium)
	}
	t.Skip("SKIPPED: the console is not tested, for no Chromium is installed")
	return ""
}

// startBrowser returns the context of a running browser, to open pages in.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromiumPath(t)), chromedp.Flag("lang", "en-US"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses it to root
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	browser, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return browser
}

// page is the console of a world in a tab of its own.
type page struct {
	t   *testing.T
	ctx context.Context

	mu sync.Mutex
	// troubles are exceptions, failed loads and breaches of the page's policy.
	troubles []string
}

// openConsole opens a world's console and waits until it shows something. The
// test fails if the page meets an error until its end.
func openConsole(t *testing.T, browser context.Context, w *world, width, height int64, steps ...chromedp.Action[chromedp.Void]) *page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	p := &page{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.troubles) > 0 {
			t.Errorf("the page met:\n%s", strings.Join(p.troubles, "\n"))
		}
	})
	p.do(chromedp.EmulateViewport(width, height))
	p.do(steps...)
	p.do(chromedp.Navigate(w.url + "/"))
	p.wait(`document.documentElement.dataset.ready === ""`)
	return p
}

func (p *page) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.troubles = append(p.troubles, e.ExceptionDetails.Text+fmt.Sprint(e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			p.troubles = append(p.troubles, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// forgive forgets the errors so far, which the test has provoked.
func (p *page) forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.troubles = nil
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// read evaluates an expression in the page.
func read[T any](p *page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("read %s: %v", expression, err)
	}
	return v
}

// wait waits until a condition holds in the page.
func (p *page) wait(condition string) {
	p.t.Helper()
	held := read[bool](p, fmt.Sprintf(`new Promise((done) => {
		const end = Date.now() + %d;
		(function look() {
			if (%s) done(true);
			else if (Date.now() > end) done(false);
			else setTimeout(look, 20);
		})();
	})`, (patience/2).Milliseconds(), condition))
	if !held {
		p.t.Fatalf("never: %s\nsaid: %s", condition, read[string](p, `document.querySelector("#said").innerText + document.querySelector("dialog").innerText`))
	}
}

// waitText waits for a text within the element of the selector.
func (p *page) waitText(selector, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`document.querySelector(%q)?.textContent.includes(%q)`, selector, text))
}

// press clicks the button whose accessible name is given.
func (p *page) press(label string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(fmt.Sprintf(`button[aria-label=%q]`, label))))
}

// submit presses the form's button and waits until the dialog is gone.
func (p *page) submit() {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(`dialog button[type=submit]`)))
	p.wait(`!document.getElementById("dialog").open`)
}

// enter fills the field of the open form that has the label.
func (p *page) enter(label, value string) {
	p.t.Helper()
	set := fmt.Sprintf(`(() => {
		const label = [...document.querySelectorAll("dialog label")].find((l) => l.textContent.startsWith(%[1]q));
		const input = label?.querySelector("input, select") ?? document.querySelector('dialog [aria-label="' + %[1]q + '"]');
		if (input.type === "checkbox") input.click();
		else input.value = %[2]q;
		input.dispatchEvent(new Event("input", { bubbles: true }));
		input.dispatchEvent(new Event("change", { bubbles: true }));
		return input.value;
	})()`, label, value)
	read[string](p, set)
}

// shoot keeps a picture where screenshots are asked for.
func (p *page) shoot(name string) {
	p.t.Helper()
	dir := os.Getenv(shotsDir)
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatalf("take a screenshot: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// dark makes the page believe that its user prefers dark colours.
func dark(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	return chromedp.Void{}, err
}
