// Firewalls, certificates and tags.

import { byID, h, keyed, note, number, plural, status } from "./dom.js";
import { act, segment } from "./control.js";
import { confirmed } from "./dialog.js";

export function showFirewalls(listing) {
  keyed(byID("firewall-list"), listing.items, (f) => f.id, firewall);
  note("firewall-note", listing, "No firewalls.");
}

function firewall(f) {
  return h("li", { class: "card" },
    h("div", { class: "head" }, h("h3", {}, f.name), status(f.status),
      h("span", { class: "buttons" }, quiet("delete", `Delete ${f.name}`, "Delete", () => removeFirewall(f)))),
    h("p", { class: "facts" }, `on ${plural(f.covered, "droplet")}`,
      f.tags?.length > 0 && ` · by tag ${f.tags.join(", ")}`,
      f.pending_changes?.length > 0 && ` · ${plural(f.pending_changes.length, "change")} on the way`,
      " · ", h("code", {}, f.id)),
    h("div", { class: "flow two" },
      side("Inbound", f.inbound_rules, "from", (r) => r.sources), side("Outbound", f.outbound_rules, "to", (r) => r.destinations)));
}

function side(title, rules, direction, target) {
  const lines = (rules ?? []).map((r) => h("li", {},
    h("span", { class: "end" }, r.protocol.toUpperCase(), " ", r.protocol !== "icmp" && h("b", {}, r.ports === "0" ? "all" : r.ports)),
    h("span", {}, `${r.action === "deny" ? "denied " : ""}${direction} ${peers(target(r))}`)));
  return h("div", {}, h("h4", {}, title),
    lines.length ? h("ul", { class: "rules" }, lines) : h("p", { class: "none" }, "Nothing is let through."));
}

function peers(t) {
  const all = [
    ...(t?.addresses ?? []), ...(t?.tags ?? []).map((tag) => `tag ${tag}`),
    ...(t?.droplet_ids ?? []).map((id) => `droplet ${id}`), ...(t?.kubernetes_ids ?? []).map((id) => `cluster ${id}`),
    ...(t?.load_balancer_uids ?? []).map((id) => `load balancer ${id.slice(0, 8)}`),
  ];
  const shown = all.slice(0, 8).join(", ");
  return all.length > 8 ? `${shown} and ${number(all.length - 8)} more` : shown || "nowhere";
}

const quiet = (name, label, word, onclick) =>
  h("button", { type: "button", class: "quiet", "data-act": name, "aria-label": label, onclick }, word);

function removeFirewall(f) {
  confirmed(`Delete ${f.name}?`, "Its droplets are without this firewall at once.", "Delete firewall",
    { method: "DELETE", path: `firewalls/${segment(f.id)}`, done: `${f.name} is deleted.` });
}

export function showCertificates(listing) {
  keyed(byID("certificate-list"), listing.items, (c) => c.id, certificate);
  note("certificate-note", listing, "No certificates.");
}

function certificate(c) {
  const path = `certificates/${segment(c.id)}`;
  return h("li", {},
    h("div", {}, h("strong", {}, c.name), " ", status(c.state),
      h("small", {}, h("code", {}, c.id.slice(0, 8)), ` · ${c.type.replaceAll("_", " ")}`,
        c.not_after && ` · until ${c.not_after.slice(0, 10)}`, c.dns_names?.length > 0 && ` · ${c.dns_names.join(", ")}`)),
    h("span", { class: "buttons" },
      h("button", { type: "button", "data-act": "rotate", "aria-label": `Renew ${c.name}`, title: "The same name gets a new id, as when it is renewed",
        onclick: () => act(`${c.name} is renewed, with a new id.`, "POST", `${path}/rotate`) }, "Renew"),
      quiet("delete", `Delete ${c.name}`, "Delete", () => confirmed(`Delete ${c.name}?`, "It is gone at once, unless a load balancer uses it.",
        "Delete certificate", { method: "DELETE", path, done: `${c.name} is deleted.` }))));
}

export function showTags(listing) {
  keyed(byID("tag-list"), listing.items, (t) => t.name, (t) => h("li", {}, t.name, " ", h("b", {}, number(t.count))));
  note("tag-note", listing, "No tags.");
}
