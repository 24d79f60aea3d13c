// The screen that answers one question with two strategies, side by side.

import { askQuestion } from "./api.js";
import { answerView, summarizeAnswer } from "./answer.js";
import { strategyHint, strategySelect } from "./composer.js";
import { add, el, fill } from "./dom.js";
import { nameDocument, formatNumber, formatPercent, formatSeconds, t } from "./i18n.js";
import { problemView } from "./problem.js";
import { Run, work } from "./steps.js";

const FIRST = ["naive", "maf"];

export function compareScreen() {
  const field = el("input", { type: "text", id: "compared", placeholder: t("ask.placeholder"), "aria-label": t("ask.label"), autocomplete: "off", maxlength: 4000 });
  const sides = FIRST.map((name, n) => buildSide(n, name));
  const start = el("button", { type: "submit", class: "primary" }, t("compare.start"));
  const verdict = el("div", { role: "status" });
  const form = el("form", { class: "compare-form", on: { submit } }, field, start);
  const screen = el("div", { class: "wide" }, el("h1", {}, t("compare.head")), el("p", { class: "soft" }, t("compare.note")), form, el("div", { class: "sides-by-side" }, sides.map((side) => side.view)), verdict);
  let controller = null;

  async function submit(event) {
    event.preventDefault();
    const question = field.value.trim();
    if (!question) return field.focus();
    controller?.abort();
    controller = new AbortController();
    const { signal } = controller;
    fill(verdict);
    const answers = await Promise.all(sides.map((side) => side.run(question, signal)));
    if (!signal.aborted && answers.every(Boolean)) fill(verdict, buildTable(sides.map((side) => side.name()), answers));
    return undefined;
  }
  return { screen, focus: () => field.focus(), escape: () => (controller ? (controller.abort(), (controller = null), true) : false), leave: () => controller?.abort() };
}

function buildSide(n, name) {
  const { select, ready } = strategySelect(t("compare.strategy", { n: n + 1 }), name);
  const hint = el("p", { class: "soft small hint" });
  const body = el("div", {});
  const showHint = () => fill(hint, strategyHint(select.value));
  select.addEventListener("change", showHint);
  ready.then(showHint, () => {});

  async function run(question, signal) {
    const steps = new Run();
    const progress = work(steps);
    const answerBox = el("div", {});
    fill(body, progress.box, answerBox);
    try {
      const answer = await askQuestion({ question, strategy: select.value }, (event, data) => {
        steps.tell(event, data);
        progress.refresh(null);
      }, signal);
      progress.refresh(answer);
      progress.box.open = false;
      add(answerBox, answerView(answer, (citation) => (location.hash = `#/documents/${encodeURIComponent(citation.document)}?start=${citation.start}&end=${citation.end}${citation.page ? `&page=${citation.page}` : ""}`)));
      return answer;
    } catch (problem) {
      fill(body, problem.name === "AbortError" ? el("p", { class: "soft" }, t("ask.stopped")) : problemView(problem));
      return null;
    }
  }
  const view = el("section", { class: "compared", "aria-label": t("compare.strategy", { n: n + 1 }) }, select, hint, body);
  return { view, run, name: () => select.value };
}

/** Build the table that compares the two answers. */
function buildTable(names, answers) {
  const buildCell = (value) => el("td", {}, value);
  const countTokens = (answer) => (answer.usage.prompt_tokens ?? 0) + (answer.usage.completion_tokens ?? 0);
  const describeConfidence = (answer) => (answer.confidence === null ? t("sure.none") : formatPercent(answer.confidence));
  const rows = [
    ["compare.answer", summarizeAnswer],
    ["compare.sure", describeConfidence],
    ["usage.seconds", (answer) => formatSeconds(answer.usage.seconds)],
    ["usage.retrievals", (answer) => formatNumber(answer.usage.retrievals)],
    ["usage.llm", (answer) => formatNumber(answer.usage.llm_calls)],
    ["usage.tokens", (answer) => formatNumber(countTokens(answer))],
    ["compare.sources", (answer) => [...new Set(answer.citations.map(nameDocument))].join(", ") || "–"],
  ];
  const isSame = summarizeAnswer(answers[0]).trim().toLowerCase() === summarizeAnswer(answers[1]).trim().toLowerCase();
  return el(
    "div",
    { class: "verdict" },
    el("h2", { class: "label" }, t(isSame ? "compare.same" : "compare.differ")),
    el("table", {}, el("thead", {}, el("tr", {}, el("td", {}), names.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows.map(([key, describe]) => el("tr", {}, el("th", { scope: "row" }, t(key)), answers.map((answer) => buildCell(describe(answer))))))),
  );
}

