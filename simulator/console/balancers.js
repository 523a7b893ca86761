import { byID, h, keyed, note, plural, status } from "./dom.js";
import { act, segment } from "./control.js";
import { confirmed } from "./dialog.js";
import { editBalancer } from "./balancer_form.js";

export function showBalancers(listing) {
  keyed(byID("balancer-list"), listing.items, (lb) => lb.id, card);
  note("balancer-note", listing, "No load balancers yet. They appear here as soon as the API creates one.");
}

function card(lb) {
  return h("li", { class: "card" },
    h("div", { class: "head" },
      h("h3", {}, lb.name), status(lb.status), lb.ip && h("code", {}, lb.ip), lb.ipv6 && h("code", {}, lb.ipv6),
      h("span", { class: "buttons" },
        button("edit", "Edit", lb, () => editBalancer(lb)),
        button("delete", "Delete", lb, () => remove(lb), "quiet"))),
    h("p", { class: "facts" }, facts(lb)),
    h("div", { class: "flow" },
      part("Rules", h("ul", { class: "rules" }, (lb.forwarding_rules ?? []).map(rule))),
      part("Health check", h("p", {}, health(lb.health_check))),
      part(`Backends: ${lb.backends_on} of ${lb.backend_count} on`, share(lb), backends(lb))));
}

function button(name, word, lb, onclick, className = "") {
  return h("button", { type: "button", class: className, "data-act": name, "aria-label": `${word} ${lb.name}`, onclick }, word);
}

const part = (title, ...content) => h("div", {}, h("h4", {}, title), ...content);

function facts(lb) {
  const words = [lb.type, lb.network, lb.region, lb.size || plural(lb.size_unit ?? 0, "unit"), lb.algorithm?.replaceAll("_", " ")];
  if (lb.redirect_http_to_https) words.push("redirects to HTTPS");
  if (lb.enable_proxy_protocol) words.push("PROXY protocol");
  if (lb.sticky_sessions?.type === "cookies") words.push(`sticky by ${lb.sticky_sessions.cookie_name}`);
  for (const side of ["allow", "deny"]) {
    if (lb.firewall?.[side]?.length) words.push(`${side} ${lb.firewall[side].join(" ")}`);
  }
  if (lb.tag) words.push(`droplets tagged ${lb.tag}`);
  return [words.filter((w) => w).join(" · "), " · ", h("code", {}, lb.id)];
}

function rule(r) {
  const end = (protocol, port) => h("span", { class: "end" }, protocol.toUpperCase(), " ", h("b", {}, String(port)));
  return h("li", {}, end(r.entry_protocol, r.entry_port),
    h("span", { class: "arrow", "aria-hidden": "true" }, "→"), h("span", { class: "sr" }, " to "),
    end(r.target_protocol, r.target_port),
    r.tls_passthrough && h("small", {}, "passthrough"),
    r.certificate_id && h("small", { title: r.certificate_id }, `certificate ${r.certificate_id.slice(0, 8)}`));
}

function health(check) {
  if (!check?.protocol) return "none";
  return [
    h("code", {}, `${check.protocol} :${check.port}${check.path ?? ""}`), h("br"),
    `every ${check.check_interval_seconds} s, waits ${check.response_timeout_seconds} s; `,
    `up after ${check.healthy_threshold}, down after ${check.unhealthy_threshold}`,
  ];
}

// share draws how many of the backends are on; the heading says it in words.
function share(lb) {
  if (lb.backend_count === 0) return null;
  const bar = h("span", { class: "share", "aria-hidden": "true" }, h("span"));
  bar.firstChild.style.inlineSize = `${100 * lb.backends_on / lb.backend_count}%`;
  return bar;
}

function backends(lb) {
  if (lb.target_load_balancer_ids?.length) {
    return h("p", {}, plural(lb.target_load_balancer_ids.length, "load balancer"), " behind it");
  }
  if (lb.backend_count === 0) return h("p", { class: "none" }, "Nothing is behind it.");
  const more = lb.backend_count - lb.backends.length;
  return [
    h("ul", { class: "backends", "aria-label": `Backends of ${lb.name}` }, lb.backends.map((b) => backend(lb, b))),
    more > 0 && h("small", {}, `and ${plural(more, "other")}`),
  ];
}

function backend(lb, b) {
  return h("li", {}, h("span", { title: String(b.id) }, b.name), status(b.status),
    !lb.tag && h("button", {
      type: "button", class: "drop", "data-act": `drop-${b.id}`, "aria-label": `Drop ${b.name} from ${lb.name}`, title: "Drop this backend",
      onclick: () => act(`${b.name} is dropped from ${lb.name}.`, "DELETE", `load_balancers/${segment(lb.id)}/droplets/${b.id}`),
    }, "×"));
}

function remove(lb) {
  confirmed(`Delete ${lb.name}?`, "The load balancer and its address are gone at once.", "Delete load balancer",
    { method: "DELETE", path: `load_balancers/${segment(lb.id)}`, done: `${lb.name} is deleted.` });
}
