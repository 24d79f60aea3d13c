// What the agents do, while they do it and afterwards: a list of steps, and debates as conversations.

import { add, el, fill, icon } from "./dom.js";
import { count, has, formatNumber, formatPercent, formatSeconds, t } from "./i18n.js";

/** The steps of one run, as the stream or a trace tells them. */
export class Run {
  constructor() {
    this.steps = new Map();
    this.titles = new Map();
    this.plan = null;
    this.words = "";
  }

  /** One event of the stream. */
  tell(name, data) {
    if (name === "plan") this.plan = data;
    else if (name === "step") this.put(data);
    else if (name === "hits") this.found(data);
    else if (name === "text") this.words += (this.words ? " " : "") + data.text;
  }

  put(step) {
    const before = this.steps.get(step.id);
    this.steps.set(step.id, { ...before, ...step });
  }

  found({ step, hits }) {
    for (const hit of hits) this.titles.set(hit.document, hit.title);
    const known = this.steps.get(step);
    if (known) known.hits = hits;
  }

  /** The steps of a trace that was kept. */
  static of(lines) {
    const run = new Run();
    const steps = lines.filter((line) => line.record === "step").sort((a, b) => (a.started_at ?? 0) - (b.started_at ?? 0));
    for (const line of steps) {
      const news = line.error || line.reason || line.verdict || "";
      run.put({ ...line, state: "ended", news, chunk: line.inputs?.chunk });
    }
    return run;
  }

  inside(parent) {
    return [...this.steps.values()].filter((step) => (step.parent ?? "") === parent);
  }

  below(step) {
    return this.inside(step.id).flatMap((each) => [each, ...this.below(each)]);
  }

  get busy() {
    return [...this.steps.values()].some((step) => step.state === "began");
  }

  title(chunk) {
    return this.titles.get(String(chunk ?? "").replace(/#\d+$/, "")) ?? "";
  }
}

/** The steps as a list that grows; `update()` shows what has come since. */
export function stepList(run) {
  const list = el("ol", { class: "steps" });
  function update() {
    const rows = run.inside("").filter((step) => telling(run, step)).map((step) => row(run, step));
    fill(list, rows);
  }
  update();
  return { list, update };
}

/** Whether there is anything to say of a step. */
const telling = (run, step) => step.state === "began" || step.agent || run.inside(step.id).length > 0 || !["", "done"].includes(step.news);

function row(run, step) {
  const below = run.below(step);
  const said = below.filter((each) => each.name === "speak");
  const searches = below.filter((each) => each.name === "search").length;
  const told = run.inside(step.id).length === 1 && !step.agent ? [] : below.filter((each) => shown(each, searches));
  const state = step.state === "began" ? "now" : step.error ? "bad" : "done";
  const head = el(
    "div",
    { class: "step-head" },
    el("span", { class: "step-name" }, label(run, step)),
    el("span", { class: "step-news" }, state === "now" ? t("step.now") : outcome(run, step, below)),
    step.seconds === undefined ? null : el("span", { class: "step-time" }, formatSeconds(step.seconds)),
  );
  const item = el("li", { class: `step ${state}` }, head, titles(run, step, below));
  if (told.length > 0) add(item, el("ul", { class: "substeps" }, told.slice(0, 8).map((each) => substep(run, each))));
  if (said.length) add(item, debate(run, step, said));
  return item;
}

/** Steps inside others that tell something of their own; searches are counted, debates are shown. */
const QUIET = new Set(["speak", "debate", "aggregate", "rewrite"]);
const MANY = 2;
const shown = (step, searches) => step.agent && !QUIET.has(step.name) && (step.name !== "search" || searches <= MANY) && !/^(round|agent|bridge|anchor|question)\b/.test(step.name);

function substep(run, step) {
  const news = step.state === "began" ? t("step.now") : news_of(step);
  return el("li", {}, el("span", { class: "step-name" }, label(run, step)), " ", el("span", { class: "step-news" }, news));
}

function label(run, step) {
  const key = `step.${step.name}`;
  if (has(key)) return t(key);
  const part = /^turn ([1-9]\d*)$/.exec(step.name)?.[1];
  const only = step.agent ? [] : run.inside(step.id);
  if (only.length === 1 && has(`step.${only[0].name}`)) {
    const inner = t(`step.${only[0].name}`);
    const how = step.name.replace(new RegExp(`^${only[0].name}\\s*`), "");
    if (part) return `${inner} · ${t("step.part", { n: part })}`;
    return how && !/^(turn 0|analyse|reorder)$/.test(how) ? `${inner} · ${how.replaceAll("_", " ")}` : inner;
  }
  if (part) return t("step.part", { n: part });
  return step.name === "turn 0" ? t("step.decompose") : step.name.replaceAll("_", " ");
}

function outcome(run, step, below) {
  const own = news_of(step);
  if (own && own !== "done") return own;
  const searches = below.filter((each) => each.name === "search").length;
  if (searches > 1) return count(searches, "found.searches");
  const last = below.findLast((each) => each.news && !["done"].includes(each.news));
  return last ? news_of(last) : "";
}

const PATTERNS = [
  [/^(\d+) hits$/, ([, n]) => count(Number(n), "found.hits")],
  [/^(\d+) hits over (\d+) bridges$/, ([, n, m]) => t("found.bridges", { n: formatNumber(Number(n)), m })],
  [/^(\d+) hits, (\d+) found twice$/, ([, n, m]) => t("found.twice", { n, m })],
  [/^confidence ([\d.]+), (\d+) of (\d+) chunks read$/, ([, c, n, m]) => t("found.read", { c: formatPercent(Number(c)), n, m })],
  [/^(\d+) of (\d+) chunks(?: read)?$/, ([, n, m]) => t("found.chunks", { n, m })],
  [/^(\d+)% sure$/, ([, n]) => t("found.sure", { n })],
];

/** What came of a step, in the reader's language where the words are known. */
export function news_of(step) {
  const to = step.outputs?.to;
  if (step.verdict === "escalate" && to) return t("went.on", { why: reason(step.news ?? step.reason), to: phase(to) });
  if (step.outputs?.action) {
    const action = has(`action.${step.outputs.action}`) ? t(`action.${step.outputs.action}`) : step.outputs.action;
    return `${action}: ${translated(step.news ?? step.reason ?? "")}`;
  }
  if (step.outputs?.workflow) return `${step.outputs.workflow.join(", ")}: ${translated(step.news ?? "")}`;
  if (step.outputs?.answers && step.name === "differ") return t(step.verdict === "conflict" ? "found.differ" : "found.agree");
  return translated(step.news ?? step.reason ?? step.verdict ?? "");
}

const reason = (code) => translated(code ?? "");
const phase = (name) => (has(`step.${name}`) ? t(`step.${name}`).toLowerCase() : name);

function translated(news) {
  if (has(`reason.${news}`)) return t(`reason.${news}`);
  const [, verb, what] = /^([A-Z]+)_([A-Z_]+)$/.exec(news) ?? [];
  if (has(`gate.${verb}`) && has(`what.${what}`)) return `${t(`gate.${verb}`)}: ${t(`what.${what}`)}`;
  for (const [pattern, words] of PATTERNS) {
    const found = pattern.exec(news);
    if (found) return words(found);
  }
  return news;
}

/** The documents that a search found, by title. */
function titles(run, step, below) {
  const hits = [step, ...below].flatMap((each) => each.hits ?? []);
  const names = [...new Set(hits.map((hit) => hit.title))].slice(0, 4);
  if (!names.length) return null;
  return el("ul", { class: "found", "aria-label": t("found.label") }, names.map((name) => el("li", {}, name)));
}

/** A debate as a conversation: who said what in which round, and how it ended. */
function debate(run, step, said) {
  const rounds = Map.groupBy(said, (each) => /round (\d+)/.exec(each.id)?.[1] ?? "1");
  const held = new Map();
  const body = [...rounds].map(([round, all]) => {
    const heard = all.filter((each) => position(each) || held.get(agentOf(each)) || each.state === "began");
    const silent = all.filter((each) => !heard.includes(each) && !held.has(agentOf(each)));
    const lines = heard.map((each) => statement(run, each, held));
    for (const each of all) held.set(agentOf(each), position(each));
    const rest = silent.length ? el("li", { class: "silent" }, t("debate.silent", { agents: silent.map(agentOf).join(", ") })) : null;
    return el("li", { class: "debate-round" }, el("h4", {}, t("debate.round", { n: round })), el("ul", { class: "said" }, lines, rest));
  });
  const end = run.below(step).find((each) => each.name === "debate" && each.agent === "debate") ?? step;
  const result = run.below(step).find((each) => each.name === "aggregate");
  const close = result?.state === "ended" ? el("p", { class: "debate-end" }, t("debate.end", { answer: result.news, why: share(end) })) : null;
  return el("div", { class: "debate" }, el("h3", {}, t("debate.title")), el("ol", {}, body), close);
}

function share(step) {
  const part = step.outputs?.share;
  return part === undefined ? "" : t("debate.share", { n: formatPercent(part) });
}

const agentOf = (step) => /agent (\d+)/.exec(step.id)?.[1] ?? "?";
const position = (step) => step.outputs?.answer ?? (step.news === "unknown" ? "" : step.news) ?? "";

/** What one agent says; agents whose sources are silent are named together, once. */
function statement(run, step, held) {
  const [agent, answer] = [agentOf(step), position(step)];
  const title = run.title(step.chunk);
  const move = has(`move.${step.verdict}`) && held.has(agent) ? step.verdict : "opens";
  return el(
    "li",
    { class: "statement" },
    el("span", { class: "speaker" }, t("debate.agent", { n: agent }), title ? el("span", { class: "soft" }, ` · ${title}`) : null),
    el("span", { class: "bubble" }, step.state === "began" ? "…" : answer || "–", step.state === "began" ? null : el("span", { class: "move" }, t(`move.${move}`))),
  );
}

/** The steps under one line that opens; open while they are going on. */
export function work(run, { open = true } = {}) {
  const { list, update } = stepList(run);
  const summary = el("summary", {});
  const box = el("details", { class: "work", open }, summary, list);
  function refresh(answer) {
    update();
    const last = [...run.steps.values()].findLast((step) => step.state === "began" && (has(`step.${step.name}`)));
    const now = last ? label(run, last) : t("work.now");
    fill(summary, answer ? [icon("check"), worked(answer)] : [el("span", { class: "pulse", "aria-hidden": "true" }), now]);
    box.classList.toggle("busy", !answer);
  }
  refresh(null);
  return { box, refresh };
}

function worked(answer) {
  const usage = answer.usage ?? {};
  const parts = [answer.strategy, count(usage.retrievals ?? 0, "found.searches"), formatSeconds(usage.seconds ?? 0)];
  if (usage.llm_calls) parts.splice(2, 0, count(usage.llm_calls, "usage.calls"));
  return t("work.done", { what: parts.join(" · ") });
}
