import { byID, h, keyed, note, status } from "./dom.js";
import { act, control } from "./control.js";
import { check, confirmed, field, openForm, select, text, words } from "./dialog.js";

export function showDroplets(listing) {
  keyed(byID("droplet-list"), listing.items, (d) => d.id, row);
  note("droplet-note", listing, "No droplets yet. Add one, or create it through the API.");
}

const cell = (className, ...content) => h("td", { role: "cell", class: className }, ...content);

function row(d) {
  return h("tr", { role: "row" },
    cell("name", h("strong", {}, d.name), h("small", {}, h("code", {}, String(d.id)), ` · ${d.region} · ${d.size}`)),
    cell("state", status(d.status), d.locked && h("small", {}, "locked")),
    cell("addresses", address("public", d.public_ipv4), address("private", d.private_ipv4), address("public v6", d.public_ipv6)),
    cell("tags", h("ul", { class: "chips", "aria-label": `Tags of ${d.name}` }, d.tags.map((t) => h("li", {}, t)))),
    cell("buttons", power(d), h("button", {
      type: "button", class: "quiet", "data-act": "delete", "aria-label": `Delete ${d.name}`, onclick: () => remove(d),
    }, "Delete")));
}

const address = (kind, ip) => ip && h("div", {}, h("code", {}, ip), h("small", {}, ` ${kind}`));

function power(d) {
  const on = d.status === "active";
  const word = on ? "Power off" : "Power on";
  return h("button", {
    type: "button", "data-act": "power", "aria-label": `${word} ${d.name}`,
    onclick: () => act(`${d.name} is ${on ? "off" : "on"}.`, "POST", `droplets/${d.id}/${on ? "stop" : "start"}`),
  }, word);
}

function remove(d) {
  confirmed(`Delete ${d.name}?`, "The droplet is gone at once, also from the load balancers and firewalls that list it.", "Delete droplet",
    { method: "DELETE", path: `droplets/${d.id}`, done: `${d.name} is deleted.` });
}

// addDroplet asks for what a droplet is made of; what is left empty is chosen
// by the simulator.
export async function addDroplet(team) {
  const offered = await control("GET", "catalog");
  const name = text("", { maxlength: 255, placeholder: "droplet-…" });
  const region = select(offered.regions, "nyc3");
  const size = select(offered.sizes, "s-2vcpu-4gb");
  const image = select(offered.images, "ubuntu-24-04-x64");
  const tags = text("", { placeholder: "k8s:cluster, workers" });
  const [ipv6Label, ipv6] = check("Public IPv6 address", false);
  const [hiddenLabel, hidden] = check("No public IPv4 address", false);
  const [pendingLabel, pending] = check("Stays new, without addresses, until it is powered on", false);
  openForm("Add droplet", [
    field("Name", name), h("div", { class: "fields" }, field("Region", region), field("Size", size)),
    field("Image", image), field("Tags", tags), ipv6Label, hiddenLabel, pendingLabel,
  ], "Add droplet", () => ({
    method: "POST", path: "droplets", done: `${name.value || "A droplet"} is added.`,
    body: {
      name: name.value.trim(), region: region.value, size: size.value, image: image.value, tags: words(tags.value),
      ipv6: ipv6.checked, no_public_ipv4: hidden.checked, pending: pending.checked, team,
    },
  }));
}

