// The budget's gauges, the plot of calls by minute, and the log of requests.

import { byID, clock, h, keyed, note, number, plural, setText, svg } from "./dom.js";
import { control } from "./control.js";

export function showTraffic(traffic) {
  keyed(byID("budget-list"), traffic.budgets, (b) => b.token, gauge);
  note("budget-note", { items: traffic.budgets, found: 1, total: traffic.budgets.length }, "No token has been used yet.");
  showPlot(traffic.minutes);
  keyed(byID("request-list"), traffic.requests, (r) => r.sequence, entry);
  const text = traffic.requests.length > 0 ? "" : traffic.logged > 0 ? "No request matches." : "Nothing has been asked yet.";
  setText(byID("request-note"), text);
  byID("request-note").hidden = text === "";
  byID("request-list").hidden = text !== "";
}

function gauge(b) {
  const unlimited = b.limit <= 0;
  const left = Math.max(b.limit - b.used, 0);
  const words = unlimited ? `${number(b.used)} used, no limit` : `${number(left)} of ${number(b.limit)} left`;
  const share = unlimited ? 1 : left / b.limit;
  const bar = h("div", {
    class: `gauge ${share < 0.1 ? "bad" : share < 0.25 ? "waiting" : ""}`, role: "meter", "aria-label": `Budget of token …${b.token}`,
    "aria-valuemin": 0, "aria-valuemax": unlimited ? b.used : b.limit, "aria-valuenow": unlimited ? b.used : left, "aria-valuetext": words,
  }, h("span"));
  bar.firstChild.style.inlineSize = `${100 * share}%`;
  const minute = b.minute_limit > 0 ? `${number(b.used_in_minute)} of ${number(b.minute_limit)}` : number(b.used_in_minute);
  return h("li", {},
    h("p", {}, h("strong", {}, words), h("small", {}, " token ", h("code", {}, `…${b.token}`))), bar,
    h("p", { class: "facts" }, `${minute} in this minute`, b.frees && ` · the oldest leaves at ${clock(b.frees)}`));
}

const plotHeight = 56;
let plotted;

function showPlot(minutes) {
  const version = JSON.stringify(minutes);
  if (version === plotted) return;
  plotted = version;
  const most = Math.max(...minutes.map((m) => m.calls));
  const total = minutes.reduce((sum, m) => sum + m.calls, 0);
  const failed = minutes.reduce((sum, m) => sum + m.failed, 0);
  const words = `${plural(total, "call")} in the last hour, ${number(failed)} failed, at most ${number(most)} in a minute, ` +
    `${number(minutes.at(-1).calls)} in this one`;
  const scale = plotHeight / Math.max(most, 4);
  const bars = minutes.flatMap((m, i) => bar(m, i, minutes.length, scale));
  byID("plot").replaceChildren(
    svg("svg", { viewBox: `0 0 ${minutes.length * 6} ${plotHeight}`, preserveAspectRatio: "none", role: "img", "aria-label": words }, bars),
    h("p", { class: "axis", "aria-hidden": "true" }, h("span", {}, "an hour ago"), h("span", {}, `at most ${number(most)} a minute`), h("span", {}, "now")),
    h("p", { class: "facts" }, plural(total, "call"), " in the last hour",
      failed > 0 && [", ", h("span", { class: "status bad" }, `${number(failed)} failed`)]));
}

function bar(m, i, count, scale) {
  const ago = count - 1 - i;
  const height = m.calls * scale;
  const bad = m.failed > 0 ? Math.max(m.failed * scale, 3) : 0; // one in many is to be seen
  const title = () => svg("title", {}, `${ago === 0 ? "this minute" : `${ago} min ago`}: ${plural(m.calls, "call")}, ${m.failed} failed`);
  return [
    svg("rect", { class: "base", x: i * 6, y: plotHeight - 1, width: 5, height: 1 }),
    height > bad && svg("rect", { class: "calls", x: i * 6, y: plotHeight - height, width: 5, height: height - bad }, title()),
    bad > 0 && svg("rect", { class: "failed", x: i * 6, y: plotHeight - bad, width: 5, height: bad }, title()),
  ];
}

const tone = (code) => (code === 0 ? "waiting" : code >= 400 ? "bad" : "good");

// entry opens to show what the request carried.
function entry(r) {
  const more = h("div", { class: "more" });
  const details = h("details", { ontoggle: () => details.open && showMore(r, more) },
    h("summary", {},
      h("time", { datetime: r.time }, clock(r.time)), h("b", { class: "method" }, r.method),
      h("span", { class: "path" }, r.path, r.query && h("span", { class: "query" }, `?${r.query}`)),
      h("span", { class: `status ${tone(r.status)}` }, r.status === 0 ? "none" : String(r.status))),
    more);
  return h("li", {}, details);
}

async function showMore(r, more) {
  const facts = [
    r.user_agent || "client unknown", r.token ? `token …${r.token}` : "no token", r.cost ? "counted" : "not counted", `id ${r.request_id}`,
  ];
  more.replaceChildren(h("p", { class: "facts" }, facts.join(" · ")));
  if (r.body_bytes === 0) return;
  let body;
  try {
    const { request } = await control("GET", `requests/${r.sequence}`);
    body = request.body === undefined ? `${plural(r.body_bytes, "byte")}, not kept` : JSON.stringify(request.body, null, 2);
  } catch (error) {
    body = `The body cannot be read: ${error.message}`;
  }
  more.append(h("pre", { tabindex: 0, "aria-label": "Body of the request" }, body));
}
