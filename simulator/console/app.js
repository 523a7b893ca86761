// Reads the overview every second and shows it.

import { byID, clock, h, keyed, number, setText } from "./dom.js";
import { control, say } from "./control.js";
import { onChange } from "./dialog.js";
import { addDroplet, showDroplets } from "./droplets.js";
import { showBalancers } from "./balancers.js";
import { showCertificates, showFirewalls, showTags } from "./objects.js";
import { addFault, clearFaults, showFaults } from "./faults.js";
import { showTraffic } from "./traffic.js";

const interval = 1000;

const state = { paused: false, team: "", timer: 0, turn: 0 };

function query() {
  const parameters = new URLSearchParams({
    team: state.team, q: byID("search").value, log: byID("log-text").value, kind: byID("log-kind").value,
  });
  return `overview?${parameters}`;
}

// refresh reads and shows; an answer that was overtaken by a later one is lost.
async function refresh() {
  clearTimeout(state.timer);
  const turn = ++state.turn;
  try {
    const overview = await control("GET", query());
    if (turn !== state.turn) return;
    show(overview);
    setLive(state.paused ? "paused" : "live", overview.time);
  } catch {
    if (turn !== state.turn) return;
    setLive("away");
  }
  schedule();
}

function schedule() {
  clearTimeout(state.timer);
  if (!state.paused && !document.hidden) state.timer = setTimeout(refresh, interval);
}

function setLive(mode, time) {
  const live = byID("live");
  live.className = `live ${mode}`;
  const words = { live: "Live", paused: "Paused", away: "Not reachable" };
  setText(byID("live-text"), time ? `${words[mode]} ${clock(time)}` : words[mode]);
  byID("utc").hidden = !time;
  if (mode === "away" && state.mode !== "away") say("The simulator is not reachable; what is shown is old.", true);
  if (mode !== "away" && state.mode === "away") say("The simulator is back.");
  state.mode = mode;
}

function show(overview) {
  showTeams(overview);
  showDroplets(overview.droplets);
  showBalancers(overview.load_balancers);
  showFirewalls(overview.firewalls);
  showCertificates(overview.certificates);
  showTags(overview.tags);
  showFaults(overview.faults);
  showTraffic(overview.traffic);
  for (const [id, count] of [
    ["droplets", overview.droplets.total], ["load-balancers", overview.load_balancers.total],
    ["firewalls", overview.firewalls.total], ["certificates", overview.certificates.total],
    ["tags", overview.tags.total], ["faults", overview.faults.length], ["requests", overview.traffic.logged],
  ]) setText(byID(`n-${id}`), number(count));
  document.documentElement.dataset.ready = "";
}

function showTeams(overview) {
  byID("team-label").hidden = overview.teams.length < 2;
  keyed(byID("team"), overview.teams.map((name) => ({ name })), (t) => t.name, (t) => h("option", { value: t.name }, t.name));
  state.team = overview.team;
  byID("team").value = overview.team;
}

function togglePause() {
  state.paused = !state.paused;
  byID("pause").setAttribute("aria-pressed", state.paused);
  refresh();
}

async function openAddDroplet() {
  try {
    await addDroplet(state.team);
  } catch (error) {
    say(`Not done: ${error.message}`, true);
  }
}

onChange(refresh);
byID("pause").addEventListener("click", togglePause);
byID("add-droplet").addEventListener("click", openAddDroplet);
byID("add-fault").addEventListener("click", addFault);
byID("clear-faults").addEventListener("click", clearFaults);
byID("team").addEventListener("change", () => { state.team = byID("team").value; refresh(); });
for (const id of ["search", "log-text", "log-kind"]) byID(id).addEventListener("input", refresh);
document.addEventListener("visibilitychange", () => { if (!document.hidden && !state.paused) refresh(); });
refresh();
