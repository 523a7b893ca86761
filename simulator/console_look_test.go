package simulator_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// contrasts returns the texts whose contrast with what is behind them is below
// 4.5, or 3 for the borders of controls.
const contrasts = `(() => {
	const channel = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
	const parse = (c) => (c.match(/[\d.]+/g) ?? []).map(Number);
	const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
	const ground = (e) => {
		for (; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			if (c.length === 3 || c[3] === 1) return c;
		}
		return [255, 255, 255];
	};
	const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
	const low = [];
	for (const e of document.querySelectorAll("body *")) {
		if (!e.checkVisibility() || e.disabled || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
		const r = ratio(parse(getComputedStyle(e).color), ground(e));
		if (r < 4.5) low.push(e.tagName + " " + e.textContent.trim().slice(0, 30) + ": " + r.toFixed(2));
	}
	for (const e of document.querySelectorAll("input, select")) {
		const r = ratio(parse(getComputedStyle(e).borderTopColor), ground(e.parentElement));
		if (r < 3) low.push("border of " + e.id + ": " + r.toFixed(2));
	}
	return low;
})()`

func looks(t *testing.T, open func(w *world, width, height int64, steps ...chromedp.Action[chromedp.Void]) *page) {
	readable := func(p *page) {
		t.Helper()
		if low := read[[]string](p, contrasts); len(low) > 0 {
			t.Errorf("too little contrast: %q", low)
		}
	}
	fits := func(p *page) {
		t.Helper()
		wide := read[[]string](p, `[...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.closest("nav, .sr, thead, #said, .skip, svg") &&
			e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5).map((e) => e.tagName + "." + e.className)`)
		if len(wide) > 0 || read[bool](p, `document.documentElement.scrollWidth > document.documentElement.clientWidth`) {
			t.Errorf("wider than the screen: %q", wide)
		}
	}
	w := consoleWorld(t)

	light := open(w, 1440, 1000)
	light.waitText("#droplet-list", "pool-a-1")
	readable(light)
	fits(light)
	light.shoot("desktop-light")
	light.press("Edit shop")
	readable(light)
	light.shoot("desktop-form")

	night := open(w, 1440, 1000, dark)
	night.waitText("#droplet-list", "pool-a-1")
	readable(night)
	if sum := read[int](night, `getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b)`); sum > 150 {
		t.Errorf("dark ground is as light as %d", sum)
	}
	night.shoot("desktop-dark")

	for _, width := range []int64{320, 375, 768, 1101} {
		small := open(w, width, 812)
		small.waitText("#droplet-list", "pool-a-1")
		fits(small)
		if width != 375 {
			continue
		}
		readable(small)
		small.shoot("phone")
		small.press("Edit shop")
		fits(small)
		small.shoot("phone-form")
		short := read[[]string](small, `[...document.querySelectorAll("dialog button, dialog input:not([type=checkbox]), dialog select")]
			.filter((e) => e.getBoundingClientRect().height < 36).map((e) => e.outerHTML)`)
		if len(short) > 0 {
			t.Errorf("too small for a finger: %q", short)
		}
	}

	empty := open(newWorld(t), 1440, 800)
	for selector, text := range map[string]string{
		"#droplet-note": "No droplets yet", "#balancer-note": "No load balancers yet", "#request-note": "Nothing has been asked", "#budget-note": "No token",
	} {
		empty.waitText(selector, text)
	}
	empty.shoot("empty")
}
