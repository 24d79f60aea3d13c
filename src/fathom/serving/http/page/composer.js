// The box for a question, with its strategy, effort and budget.

import { get } from "./api.js";
import { el, fill, icon, iconButton } from "./dom.js";
import { has, formatNumber, t } from "./i18n.js";

const LIMITS = { max_tokens: "tokens", max_calls: "calls", deadline: "seconds", max_cost: "cost_usd" };
const EFFORTS = ["low", "medium", "high"];
const choices = { strategy: "", effort: "", budget: {} };
let cachedCatalogue = null;

/** Load the strategies and efforts of the server once. */
export async function loadCatalogue() {
  cachedCatalogue ??= await get("/strategies");
  return cachedCatalogue;
}

export const strategyHint = (name) => (has(`strategy.${name}`) ? t(`strategy.${name}`) : name);

/** Create a list of strategies; `defaultLabel` names the entry that leaves the choice to the server. */
export function strategySelect(label, value, defaultLabel) {
  const select = el("select", { "aria-label": label, title: label });
  const ready = loadCatalogue().then((catalogue) => {
    const buildOption = (name, text) => el("option", { value: name, selected: name === value }, text);
    fill(select, defaultLabel === undefined ? [] : buildOption("", defaultLabel), catalogue.strategies.map((strategy) => buildOption(strategy.name, strategy.name)));
    select.value = value;
    return catalogue;
  });
  ready.catch(() => fill(select, el("option", { value: "" }, defaultLabel ?? "")));
  return { select, ready };
}

/** Return the strategy, effort and budget that the user chose, for the request. */
export function readChoices() {
  const budget = Object.fromEntries(Object.entries(choices.budget).filter(([, value]) => value !== null));
  return {
    ...(choices.strategy && { strategy: choices.strategy }),
    ...(choices.effort && { effort: choices.effort }),
    ...(Object.keys(budget).length && { budget }),
  };
}

/**
 * Create the box. Enter calls `onAsk(question)`, or `onStop()` while a question is being answered.
 * The arrow key fills the box from `readPreviousQuestion()`.
 */
export function composerView({ onAsk, onStop, readPreviousQuestion }) {
  let busy = false;
  const field = el("textarea", {
    id: "question",
    rows: 1,
    placeholder: t("ask.placeholder"),
    "aria-label": t("ask.label"),
    enterkeyhint: "send",
    autocomplete: "off",
    maxlength: 4000,
  });
  const send = el("button", { type: "submit", class: "send", "aria-label": t("ask.send"), title: t("ask.send") }, icon("send"));
  const budget = budgetFields();
  const more = iconButton("sliders", t("budget.title"), toggleBudget, { "aria-expanded": "false", "aria-controls": "budget" });
  const form = el(
    "form",
    { class: "composer", on: { submit: submitQuestion } },
    field,
    el("div", { class: "composer-row" }, effortSelect(), buildStrategyChoice(), more, el("span", { class: "spring" }), send),
    budget,
  );

  function toggleBudget() {
    showBudget(budget.hidden);
    if (!budget.hidden) budget.querySelector("input").focus();
  }
  function showBudget(isShown) {
    budget.hidden = !isShown;
    more.setAttribute("aria-expanded", String(isShown));
  }
  // The browser can point out a wrong limit only where it is shown; `invalid` events do not bubble.
  budget.addEventListener("invalid", () => showBudget(true), true);
  function submitQuestion(event) {
    event?.preventDefault();
    if (busy) return onStop();
    const question = field.value.trim();
    if (!question) return field.focus();
    field.value = "";
    growField();
    onAsk(question);
  }
  function growField() {
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight, 220)}px`;
  }
  field.addEventListener("input", growField);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!busy) form.requestSubmit();
    } else if (event.key === "ArrowUp" && !field.value && readPreviousQuestion?.()) {
      event.preventDefault();
      field.value = readPreviousQuestion();
      growField();
    }
  });
  return {
    form,
    field,
    setBusy(value) {
      busy = value;
      const name = t(busy ? "ask.stop" : "ask.send");
      fill(send, icon(busy ? "stop" : "send"));
      send.formNoValidate = busy;
      send.setAttribute("aria-label", name);
      send.title = name;
    },
  };
}

function effortSelect() {
  const label = t("effort.label");
  const select = el("select", { "aria-label": label, title: label, on: { change: () => (choices.effort = select.value) } });
  fill(select, ["", ...EFFORTS].map((name) => el("option", { value: name }, t(name ? `effort.${name}` : "effort.auto"))));
  select.value = choices.effort;
  return select;
}

function buildStrategyChoice() {
  const { select, ready } = strategySelect(t("strategy.label"), choices.strategy, t("strategy.auto"));
  const showHint = (catalogue) => (select.title = strategyHint(select.value || catalogue.default));
  select.addEventListener("change", () => {
    choices.strategy = select.value;
    ready.then(showHint);
  });
  ready.then(showHint).catch(() => {});
  return select;
}

/** Create the fields for the limits of one question; an empty field leaves the limit to the effort. */
function budgetFields() {
  const fields = Object.keys(LIMITS).map((name) => {
    const input = el("input", { type: "number", min: 0, step: name === "max_cost" || name === "deadline" ? "any" : 1, inputmode: "decimal", id: `limit-${name}` });
    if (choices.budget[name] !== undefined && choices.budget[name] !== null) input.value = choices.budget[name];
    input.addEventListener("change", () => {
      choices.budget[name] = input.value === "" || !input.checkValidity() ? null : Number(input.value);
    });
    loadCatalogue().then((catalogue) => {
      const limit = catalogue.efforts[choices.effort || catalogue.effort || "medium"]?.[LIMITS[name]];
      input.placeholder = limit === null || limit === undefined ? t("budget.free") : formatNumber(limit);
    }, () => {});
    return el("div", { class: "field" }, el("label", { for: `limit-${name}` }, t(`budget.${name}`)), input);
  });
  const note = el("p", { class: "soft small" }, t("budget.note"));
  return el("fieldset", { id: "budget", class: "budget", hidden: true }, el("legend", {}, t("budget.title")), fields, note);
}
