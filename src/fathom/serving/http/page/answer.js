// An answer: its words with citations, who says otherwise, how sure it is, what it cost.

import { mayCurate, post } from "./api.js";
import { add, el, fill, icon, iconButton, parseSafeLink } from "./dom.js";
import { nameDocument, has, formatNumber, formatPercent, formatSeconds, t } from "./i18n.js";

const LEVELS = [[0.9, "very"], [0.7, "quite"], [0.5, "rather"], [0, "little"]];

/** An answer with all that belongs to it; `open(citation)` shows a source. */
export function answerView(answer, open) {
  const box = el("section", { class: `answer ${answer.tentative ? "tentative" : answer.status}`, "aria-label": t("answer.label") });
  if (answer.tentative) add(box, el("p", { class: "unsure" }, icon("warn"), el("strong", {}, t("answer.unsure")), t("answer.unsure.why")));
  if (answer.status === "answered") add(box, answered(answer, open));
  else add(box, unanswered(answer));
  return add(box, sources(answer, open), sureness(answer), warnings(answer), footer(answer));
}

function answered(answer, open) {
  const says = has_words(answer.short_answer) && trimmed(answer.short_answer) !== trimmed(answer.answer);
  if (answer.conflicts.length) return [conflicts(answer, open)];
  const row = rowOf(unmarked(answer.answer));
  const quoted = says && row.length && answer.citations.some((each) => each.quote === unmarked(answer.answer));
  return [
    says ? el("p", { class: "short" }, answer.short_answer, quoted ? marks(answer, open) : null) : null,
    quoted ? null : row.length ? el("div", { class: "whole" }, rowView(row), marks(answer, open)) : sentence(answer, open, !says),
    answer.stop_reason === "partial_list" ? el("p", { class: "soft" }, t("answer.partial")) : null,
  ];
}

const has_words = (text) => Boolean(text && text.trim());
const unmarked = (text) => text.replace(/\s*\[\d+\]/g, "").trim();
const trimmed = (text) => unmarked(text).replace(/[.\s]+$/, "");

/** The sentences, each `[n]` a button that opens the source. */
function sentence(answer, open, large) {
  const line = el("p", { class: large ? "whole large" : "whole" });
  for (const part of answer.answer.split(/(\[\d+\])/)) {
    const n = /^\[(\d+)\]$/.exec(part)?.[1];
    const citation = n && answer.citations.find((each) => each.n === Number(n));
    add(line, citation ? mark(citation, open) : part);
  }
  return line;
}

const marks = (answer, open) =>
  [...answer.answer.matchAll(/\[(\d+)\]/g)].map(([, n]) => {
    const citation = answer.citations.find((each) => each.n === Number(n));
    return citation ? mark(citation, open) : `[${n}]`;
  });

function mark(citation, open) {
  const label = t("cite.open", { n: citation.n, title: nameDocument(citation) });
  return el("button", { type: "button", class: "mark", "aria-label": label, title: nameDocument(citation), on: { click: () => open(citation) } }, citation.n);
}

/** A row of a table as it is quoted, `Name: value | Name: value`, in its cells. */
export function rowOf(text) {
  const cells = text.split(" | ").map((cell) => /^([^:]{1,60}): (.+)$/s.exec(cell.trim()));
  return cells.length > 1 && cells.every(Boolean) ? cells.map(([, name, value]) => [name, value]) : [];
}

const rowView = (cells) => el("dl", { class: "row" }, cells.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));

/** Who says what, side by side. */
function sidesOf(answer) {
  if (answer.status !== "answered" || !answer.conflicts.length) return [];
  const cited = new Set(answer.conflicts.flatMap((each) => each.citations));
  const own = answer.citations.filter((each) => !cited.has(each.n)).map((each) => each.n);
  return [{ answer: answer.short_answer || unmarked(answer.answer), citations: own, first: true }, ...answer.conflicts];
}

function conflicts(answer, open) {
  const side = (each) =>
    el(
      "li",
      { class: `claim${each.first ? " first" : ""}` },
      el("p", { class: "side-answer" }, each.answer || "–"),
      el("p", { class: "soft small" }, t(each.first ? "conflict.first" : each.refuted ? "conflict.refuted" : "conflict.other")),
      each.citations.map((n) => said(answer.citations.find((one) => one.n === n), open)),
    );
  return el(
    "div",
    { class: "conflict" },
    el("h3", {}, icon("warn"), t("conflict.title")),
    el("ul", { class: "sides" }, sidesOf(answer).map(side)),
  );
}

function said(citation, open) {
  if (!citation) return null;
  return el(
    "button",
    { type: "button", class: "who", on: { click: () => open(citation) } },
    el("strong", {}, nameDocument(citation)),
    el("span", { class: "soft small" }, place(citation)),
    quoteView(citation.quote),
  );
}

function unanswered(answer) {
  const key = answer.status === "failed" ? "answer.failed" : `abstained.${answer.stop_reason}`;
  const why = has(key) ? t(key, { why: answer.stop_reason }) : answer.stop_reason;
  return [el("p", { class: "short" }, t(answer.status === "failed" ? "answer.none" : "answer.unknown")), el("p", { class: "whole large" }, why)];
}

const page_word = (path) => (/\.(pptx|odp)$/i.test(path) ? "place.slide" : /\.(xlsx|ods)$/i.test(path) ? "place.sheet" : "place.page");

/** Where a citation stands, in a few words. */
export function place(citation) {
  const parts = [citation.section, citation.page ? t(page_word(citation.path), { n: citation.page }) : citation.line ? t("place.line", { n: citation.line }) : ""];
  return parts.filter(Boolean).join(" · ");
}

export function quoteView(quote) {
  const row = rowOf(quote);
  return row.length ? rowView(row) : el("q", {}, quote);
}

/** The sources as a list; the arrow keys go through it. */
function sources(answer, open) {
  const shown = new Set(sidesOf(answer).flatMap((each) => each.citations));
  const rest = answer.citations.filter((each) => !shown.has(each.n));
  if (!rest.length) return null;
  const list = el("ol", { class: "sources", on: { keydown: walk } }, rest.map((each) => source(each, open)));
  const title = answer.status === "answered" ? "sources.title" : "sources.nearest";
  return el("div", {}, el("h3", { class: "label" }, t(title)), list);
}

function source(citation, open) {
  const outside = citation.source === "web" ? parseSafeLink(citation.path) : null;
  const inner = [
    el("span", { class: "n" }, citation.n),
    el(
      "span",
      { class: "source-words" },
      el("strong", {}, nameDocument(citation)),
      el("span", { class: "soft small" }, citation.source === "web" ? t("sources.web") : place(citation)),
      quoteView(citation.quote),
      citation.verified ? null : el("span", { class: "bad small" }, t("sources.unverified")),
    ),
  ];
  if (outside) return el("li", {}, el("a", { class: "source", href: outside, rel: "noopener noreferrer nofollow", target: "_blank" }, inner));
  return el("li", {}, el("button", { type: "button", class: "source", on: { click: () => open(citation) } }, inner));
}

/** The arrow keys move the focus among the buttons and links of a list. */
export function walk(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  const all = [...event.currentTarget.querySelectorAll("button, a")];
  const at = all.indexOf(document.activeElement);
  if (at < 0 || !all[at + by]) return;
  event.preventDefault();
  all[at + by].focus();
}

/** How sure, in words and as a figure; of an answer that was withheld there is none to be sure of. */
export function sureness(answer) {
  if (answer.status !== "answered") return null;
  if (answer.phase === "verified") return el("p", { class: "sure very" }, icon("check"), t("sure.verified"));
  const value = answer.confidence;
  if (value === null || value === undefined) return el("p", { class: "sure none" }, meter(0), el("span", {}, el("strong", {}, t("sure.none")), " ", t("sure.none.why")));
  const [, level] = LEVELS.find(([from]) => value >= from);
  const meaning = t("sure.meaning", { n: formatNumber(Math.round(value * 100)) });
  const by = answer.calibration ? t("sure.by", { by: answer.calibration }) : "";
  return el("p", { class: `sure ${level}` }, meter(value), el("span", {}, el("strong", {}, t(`sure.${level}`)), ` ${formatPercent(value)}. `, el("span", { class: "soft" }, `${meaning} ${by}`)));
}

function meter(value) {
  const made = el("span", { class: "meter", "aria-hidden": "true" });
  const on = Math.round(value * 5);
  return add(made, [1, 2, 3, 4, 5].map((n) => el("i", { class: n <= on ? "on" : "" })));
}

const warnings = (answer) => (answer.warnings ?? []).map((each) => el("p", { class: "warning" }, icon("warn"), el("span", {}, each)));

/** Judging, copying, the trace, and what was spent. */
function footer(answer) {
  const row = el("div", { class: "answer-foot" });
  const below = el("div", {});
  if (answer.trace_id) add(row, judging(answer, below));
  if (answer.status === "answered") {
    const copy = iconButton("copy", t("answer.copy"), async () => {
      await navigator.clipboard?.writeText(plain(answer));
      fill(copy, icon("check"));
    });
    add(row, copy);
  }
  add(row, el("span", { class: "spring" }), spent(answer));
  if (answer.trace_id) add(row, el("a", { class: "link small", href: `#/traces/${answer.trace_id}` }, t("answer.trace")));
  return [row, below];
}

function plain(answer) {
  const listed = answer.citations.map((each) => `[${each.n}] ${nameDocument(each)}${place(each) ? `, ${place(each)}` : ""}: ${each.quote}`);
  return [unsure(answer, answer.answer), "", ...listed].join("\n");
}

function judging(answer, below) {
  const answered = answer.status === "answered";
  const good = iconButton("up", t("judge.good"), () => give({ correct: true }, good), { "aria-pressed": "false" });
  const bad = answered ? iconButton("down", t("judge.bad"), refuse, { "aria-pressed": "false" }) : el("button", { type: "button", class: "link small", hidden: true, on: { click: correct } }, t("judge.know"));
  if (!answered) mayCurate().then((may) => (bad.hidden = !may));
  const status = el("span", { class: "soft small", role: "status" });
  async function give(judgement, pressed) {
    try {
      await post("/feedback", { trace_id: answer.trace_id, ...judgement });
      if (answered) for (const each of [good, bad]) each.setAttribute("aria-pressed", String(each === pressed));
      fill(status, t("judge.thanks"));
      fill(below);
    } catch (problem) {
      fill(status, [problem.message, problem.next].filter(Boolean).join("; "));
    }
  }
  /** A key that may not correct answers says only that this one is wrong. */
  async function refuse() {
    if (await mayCurate()) correct();
    else await give({ correct: false }, bad);
  }
  function correct() {
    const right = el("textarea", { rows: 2, id: `right-${answer.trace_id}`, required: !answered });
    const submit = (event) => {
      event.preventDefault();
      const said = right.value.trim();
      give({ correct: false, ...(said && { answer: said }) }, bad);
    };
    const form = el(
      "form",
      { class: "correction", on: { submit } },
      el("label", { for: right.id }, t(answered ? "judge.right" : "judge.answer")),
      right,
      el("div", { class: "buttons" }, el("button", { type: "submit", class: "primary" }, t("judge.send")), el("button", { type: "button", class: "plain", on: { click: () => { fill(below); bad.focus(); } } }, t("cancel"))),
    );
    fill(below, form);
    right.focus();
  }
  return [answered ? good : null, bad, status];
}

/** What was spent of what was allowed. */
function spent(answer) {
  const { usage = {}, budget = {} } = answer;
  const tokens = (usage.prompt_tokens ?? 0) + (usage.completion_tokens ?? 0);
  const rows = [
    ["usage.seconds", usage.seconds ?? 0, budget.seconds, (value) => formatSeconds(value)],
    ["usage.retrievals", usage.retrievals ?? 0, budget.retrievals, (value) => formatNumber(value)],
    ["usage.llm", usage.llm_calls ?? 0, budget.calls, (value) => formatNumber(value)],
    ["usage.tokens", tokens, budget.tokens, (value) => formatNumber(value)],
    ["usage.cost", usage.cost_usd ?? null, budget.cost_usd, (value) => `$${formatNumber(value, 4)}`],
  ];
  const line = ([key, used, cap, shown]) => {
    const bar = el("i", {});
    bar.style.width = cap ? `${Math.min(100, (100 * (used ?? 0)) / cap)}%` : "0";
    const allowed = cap === null || cap === undefined ? "" : t("usage.of", { cap: shown(cap) });
    return el("tr", {}, el("th", { scope: "row" }, t(key)), el("td", {}, used === null ? t("usage.unknown") : shown(used), " ", el("span", { class: "soft" }, allowed)), el("td", { "aria-hidden": "true" }, el("span", { class: "bar" }, bar)));
  };
  return el("details", { class: "spent" }, el("summary", { class: "link small" }, t("usage.title")), el("table", {}, el("tbody", {}, rows.map(line))));
}

/** What an answer says in few words, where it is one of several. */
export const gist = (answer) =>
  answer.status === "answered" ? unsure(answer, answer.short_answer || unmarked(answer.answer)) : t(answer.status === "failed" ? "answer.none" : "answer.unknown");

const unsure = (answer, text) => (answer.tentative ? `${t("answer.unsure")} ${text}` : text);

