import { byID, h, keyed, note, plural, status } from "./dom.js";
import { act } from "./control.js";
import { field, integer, openForm, select, text } from "./dialog.js";

export function showFaults(faults) {
  keyed(byID("fault-list"), faults, (f) => f.id, fault);
  note("fault-note", { items: faults, found: faults.length, total: faults.length }, "None: every request is answered as it should be.");
  byID("clear-faults").disabled = faults.length === 0;
}

export const clearFaults = () => act("All faults are cleared.", "DELETE", "faults");

function fault(f) {
  const where = `${f.method || "any"} ${f.path || "every path"}${f.query ? "?" + f.query : ""}`;
  const spent = f.count > 0 && f.hits >= f.count;
  const chance = f.probability > 0 && f.probability < 1 ? `, ${Math.round(f.probability * 100)} % of them` : "";
  return h("li", {},
    h("div", {}, h("code", {}, where), " ", status(spent ? "spent" : "errored", spent ? "spent" : "armed"),
      h("small", {}, `${effects(f)} · met ${plural(f.hits, "time")}${f.count ? ` of ${f.count}` : ""}${chance}`)),
    h("span", { class: "buttons" }, h("button", {
      type: "button", class: "quiet", "data-act": "clear", "aria-label": `Clear fault ${where}`,
      onclick: () => act("The fault is cleared.", "DELETE", `faults/${f.id}`),
    }, "Clear")));
}

function effects(f) {
  const words = [];
  if (f.reset) words.push("connection cut");
  else if (f.quota) words.push(`${f.quota}’s quota used up`);
  else if (f.status) words.push(`answers ${f.status}`);
  if (f.after_acting) words.push("after acting");
  if (f.delay) words.push(`late by ${f.delay}`);
  if (f.trickle) words.push(`trickles over ${f.trickle}`);
  if (f.list_lag) words.push(`list of ${f.list_lag} ago`);
  if (f.truncate) words.push("body cut in half");
  if (f.malformed) words.push("broken JSON");
  if (f.omit_items) words.push(f.omit_items < 0 ? "no items" : `without ${plural(f.omit_items, "item")}`);
  if (f.omit_links) words.push("no links to other pages");
  if (f.total !== undefined) words.push(`says ${f.total} in total`);
  if (f.errored) words.push("ends errored");
  return words.join(", ") || "no effect";
}

// kinds maps each effect of the form to the members of a fault; with a unit it
// asks for a value.
const kinds = {
  "Answer with a status": { ask: "Status", start: 500, min: 200, max: 599, make: (v) => ({ status: v }) },
  "Cut the connection before acting": { make: () => ({ reset: true }) },
  "Act, then cut the connection": { make: () => ({ reset: true, after_acting: true }) },
  "Answer late": { ask: "Seconds", start: 5, min: 1, max: 600, make: (v) => ({ delay: `${v}s` }) },
  "Answer in a slow trickle": { ask: "Seconds", start: 5, min: 1, max: 600, make: (v) => ({ trickle: `${v}s` }) },
  "Cut the body in half": { make: () => ({ truncate: true }) },
  "Broken JSON": { make: () => ({ malformed: true }) },
  "Lists of the past": { ask: "Seconds", start: 30, min: 1, max: 3600, make: (v) => ({ list_lag: `${v}s` }) },
  "Hour’s quota used up": { make: () => ({ quota: "hour" }) },
  "Minute’s quota used up": { make: () => ({ quota: "minute" }) },
  "New load balancer ends errored": { make: () => ({ errored: true }) },
};

const paths = ["/v2/droplets", "/v2/load_balancers", "/v2/firewalls", "/v2/certificates", "/v2/tags", "/v2/account"];

export function addFault() {
  const method = select(["", "GET", "POST", "PUT", "PATCH", "DELETE"], "");
  const path = text("", { list: "fault-paths", placeholder: "every path", pattern: "/.*" });
  const kind = select(Object.keys(kinds));
  const value = integer("", 1, 1, { required: true });
  const asked = field("Status", value);
  const count = integer(1, 0, 1_000_000, { required: true });
  const percent = integer(100, 1, 100, { required: true });
  function onKind() {
    const { ask, start, min, max } = kinds[kind.value];
    asked.hidden = value.disabled = ask === undefined;
    if (ask === undefined) return;
    asked.firstChild.textContent = ask;
    Object.assign(value, { min, max, value: start });
  }
  kind.addEventListener("change", onKind);
  onKind();
  openForm("Inject fault", [
    h("div", { class: "fields" }, field("Method", method), field("Path", path, "With all below it; * stands for one segment")),
    h("datalist", { id: "fault-paths" }, paths.map((p) => h("option", { value: p }))),
    h("div", { class: "fields" }, field("What happens", kind), asked),
    h("div", { class: "fields" }, field("How many times", count, "0 is without end"), field("Chance in percent", percent)),
  ], "Inject fault", () => ({
    method: "POST", path: "faults", done: "The fault is injected.",
    body: {
      method: method.value, path: path.value, count: Number(count.value),
      probability: percent.value === "100" ? 0 : Number(percent.value) / 100,
      ...kinds[kind.value].make(Number(value.value)),
    },
  }));
}
