// How answers came about: the questions that were asked, the steps of one, and its replay.

import { get, post } from "./api.js";
import { answerView, moveFocus } from "./answer.js";
import { add, el, fill, icon } from "./dom.js";
import { formatDate, has, formatNumber, formatSeconds, t } from "./i18n.js";
import { problemView } from "./problem.js";
import { Run, describeNews } from "./steps.js";

export function tracesScreen() {
  const list = el("ul", { class: "cards", on: { keydown: moveFocus } });
  const screen = el("div", { class: "wide" }, el("h1", {}, t("traces.head")), el("p", { class: "soft" }, t("traces.note")), list);
  const card = (each) =>
    el("li", {}, el("a", { class: "card", href: `#/traces/${each.id}` }, el("strong", {}, each.question), el("span", { class: "soft small" }, [formatDate(each.started_at), each.strategy, t(`status.${each.status}`)].join(" · "))));
  get("/traces").then(
    ({ traces }) => fill(list, traces.length ? traces.map(card) : el("li", { class: "soft" }, t("traces.none"))),
    (problem) => fill(list, el("li", {}, problemView(problem))),
  );
  return { screen, focus: () => list.querySelector("a")?.focus(), escape: () => false, leave: () => {} };
}

export function traceScreen(id) {
  const body = el("div", {}, el("p", { class: "soft", role: "status" }, t("loading")));
  const screen = el("div", { class: "wide" }, el("p", {}, el("a", { class: "link small", href: "#/traces" }, t("traces.back"))), body);
  load();

  async function load() {
    try {
      fill(body, shown(await get(`/traces/${encodeURIComponent(id)}`)));
    } catch (problem) {
      fill(body, problemView(problem));
    }
  }
  return { screen, focus: () => {}, escape: () => false, leave: () => {} };
}

function shown(trace) {
  const origin = trace.lines.find((line) => line.record === "run") ?? {};
  const end = trace.lines.find((line) => line.answer) ?? {};
  const answer = { conflicts: [], citations: [], ...end.answer, trace_id: null };
  const run = Run.fromTrace(trace.lines);
  const total = Math.max(end.seconds ?? 0, ...[...run.steps.values()].map((step) => (step.started_at ?? 0) + (step.seconds ?? 0)), 1e-6);
  const outcome = el("div", { role: "status" });
  const facts = [origin.strategy, formatDate(origin.started_at), formatSeconds(total), t("trace.index", { revision: origin.index_revision ?? "" })];
  return [
    el("h1", { class: "question" }, origin.question),
    el("p", { class: "soft small" }, facts.filter(Boolean).join(" · ")),
    answerView(answer, (citation) => (location.hash = `#/documents/${encodeURIComponent(citation.document)}?start=${citation.start}&end=${citation.end}${citation.page ? `&page=${citation.page}` : ""}`)),
    el("div", { class: "replay" }, replayButton(trace.id, outcome), outcome),
    el("h2", { class: "label" }, t("trace.steps")),
    el("ol", { class: "tree" }, run.listChildren("").map((step) => branch(run, step, total))),
  ];
}

function replayButton(id, outcome) {
  const button = el("button", { type: "button", class: "plain", on: { click: again } }, icon("replay"), t("trace.replay"));
  async function again() {
    button.disabled = true;
    fill(outcome, el("p", { class: "soft" }, t("trace.replaying")));
    try {
      const done = await post(`/traces/${id}/replay`);
      const words = done.missing?.length ? t("trace.missing", { what: done.missing.join(", ") }) : done.same ? t("trace.same") : t("trace.differs", { what: done.difference });
      fill(outcome, el("p", { class: done.same ? "good" : "bad" }, icon(done.same ? "check" : "warn"), words));
    } catch (problem) {
      fill(outcome, problemView(problem));
    }
    button.disabled = false;
  }
  return button;
}

/** A step with its time as a bar, what it was given and made, and the steps inside it. */
function branch(run, step, total) {
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
  const inner = run.listChildren(step.id);
  const item = el("details", {}, summary, facts(step));
  return el("li", {}, item, inner.length ? el("ol", {}, inner.map((each) => branch(run, each, total))) : null);
}

function facts(step) {
  const rows = [];
  for (const [kind, values] of [["trace.in", step.inputs], ["trace.out", step.outputs]]) {
    for (const [name, value] of Object.entries(values ?? {})) rows.push([`${t(kind)} · ${name}`, brief(value)]);
  }
  if (step.verdict) rows.push([t("trace.verdict"), step.verdict]);
  if (step.reason) rows.push([t("trace.reason"), step.reason]);
  if (step.usage) for (const [name, value] of Object.entries(step.usage)) if (value) rows.push([name, formatNumber(value, value < 1 ? 3 : 0)]);
  return el("dl", { class: "facts" }, rows.map(([name, value]) => add(el("div", {}), el("dt", {}, name), el("dd", {}, value))));
}

function brief(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}
