// What went wrong, in words, with what to do next.

import { setKey } from "./api.js";
import { el } from "./dom.js";
import { has, t } from "./i18n.js";

/** A problem for people; `again()` is offered where trying again may help. */
export function problemView(problem, again) {
  const key = `problem.${problem.message}`;
  const words = has(key) ? t(key) : problem.message || t("problem.unknown");
  return el(
    "div",
    { class: "problem", role: "alert" },
    el("p", {}, words),
    problem.next ? el("p", { class: "soft small" }, problem.next) : null,
    problem.status === 401 ? el("button", { type: "button", class: "plain", on: { click: () => document.dispatchEvent(new CustomEvent("fathom:key")) } }, t("key.give")) : null,
    again && problem.status !== 401 ? el("button", { type: "button", class: "plain", on: { click: again } }, t("again")) : null,
  );
}

/** Where the key of the server is given; it is kept until this tab is closed, and nowhere else. */
export function keyForm(done) {
  const field = el("input", { type: "password", id: "key", autocomplete: "off", placeholder: "fth_…", spellcheck: "false" });
  const submit = (event) => {
    event.preventDefault();
    setKey(field.value.trim());
    done();
  };
  return el(
    "form",
    { class: "key-form", on: { submit } },
    el("label", { for: "key" }, t("key.label")),
    el("div", { class: "buttons" }, field, el("button", { type: "submit", class: "primary" }, t("key.use"))),
    el("p", { class: "soft small" }, t("key.note")),
  );
}
