// Requests to the simulator's control surface. Addresses are relative, so that
// the page also works where the simulator is mounted below a path.

import { byID } from "./dom.js";

const timeout = 10_000;

export async function control(method, path, body) {
  const options = { method, signal: AbortSignal.timeout(timeout), cache: "no-store" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { "Content-Type": "application/json" };
  }
  const response = await fetch(`_simulator/${path}`, options);
  const answer = response.status === 204 ? undefined : await response.json();
  if (!response.ok) throw new Error(answer?.error ?? `answered ${response.status}`);
  return answer;
}

export const segment = encodeURIComponent;

let hide;

// say tells the outcome of an action, to everyone.
export function say(text, failed = false) {
  const said = byID("said");
  said.textContent = text;
  said.className = failed ? "failed" : "";
  clearTimeout(hide);
  hide = setTimeout(() => { said.textContent = ""; }, failed ? 12_000 : 5_000);
}

const listeners = [];

// afterAction registers what brings the page up to date.
export const afterAction = (listener) => listeners.push(listener);

// act does something by the control surface, says so, and shows the result.
export async function act(done, method, path, body) {
  try {
    await control(method, path, body);
  } catch (error) {
    say(`Not done: ${error.message}`, true);
    return false;
  }
  say(done);
  for (const listener of listeners) await listener();
  return true;
}
