// The screens of traces: the list of questions, and the steps and replay of one answer.

import { get, post } from "./api.js";
import { answerView, moveFocus } from "./answer.js";
import { add, el, fill, icon } from "./dom.js";
import { formatDate, has, formatNumber, formatSeconds, t } from "./i18n.js";
import { problemView } from "./problem.js";
import { Run, describeNews } from "./steps.js";

const STEP = 100;
const MOST = 1000;

export function tracesScreen() {
  const list = el("ul", { class: "cards", on: { keydown: moveFocus } });
  const more = el("button", { type: "button", class: "plain", hidden: true, on: { click: () => loadTraces(limit + STEP) } }, t("more"));
  let limit = 0;
  const screen = el("div", { class: "wide" }, el("h1", {}, t("traces.head")), el("p", { class: "soft" }, t("traces.note")), list, more);
  const buildCard = (trace) =>
    el("li", {}, el("a", { class: "card", href: `#/traces/${trace.id}` }, el("strong", {}, trace.question), el("span", { class: "soft small" }, [formatDate(trace.started_at), trace.strategy, t(`status.${trace.status}`)].join(" · "))));
  loadTraces(STEP);

  /** Show the newest traces, and whether there are more of them. */
  async function loadTraces(newLimit) {
    try {
      const { traces } = await get(`/traces?limit=${newLimit}`);
      limit = newLimit;
      fill(list, traces.length ? traces.map(buildCard) : el("li", { class: "soft" }, t("traces.none")));
      more.hidden = traces.length < limit || limit >= MOST;
    } catch (problem) {
      fill(list, el("li", {}, problemView(problem, () => loadTraces(newLimit))));
    }
  }
  return { screen, focus: () => list.querySelector("a")?.focus(), escape: () => false, leave: () => {} };
}

export function traceScreen(id) {
  const body = el("div", {}, el("p", { class: "soft", role: "status" }, t("loading")));
  const screen = el("div", { class: "wide" }, el("p", {}, el("a", { class: "link small", href: "#/traces" }, t("traces.back"))), body);
  loadTrace();

  async function loadTrace() {
    try {
      fill(body, buildTrace(await get(`/traces/${encodeURIComponent(id)}`)));
    } catch (problem) {
      fill(body, problemView(problem));
    }
  }
  return { screen, focus: () => {}, escape: () => false, leave: () => {} };
}

function buildTrace(trace) {
  const runLine = trace.lines.find((line) => line.record === "run") ?? {};
  const answerLine = trace.lines.find((line) => line.answer) ?? {};
  const answer = { conflicts: [], citations: [], ...answerLine.answer, trace_id: null };
  const run = Run.fromTrace(trace.lines);
  const total = Math.max(answerLine.seconds ?? 0, ...[...run.steps.values()].map((step) => (step.started_at ?? 0) + (step.seconds ?? 0)), 1e-6);
  const outcome = el("div", { role: "status" });
  const facts = [runLine.strategy, formatDate(runLine.started_at), formatSeconds(total), t("trace.index", { revision: runLine.index_revision ?? "" })];
  return [
    el("h1", { class: "question" }, runLine.question),
    el("p", { class: "soft small" }, facts.filter(Boolean).join(" · ")),
    answerView(answer, (citation) => (location.hash = `#/documents/${encodeURIComponent(citation.document)}?start=${citation.start}&end=${citation.end}${citation.page ? `&page=${citation.page}` : ""}`)),
    el("div", { class: "replay" }, replayButton(trace.id, outcome), outcome),
    el("h2", { class: "label" }, t("trace.steps")),
    el("ol", { class: "tree" }, run.listChildren("").map((step) => buildBranch(run, step, total))),
  ];
}

function replayButton(id, outcome) {
  const button = el("button", { type: "button", class: "plain", on: { click: replay } }, icon("replay"), t("trace.replay"));
  async function replay() {
    button.disabled = true;
    fill(outcome, el("p", { class: "soft" }, t("trace.replaying")));
    try {
      const result = await post(`/traces/${id}/replay`);
      const words = result.missing?.length ? t("trace.missing", { what: result.missing.join(", ") }) : result.same ? t("trace.same") : t("trace.differs", { what: result.difference });
      fill(outcome, el("p", { class: result.same ? "good" : "bad" }, icon(result.same ? "check" : "warn"), words));
    } catch (problem) {
      fill(outcome, problemView(problem));
    }
    button.disabled = false;
  }
  return button;
}

/** Build a step with its time as a bar, its inputs and outputs, and the steps inside it. */
function buildBranch(run, step, total) {
  const bar = el("i", {});
  bar.style.marginInlineStart = `${(100 * (step.started_at ?? 0)) / total}%`;
  bar.style.width = `${Math.max(0.5, (100 * (step.seconds ?? 0)) / total)}%`;
  const name = has(`step.${step.name}`) ? t(`step.${step.name}`) : step.name.replaceAll("_", " ");
  const summary = el(
    "summary",
    {},
    el("span", { class: "step-name" }, name, step.agent ? el("span", { class: "soft" }, ` ${step.agent}`) : null),
    el("span", { class: step.error ? "step-news bad" : "step-news" }, describeNews(step)),
    el("span", { class: "timeline", "aria-hidden": "true" }, bar),
    el("span", { class: "step-time" }, formatSeconds(step.seconds ?? 0)),
  );
  const children = run.listChildren(step.id);
  const item = el("details", {}, summary, buildFacts(step));
  return el("li", {}, item, children.length ? el("ol", {}, children.map((child) => buildBranch(run, child, total))) : null);
}

function buildFacts(step) {
  const rows = [];
  for (const [kind, values] of [["trace.in", step.inputs], ["trace.out", step.outputs]]) {
    for (const [name, value] of Object.entries(values ?? {})) rows.push([`${t(kind)} · ${name}`, shortenValue(value)]);
  }
  if (step.verdict) rows.push([t("trace.verdict"), step.verdict]);
  if (step.reason) rows.push([t("trace.reason"), step.reason]);
  if (step.usage) for (const [name, value] of Object.entries(step.usage)) if (value) rows.push([name, formatNumber(value, value < 1 ? 3 : 0)]);
  return el("dl", { class: "facts" }, rows.map(([name, value]) => add(el("div", {}), el("dt", {}, name), el("dd", {}, value))));
}

function shortenValue(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}
