// The steps of the agents, live and afterwards: a list of steps, and debates as conversations.

import { add, el, fill, icon } from "./dom.js";
import { count, has, formatNumber, formatPercent, formatSeconds, t } from "./i18n.js";

/** The steps of one run, read from the stream of events or from a trace. */
export class Run {
  constructor() {
    this.steps = new Map();
    this.titles = new Map();
    this.plan = null;
    this.words = "";
  }

  /** Record one event of the stream. */
  tell(name, data) {
    if (name === "plan") this.plan = data;
    else if (name === "step") this.recordStep(data);
    else if (name === "hits") this.recordHits(data);
    else if (name === "text") this.words += (this.words ? " " : "") + data.text;
  }

  recordStep(step) {
    const previous = this.steps.get(step.id);
    this.steps.set(step.id, { ...previous, ...step });
  }

  recordHits({ step, hits }) {
    for (const hit of hits) this.titles.set(hit.document, hit.title);
    const recordedStep = this.steps.get(step);
    if (recordedStep) recordedStep.hits = hits;
  }

  /** Build the run of a stored trace. */
  static fromTrace(lines) {
    const run = new Run();
    const steps = lines.filter((line) => line.record === "step").sort((a, b) => (a.started_at ?? 0) - (b.started_at ?? 0));
    for (const line of steps) {
      const news = line.error || line.reason || line.verdict || "";
      run.recordStep({ ...line, state: "ended", news, chunk: line.inputs?.chunk });
    }
    return run;
  }

  listChildren(parent) {
    return [...this.steps.values()].filter((step) => (step.parent ?? "") === parent);
  }

  listDescendants(step) {
    return this.listChildren(step.id).flatMap((child) => [child, ...this.listDescendants(child)]);
  }

  findTitle(chunk) {
    return this.titles.get(String(chunk ?? "").replace(/#\d+$/, "")) ?? "";
  }
}

/** Create the list of steps; `update()` adds the steps that came since. */
export function stepList(run) {
  const list = el("ol", { class: "steps" });
  function update() {
    const rows = run.listChildren("").filter((step) => hasNews(run, step)).map((step) => buildRow(run, step));
    fill(list, rows);
  }
  update();
  return { list, update };
}

/** Return whether the list shows a step: it runs, has an agent or steps inside it, or has news. */
const hasNews = (run, step) => step.state === "began" || step.agent || run.listChildren(step.id).length > 0 || !["", "done"].includes(step.news);

function buildRow(run, step) {
  const descendants = run.listDescendants(step);
  const statements = descendants.filter((substep) => substep.name === "speak");
  const searches = descendants.filter((substep) => substep.name === "search").length;
  const substeps = run.listChildren(step.id).length === 1 && !step.agent ? [] : descendants.filter((substep) => isShown(substep, searches));
  const state = step.state === "began" ? "now" : step.error ? "bad" : "done";
  const head = el(
    "div",
    { class: "step-head" },
    el("span", { class: "step-name" }, describeStep(run, step)),
    el("span", { class: "step-news" }, state === "now" ? t("step.now") : describeOutcome(run, step, descendants)),
    step.seconds === undefined ? null : el("span", { class: "step-time" }, formatSeconds(step.seconds)),
  );
  const item = el("li", { class: `step ${state}` }, head, buildTitles(run, step, descendants));
  if (substeps.length > 0) add(item, el("ul", { class: "substeps" }, substeps.slice(0, 8).map((substep) => buildSubstep(run, substep))));
  if (statements.length) add(item, buildDebate(run, step, statements));
  return item;
}

// Debates are shown as conversations, and more than a few searches are counted instead.
const QUIET = new Set(["speak", "debate", "aggregate", "rewrite"]);
const MANY = 2;
const isShown = (step, searches) => step.agent && !QUIET.has(step.name) && (step.name !== "search" || searches <= MANY) && !/^(round|agent|bridge|anchor|question)\b/.test(step.name);

function buildSubstep(run, step) {
  const news = step.state === "began" ? t("step.now") : describeNews(step);
  return el("li", {}, el("span", { class: "step-name" }, describeStep(run, step)), " ", el("span", { class: "step-news" }, news));
}

function describeStep(run, step) {
  const key = `step.${step.name}`;
  if (has(key)) return t(key);
  const turn = /^turn ([1-9]\d*)$/.exec(step.name)?.[1];
  const children = step.agent ? [] : run.listChildren(step.id);
  if (children.length === 1 && has(`step.${children[0].name}`)) {
    const childName = t(`step.${children[0].name}`);
    const detail = step.name.replace(new RegExp(`^${children[0].name}\\s*`), "");
    if (turn) return `${childName} · ${t("step.part", { n: turn })}`;
    return detail && !/^(turn 0|analyse|reorder)$/.test(detail) ? `${childName} · ${detail.replaceAll("_", " ")}` : childName;
  }
  if (turn) return t("step.part", { n: turn });
  return step.name === "turn 0" ? t("step.decompose") : step.name.replaceAll("_", " ");
}

function describeOutcome(run, step, descendants) {
  const news = describeNews(step);
  if (news && news !== "done") return news;
  const searches = descendants.filter((substep) => substep.name === "search").length;
  if (searches > 1) return count(searches, "found.searches");
  const latest = descendants.findLast((substep) => substep.news && !["done"].includes(substep.news));
  return latest ? describeNews(latest) : "";
}

const PATTERNS = [
  [/^(\d+) hits$/, ([, n]) => count(Number(n), "found.hits")],
  [/^(\d+) hits over (\d+) bridges$/, ([, n, m]) => t("found.bridges", { n: formatNumber(Number(n)), m })],
  [/^(\d+) hits, (\d+) found twice$/, ([, n, m]) => t("found.twice", { n, m })],
  [/^confidence ([\d.]+), (\d+) of (\d+) chunks read$/, ([, c, n, m]) => t("found.read", { c: formatPercent(Number(c)), n, m })],
  [/^(\d+) of (\d+) chunks(?: read)?$/, ([, n, m]) => t("found.chunks", { n, m })],
  [/^(\d+)% sure$/, ([, n]) => t("found.sure", { n })],
];

/** Describe the outcome of a step, in the reader's language where the dictionary has the words. */
export function describeNews(step) {
  const nextPhase = step.outputs?.to;
  if (step.verdict === "escalate" && nextPhase) return t("went.on", { why: translateReason(step.news ?? step.reason), to: namePhase(nextPhase) });
  if (step.outputs?.action) {
    const action = has(`action.${step.outputs.action}`) ? t(`action.${step.outputs.action}`) : step.outputs.action;
    return `${action}: ${translateNews(step.news ?? step.reason ?? "")}`;
  }
  if (step.outputs?.workflow) return `${step.outputs.workflow.join(", ")}: ${translateNews(step.news ?? "")}`;
  if (step.outputs?.answers && step.name === "differ") return t(step.verdict === "conflict" ? "found.differ" : "found.agree");
  return translateNews(step.news ?? step.reason ?? step.verdict ?? "");
}

const translateReason = (code) => translateNews(code ?? "");
const namePhase = (name) => (has(`step.${name}`) ? t(`step.${name}`).toLowerCase() : name);

function translateNews(news) {
  if (has(`reason.${news}`)) return t(`reason.${news}`);
  const [, verb, subject] = /^([A-Z]+)_([A-Z_]+)$/.exec(news) ?? [];
  if (has(`gate.${verb}`) && has(`what.${subject}`)) return `${t(`gate.${verb}`)}: ${t(`what.${subject}`)}`;
  for (const [pattern, words] of PATTERNS) {
    const match = pattern.exec(news);
    if (match) return words(match);
  }
  return news;
}

/** Build the list of titles of the documents that a search found. */
function buildTitles(run, step, descendants) {
  const hits = [step, ...descendants].flatMap((substep) => substep.hits ?? []);
  const names = [...new Set(hits.map((hit) => hit.title))].slice(0, 4);
  if (!names.length) return null;
  return el("ul", { class: "found", "aria-label": t("found.label") }, names.map((name) => el("li", {}, name)));
}

/** Build a debate as a conversation: rounds of statements, silent agents in one line, and the result. */
function buildDebate(run, step, statements) {
  const rounds = Map.groupBy(statements, (statement) => /round (\d+)/.exec(statement.id)?.[1] ?? "1");
  const positions = new Map();
  const roundItems = [...rounds].map(([round, roundStatements]) => {
    const shownStatements = roundStatements.filter((statement) => readPosition(statement) || positions.get(readAgent(statement)) || statement.state === "began");
    const silentStatements = roundStatements.filter((statement) => !shownStatements.includes(statement) && !positions.has(readAgent(statement)));
    const lines = shownStatements.map((statement) => buildStatement(run, statement, positions));
    for (const statement of roundStatements) positions.set(readAgent(statement), readPosition(statement));
    const silentItem = silentStatements.length ? el("li", { class: "silent" }, t("debate.silent", { agents: silentStatements.map(readAgent).join(", ") })) : null;
    return el("li", { class: "debate-round" }, el("h4", {}, t("debate.round", { n: round })), el("ul", { class: "said" }, lines, silentItem));
  });
  const debateStep = run.listDescendants(step).find((substep) => substep.name === "debate" && substep.agent === "debate") ?? step;
  const aggregation = run.listDescendants(step).find((substep) => substep.name === "aggregate");
  const conclusion = aggregation?.state === "ended" ? el("p", { class: "debate-end" }, t("debate.end", { answer: aggregation.news, why: describeShare(debateStep) })) : null;
  return el("div", { class: "debate" }, el("h3", {}, t("debate.title")), el("ol", {}, roundItems), conclusion);
}

function describeShare(step) {
  const part = step.outputs?.share;
  return part === undefined ? "" : t("debate.share", { n: formatPercent(part) });
}

const readAgent = (step) => /agent (\d+)/.exec(step.id)?.[1] ?? "?";
const readPosition = (step) => step.outputs?.answer ?? (step.news === "unknown" ? "" : step.news) ?? "";

/** Build the statement of one agent. */
function buildStatement(run, step, positions) {
  const [agent, answer] = [readAgent(step), readPosition(step)];
  const title = run.findTitle(step.chunk);
  const move = has(`move.${step.verdict}`) && positions.has(agent) ? step.verdict : "opens";
  return el(
    "li",
    { class: "statement" },
    el("span", { class: "speaker" }, t("debate.agent", { n: agent }), title ? el("span", { class: "soft" }, ` · ${title}`) : null),
    el("span", { class: "bubble" }, step.state === "began" ? "…" : answer || "–", step.state === "began" ? null : el("span", { class: "move" }, t(`move.${move}`))),
  );
}

/** Create a section that opens to the steps; its summary line shows the current step or the totals. */
export function work(run, { open = true } = {}) {
  const { list, update } = stepList(run);
  const summary = el("summary", {});
  const box = el("details", { class: "work", open }, summary, list);
  function refresh(answer) {
    update();
    const currentStep = [...run.steps.values()].findLast((step) => step.state === "began" && (has(`step.${step.name}`)));
    const currentLabel = currentStep ? describeStep(run, currentStep) : t("work.now");
    fill(summary, answer ? [icon("check"), summarizeWork(answer)] : [el("span", { class: "pulse", "aria-hidden": "true" }), currentLabel]);
    box.classList.toggle("busy", !answer);
  }
  refresh(null);
  return { box, refresh };
}

function summarizeWork(answer) {
  const usage = answer.usage ?? {};
  const parts = [answer.strategy, count(usage.retrievals ?? 0, "found.searches"), formatSeconds(usage.seconds ?? 0)];
  if (usage.llm_calls) parts.splice(2, 0, count(usage.llm_calls, "usage.calls"));
  return t("work.done", { what: parts.join(" · ") });
}
