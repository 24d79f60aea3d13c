// Error messages with the next step, and the form for the server's key.

import { setKey } from "./api.js";
import { el } from "./dom.js";
import { has, t } from "./i18n.js";

/** Return a problem in words of the page, where it has them. */
export function describeProblem(problem) {
  const key = [problem.message, problem.kind].map((word) => `problem.${word}`).find(has);
  return key ? t(key) : problem.message || t("problem.unknown");
}

/** Return the cause or the next step in words of the page, or that of the server, which may be for programs. */
export function describeNextStep(problem) {
  const key = `problem.${problem.kind}.why`;
  return has(key) ? t(key) : problem.next;
}

/** Show a problem; a button calls `onRetry()` where a second try may help. */
export function problemView(problem, onRetry) {
  return el(
    "div",
    { class: "problem", role: "alert" },
    el("p", {}, describeProblem(problem)),
    describeNextStep(problem) ? el("p", { class: "soft small" }, describeNextStep(problem)) : null,
    problem.status === 401 ? el("button", { type: "button", class: "plain", on: { click: () => document.dispatchEvent(new CustomEvent("fathom:key")) } }, t("key.give")) : null,
    onRetry && problem.status !== 401 ? el("button", { type: "button", class: "plain", on: { click: onRetry } }, t("again")) : null,
  );
}

/** Create the form for the server's key, which is stored in this tab alone until the tab closes. */
export function keyForm(onDone) {
  const field = el("input", { type: "password", id: "key", autocomplete: "off", placeholder: "fth_…", spellcheck: "false" });
  const submit = (event) => {
    event.preventDefault();
    setKey(field.value.trim());
    onDone();
  };
  return el(
    "form",
    { class: "key-form", on: { submit } },
    el("label", { for: "key" }, t("key.label")),
    el("div", { class: "buttons" }, field, el("button", { type: "submit", class: "primary" }, t("key.use"))),
    el("p", { class: "soft small" }, t("key.note")),
  );
}
