// One modal dialog for all questions and forms.

import { byID, h } from "./dom.js";
import { control, say, afterAction } from "./control.js";

let refresh = () => {};
afterAction(() => refresh());
export const onChange = (listener) => { refresh = listener; };

function open(title, content) {
  const dialog = byID("dialog");
  dialog.replaceChildren(h("h2", { id: "dialog-title" }, title), content);
  dialog.showModal();
}

const close = () => byID("dialog").close();

// openForm shows fields; submit returns what to do as {method, path, body,
// done}, or nothing when there is nothing to do. Errors are shown in the form.
export function openForm(title, fields, button, submit, { danger = false } = {}) {
  const error = h("p", { role: "alert", class: "error" });
  const send = h("button", { class: danger ? "danger" : "primary", type: "submit" }, button);
  const form = h("form", { novalidate: true, onsubmit: onSubmit }, fields, error,
    h("div", { class: "actions" }, h("button", { type: "button", onclick: close }, "Cancel"), send));
  async function onSubmit(event) {
    event.preventDefault();
    error.textContent = "";
    const invalid = form.querySelector(":invalid:not(fieldset)");
    if (invalid) {
      const label = invalid.getAttribute("aria-label") ?? invalid.closest("label").firstChild.textContent;
      error.textContent = `${label}: ${invalid.validationMessage}`;
      invalid.focus();
      return;
    }
    send.disabled = true;
    try {
      const task = submit();
      if (task) await control(task.method, task.path, task.body);
      close();
      say(task ? task.done : "Nothing to change.");
      await refresh();
    } catch (failure) {
      error.textContent = failure.message;
    } finally {
      send.disabled = false;
    }
  }
  open(title, form);
}

// confirmed asks before something is destroyed.
export function confirmed(title, text, button, task) {
  openForm(title, [h("p", {}, text)], button, () => task, { danger: true });
}

export function field(label, input, hint) {
  return h("label", {}, label, input, hint && h("small", {}, hint));
}

export function text(value = "", props = {}) {
  return h("input", { type: "text", autocomplete: "off", spellcheck: "false", value, ...props });
}

export function integer(value, min, max, props = {}) {
  return h("input", { type: "number", value, min, max, step: 1, inputmode: "numeric", ...props });
}

// select offers the choices, and the value even where it is none of them.
export function select(choices, value, props = {}) {
  const all = choices.includes(value) || value === undefined ? choices : [value, ...choices];
  const element = h("select", props, all.map((c) => h("option", { value: c }, c === "" ? "any" : c)));
  element.value = value ?? all[0];
  return element;
}

export function check(label, on) {
  const input = h("input", { type: "checkbox" });
  input.checked = on;
  return [h("label", { class: "check" }, input, label), input];
}

// words splits a list written with commas or spaces.
export const words = (list) => list.split(/[\s,]+/).filter((w) => w !== "");
