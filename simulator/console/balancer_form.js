// The form that changes a load balancer by hand. Only what was changed is sent,
// so that nothing else is put back to what the page saw last.

import { h } from "./dom.js";
import { segment } from "./control.js";
import { check, field, integer, openForm, select, text } from "./dialog.js";

const protocols = ["http", "https", "http2", "http3", "tcp", "udp"];

export function editBalancer(lb) {
  const name = text(lb.name, { required: true, maxlength: 255 });
  const units = integer(lb.size_unit ?? 0, 0, 200);
  const algorithm = select(["round_robin", "least_connections"], lb.algorithm);
  const state = select(["new", "active", "errored"], lb.status);
  const [redirectLabel, redirect] = check("Redirect HTTP to HTTPS", lb.redirect_http_to_https);
  const [proxyLabel, proxy] = check("PROXY protocol", lb.enable_proxy_protocol);
  const port = integer(lb.health_check.port, 1, 65535);
  const path = text(lb.health_check.path ?? "");
  const rules = ruleList(lb.forwarding_rules ?? []);

  openForm(`Edit ${lb.name}`, [
    h("p", { class: "hint" }, "As if by hand in the cloud’s own console: no rule is checked."),
    field("Name", name),
    h("div", { class: "fields" }, field("Size in units", units), field("Status", state)),
    field("Algorithm", algorithm), rules.element,
    h("div", { class: "fields" }, field("Health check port", port), field("Health check path", path)),
    redirectLabel, proxyLabel,
  ], "Save", () => {
    const body = changed({
      name: [lb.name, name.value],
      size_unit: [lb.size_unit ?? 0, Number(units.value)],
      algorithm: [lb.algorithm, algorithm.value],
      status: [lb.status, state.value],
      redirect_http_to_https: [lb.redirect_http_to_https, redirect.checked],
      enable_proxy_protocol: [lb.enable_proxy_protocol, proxy.checked],
      forwarding_rules: [lb.forwarding_rules ?? [], rules.values()],
    });
    const probe = changed({
      port: [lb.health_check.port, Number(port.value)], path: [lb.health_check.path ?? "", path.value],
    });
    if (probe) return task(lb, { ...body, health_check: probe });
    return body && task(lb, body);
  });
}

const task = (lb, body) => ({
  method: "PATCH", path: `load_balancers/${segment(lb.id)}`, body, done: `${body.name ?? lb.name} is changed.`,
});

// changed keeps the members whose value is not what it was; undefined if none.
function changed(members) {
  const differing = Object.entries(members).filter(([, [was, is]]) => JSON.stringify(was) !== JSON.stringify(is));
  if (differing.length === 0) return undefined;
  return Object.fromEntries(differing.map(([name, [, is]]) => [name, is]));
}

// ruleList edits forwarding rules; what a row does not show of its rule is kept.
function ruleList(initial) {
  const rows = new Map();
  const list = h("div", { class: "rule-rows" });
  function add(rule) {
    const entry = select(protocols, rule.entry_protocol, { "aria-label": "Entry protocol" });
    const entryPort = integer(rule.entry_port, 1, 65535, { required: true, "aria-label": "Entry port" });
    const target = select(protocols, rule.target_protocol, { "aria-label": "Target protocol" });
    const targetPort = integer(rule.target_port, 1, 65535, { required: true, "aria-label": "Target port" });
    const remove = h("button", { type: "button", class: "drop", "aria-label": "Remove this rule", onclick: onRemove }, "×");
    const row = h("div", { role: "group", "aria-label": "Rule" }, entry, entryPort,
      h("span", { "aria-hidden": "true" }, "→"), target, targetPort, remove);
    function onRemove() {
      rows.delete(row);
      row.remove();
      more.focus();
    }
    rows.set(row, () => ({
      ...rule, entry_protocol: entry.value, entry_port: Number(entryPort.value),
      target_protocol: target.value, target_port: Number(targetPort.value),
    }));
    list.append(row);
    return entry;
  }
  const more = h("button", { type: "button", onclick: () => add({
    entry_protocol: "tcp", entry_port: "", target_protocol: "tcp", target_port: "", certificate_id: "", tls_passthrough: false,
  }).focus() }, "Add rule");
  initial.forEach(add);
  return {
    element: h("fieldset", {}, h("legend", {}, "Rules: where traffic enters, and where it goes"), list, more),
    values: () => [...rows.values()].map((value) => value()),
  };
}
