// The box where a question is written, with how much may be spent on it.

import { get } from "./api.js";
import { el, fill, icon, iconButton } from "./dom.js";
import { has, formatNumber, t } from "./i18n.js";

const LIMITS = { max_tokens: "tokens", max_calls: "calls", deadline: "seconds", max_cost: "cost_usd" };
const EFFORTS = ["low", "medium", "high"];
const chosen = { strategy: "", effort: "", budget: {} };
let known = null;

/** The ways of answering, asked for once. */
export async function strategies() {
  known ??= await get("/strategies");
  return known;
}

export const strategyHint = (name) => (has(`strategy.${name}`) ? t(`strategy.${name}`) : name);

/** A choice of strategies; `first` is what stands for the server's own choice. */
export function strategySelect(label, value, first) {
  const select = el("select", { "aria-label": label, title: label });
  const filled = strategies().then((ways) => {
    const option = (name, text) => el("option", { value: name, selected: name === value }, text);
    fill(select, first === undefined ? [] : option("", first), ways.strategies.map((each) => option(each.name, each.name)));
    select.value = value;
    return ways;
  });
  filled.catch(() => fill(select, el("option", { value: "" }, first ?? "")));
  return { select, filled };
}

/** What goes with a question: strategy, effort and budget, where they were chosen. */
export function choices() {
  const budget = Object.fromEntries(Object.entries(chosen.budget).filter(([, value]) => value !== null));
  return {
    ...(chosen.strategy && { strategy: chosen.strategy }),
    ...(chosen.effort && { effort: chosen.effort }),
    ...(Object.keys(budget).length && { budget }),
  };
}

/**
 * The box. `onAsk(question)` is called on Enter; `onStop()` while one is being answered.
 * `before()` gives the question before, for the arrow key.
 */
export function composer({ onAsk, onStop, before }) {
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
  const more = iconButton("sliders", t("budget.title"), toggle, { "aria-expanded": "false", "aria-controls": "budget" });
  const form = el(
    "form",
    { class: "composer", on: { submit } },
    field,
    el("div", { class: "composer-row" }, effortSelect(), ownStrategy(), more, el("span", { class: "spring" }), send),
    budget,
  );

  function toggle() {
    budget.hidden = !budget.hidden;
    more.setAttribute("aria-expanded", String(!budget.hidden));
    if (!budget.hidden) budget.querySelector("input").focus();
  }
  function submit(event) {
    event?.preventDefault();
    if (busy) return onStop();
    const question = field.value.trim();
    if (!question) return field.focus();
    field.value = "";
    grow();
    onAsk(question);
  }
  function grow() {
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight, 220)}px`;
  }
  field.addEventListener("input", grow);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!busy) submit();
    } else if (event.key === "ArrowUp" && !field.value && before?.()) {
      event.preventDefault();
      field.value = before();
      grow();
    }
  });
  return {
    form,
    field,
    setBusy(value) {
      busy = value;
      const name = t(busy ? "ask.stop" : "ask.send");
      fill(send, icon(busy ? "stop" : "send"));
      send.setAttribute("aria-label", name);
      send.title = name;
    },
  };
}

function effortSelect() {
  const label = t("effort.label");
  const select = el("select", { "aria-label": label, title: label, on: { change: () => (chosen.effort = select.value) } });
  fill(select, ["", ...EFFORTS].map((name) => el("option", { value: name }, t(name ? `effort.${name}` : "effort.auto"))));
  select.value = chosen.effort;
  return select;
}

function ownStrategy() {
  const { select, filled } = strategySelect(t("strategy.label"), chosen.strategy, t("strategy.auto"));
  const hint = (ways) => (select.title = strategyHint(select.value || ways.default));
  select.addEventListener("change", () => {
    chosen.strategy = select.value;
    filled.then(hint);
  });
  filled.then(hint).catch(() => {});
  return select;
}

/** What one question may spend at most; an empty field leaves it to the effort. */
function budgetFields() {
  const fields = Object.keys(LIMITS).map((name) => {
    const input = el("input", { type: "number", min: 0, step: name === "max_cost" ? "any" : 1, inputmode: "decimal", id: `limit-${name}` });
    if (chosen.budget[name] !== undefined && chosen.budget[name] !== null) input.value = chosen.budget[name];
    input.addEventListener("change", () => {
      chosen.budget[name] = input.value === "" || !input.checkValidity() ? null : Number(input.value);
    });
    strategies().then((ways) => {
      const limit = ways.efforts[chosen.effort || ways.effort || "medium"]?.[LIMITS[name]];
      input.placeholder = limit === null || limit === undefined ? t("budget.free") : formatNumber(limit);
    }, () => {});
    return el("div", { class: "field" }, el("label", { for: `limit-${name}` }, t(`budget.${name}`)), input);
  });
  const note = el("p", { class: "soft small" }, t("budget.note"));
  return el("fieldset", { id: "budget", class: "budget", hidden: true }, el("legend", {}, t("budget.title")), fields, note);
}
