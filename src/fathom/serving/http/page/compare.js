// One question, two strategies, side by side.

import { askQuestion } from "./api.js";
import { answerView, gist } from "./answer.js";
import { strategyHint, strategySelect } from "./composer.js";
import { add, el, fill } from "./dom.js";
import { nameDocument, formatNumber, formatPercent, formatSeconds, t } from "./i18n.js";
import { problemView } from "./problem.js";
import { Run, work } from "./steps.js";

const FIRST = ["naive", "maf"];

export function compareScreen() {
  const field = el("input", { type: "text", id: "compared", placeholder: t("ask.placeholder"), "aria-label": t("ask.label"), autocomplete: "off", maxlength: 4000 });
  const sides = FIRST.map((name, n) => side(n, name));
  const start = el("button", { type: "submit", class: "primary" }, t("compare.start"));
  const verdict = el("div", { role: "status" });
  const form = el("form", { class: "compare-form", on: { submit } }, field, start);
  const screen = el("div", { class: "wide" }, el("h1", {}, t("compare.head")), el("p", { class: "soft" }, t("compare.note")), form, el("div", { class: "sides-by-side" }, sides.map((each) => each.view)), verdict);
  let stop = null;

  async function submit(event) {
    event.preventDefault();
    const question = field.value.trim();
    if (!question) return field.focus();
    stop?.abort();
    stop = new AbortController();
    const { signal } = stop;
    fill(verdict);
    const answers = await Promise.all(sides.map((each) => each.run(question, signal)));
    if (!signal.aborted && answers.every(Boolean)) fill(verdict, table(sides.map((each) => each.name()), answers));
    return undefined;
  }
  return { screen, focus: () => field.focus(), escape: () => (stop ? (stop.abort(), (stop = null), true) : false), leave: () => stop?.abort() };
}

function side(n, name) {
  const { select, filled } = strategySelect(t("compare.strategy", { n: n + 1 }), name);
  const hint = el("p", { class: "soft small hint" });
  const body = el("div", {});
  const tell = () => fill(hint, strategyHint(select.value));
  select.addEventListener("change", tell);
  filled.then(tell, () => {});

  async function run(question, signal) {
    const steps = new Run();
    const doing = work(steps);
    const place = el("div", {});
    fill(body, doing.box, place);
    try {
      const answer = await askQuestion({ question, strategy: select.value }, (event, data) => {
        steps.tell(event, data);
        doing.refresh(null);
      }, signal);
      doing.refresh(answer);
      doing.box.open = false;
      add(place, answerView(answer, (each) => (location.hash = `#/documents/${encodeURIComponent(each.document)}?start=${each.start}&end=${each.end}${each.page ? `&page=${each.page}` : ""}`)));
      return answer;
    } catch (problem) {
      fill(body, problem.name === "AbortError" ? el("p", { class: "soft" }, t("ask.stopped")) : problemView(problem));
      return null;
    }
  }
  const view = el("section", { class: "compared", "aria-label": t("compare.strategy", { n: n + 1 }) }, select, hint, body);
  return { view, run, name: () => select.value };
}

/** What they have in common and where they differ. */
function table(names, answers) {
  const cell = (value) => el("td", {}, value);
  const tokens = (each) => (each.usage.prompt_tokens ?? 0) + (each.usage.completion_tokens ?? 0);
  const sure = (each) => (each.confidence === null ? t("sure.none") : formatPercent(each.confidence));
  const rows = [
    ["compare.answer", gist],
    ["compare.sure", sure],
    ["usage.seconds", (each) => formatSeconds(each.usage.seconds)],
    ["usage.retrievals", (each) => formatNumber(each.usage.retrievals)],
    ["usage.llm", (each) => formatNumber(each.usage.llm_calls)],
    ["usage.tokens", (each) => formatNumber(tokens(each))],
    ["compare.sources", (each) => [...new Set(each.citations.map(nameDocument))].join(", ") || "–"],
  ];
  const same = gist(answers[0]).trim().toLowerCase() === gist(answers[1]).trim().toLowerCase();
  return el(
    "div",
    { class: "verdict" },
    el("h2", { class: "label" }, t(same ? "compare.same" : "compare.differ")),
    el("table", {}, el("thead", {}, el("tr", {}, el("td", {}), names.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows.map(([key, of]) => el("tr", {}, el("th", { scope: "row" }, t(key)), answers.map((each) => cell(of(each))))))),
  );
}

