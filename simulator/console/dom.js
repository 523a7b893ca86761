// Building and updating elements. Text only ever enters the page as text nodes
// and attributes, so that no name can become markup.

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false));
  return element;
}

export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

export const byID = (id) => document.getElementById(id);

export const plural = (n, one, many = one + "s") => `${number(n)} ${n === 1 ? one : many}`;

export const number = (n) => n.toLocaleString("en-US");

// clock is the time of day of a timestamp in UTC.
export const clock = (timestamp) => timestamp.slice(11, 19);

const tones = {
  active: "good", succeeded: "good", verified: "good",
  new: "waiting", waiting: "waiting", pending: "waiting",
  off: "idle", archive: "idle", spent: "idle",
  errored: "bad", failed: "bad", error: "bad", missing: "bad",
};

// status is a state in words; colour and shape only repeat them.
export function status(state, words = state) {
  return h("span", { class: `status ${tones[state] ?? "idle"}` }, words);
}

// setText leaves the text alone where it is the same, which keeps a selection.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// keyed makes the children of a list those of the items, by key: children whose
// item is the same stay as they are, with their focus and what was opened.
export function keyed(list, items, keyOf, build) {
  const old = new Map([...list.children].map((child) => [child.dataset.key, child]));
  const keys = new Set(items.map((item) => String(keyOf(item))));
  for (const [key, child] of old) {
    if (!keys.has(key)) removeChild(list, child);
  }
  let next = list.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    const version = JSON.stringify(item);
    let child = old.get(key);
    if (child && child.shows !== version) {
      const fresh = make(build, item, key, version);
      if (next === child) next = fresh;
      replaceChild(child, fresh);
      child = fresh;
    }
    child ??= make(build, item, key, version);
    if (child === next) next = next.nextElementSibling;
    else list.insertBefore(child, next);
  }
}

function make(build, item, key, version) {
  const child = build(item);
  child.dataset.key = key;
  child.shows = version;
  return child;
}

// replaceChild hands the focus on to the same button of the new child.
function replaceChild(child, fresh) {
  const focused = child.contains(document.activeElement) ? document.activeElement.dataset.act : undefined;
  child.replaceWith(fresh);
  if (focused !== undefined) fresh.querySelector(`[data-act="${CSS.escape(focused)}"]`)?.focus();
}

// removeChild sends the focus to the heading rather than to the page's start.
function removeChild(list, child) {
  const focused = child.contains(document.activeElement);
  child.remove();
  if (focused) byID(list.dataset.heading)?.focus();
}

// note tells below a list what it does not show.
export function note(id, listing, none) {
  const element = byID(id);
  let text = "";
  if (listing.total === 0) text = none;
  else if (listing.found === 0) text = `None of ${number(listing.total)} match the search.`;
  else if (listing.items.length < listing.found) {
    text = `The newest ${number(listing.items.length)} of ${number(listing.found)}. Search to see others.`;
  }
  setText(element, text);
  element.hidden = text === "";
}
