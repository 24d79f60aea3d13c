// An answer: its text with citations, conflicting sources, confidence and cost.

import { mayCurate, post } from "./api.js";
import { add, el, fill, icon, iconButton, parseSafeLink } from "./dom.js";
import { describeNextStep, describeProblem } from "./problem.js";
import { nameDocument, has, formatNumber, formatPercent, formatSeconds, t } from "./i18n.js";

const LEVELS = [[0.9, "very"], [0.7, "quite"], [0.5, "rather"], [0, "little"]];

/** Show an answer with its sources, confidence, warnings and footer; `openSource(citation)` shows a source. */
export function answerView(answer, openSource) {
  const box = el("section", { class: `answer ${answer.tentative ? "tentative" : answer.status}`, "aria-label": t("answer.label") });
  if (answer.tentative) add(box, el("p", { class: "unsure" }, icon("warn"), el("strong", {}, t("answer.unsure")), t(answer.disputed ? "answer.disputed.why" : "answer.unsure.why")));
  if (answer.status === "answered") add(box, buildAnswerBody(answer, openSource));
  else add(box, buildAbstention(answer));
  return add(box, buildSources(answer, openSource), sureness(answer), buildWarnings(answer), buildFooter(answer));
}

function buildAnswerBody(answer, openSource) {
  const hasShortAnswer = hasWords(answer.short_answer) && stripSentence(answer.short_answer) !== stripSentence(answer.answer);
  if (answer.conflicts.length) return [buildConflicts(answer, openSource)];
  const row = parseRow(removeMarks(answer.answer));
  const isQuotedRow = hasShortAnswer && row.length && answer.citations.some((citation) => citation.quote === removeMarks(answer.answer));
  return [
    hasShortAnswer ? el("p", { class: "short" }, answer.short_answer, isQuotedRow ? buildMarks(answer, openSource) : null) : null,
    isQuotedRow ? null : row.length ? el("div", { class: "whole" }, rowView(row), buildMarks(answer, openSource)) : buildSentence(answer, openSource, !hasShortAnswer),
    answer.stop_reason === "partial_list" ? el("p", { class: "soft" }, t("answer.partial")) : null,
  ];
}

const hasWords = (text) => Boolean(text && text.trim());
const removeMarks = (text) => text.replace(/\s*\[\d+\]/g, "").trim();
const stripSentence = (text) => removeMarks(text).replace(/[.\s]+$/, "");

/** Build the text of the answer, with each `[n]` as a button that opens the source. */
function buildSentence(answer, openSource, isLarge) {
  const line = el("p", { class: isLarge ? "whole large" : "whole" });
  for (const part of answer.answer.split(/(\[\d+\])/)) {
    const n = /^\[(\d+)\]$/.exec(part)?.[1];
    const citation = n && answer.citations.find((candidate) => candidate.n === Number(n));
    add(line, citation ? buildMark(citation, openSource) : part);
  }
  return line;
}

const buildMarks = (answer, openSource) =>
  [...answer.answer.matchAll(/\[(\d+)\]/g)].map(([, n]) => {
    const citation = answer.citations.find((candidate) => candidate.n === Number(n));
    return citation ? buildMark(citation, openSource) : `[${n}]`;
  });

function buildMark(citation, openSource) {
  const label = t("cite.open", { n: citation.n, title: nameDocument(citation) });
  return el("button", { type: "button", class: "mark", "aria-label": label, title: nameDocument(citation), on: { click: () => openSource(citation) } }, citation.n);
}

/** Split a quoted row of a table, `Name: value | Name: value`, into its cells; return [] for other text. */
export function parseRow(text) {
  const cells = text.split(" | ").map((cell) => /^([^:]{1,60}): (.+)$/s.exec(cell.trim()));
  return cells.length > 1 && cells.every(Boolean) ? cells.map(([, name, value]) => [name, value]) : [];
}

const rowView = (cells) => el("dl", { class: "row" }, cells.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));

/** List the answers that contradict each other with their citations, the answer's own first unless it is disputed. */
function listSides(answer) {
  if (answer.status !== "answered" || !answer.conflicts.length) return [];
  if (answer.disputed) return answer.conflicts.map((conflict) => ({ ...conflict, equal: !conflict.refuted }));
  const citedNumbers = new Set(answer.conflicts.flatMap((conflict) => conflict.citations));
  const firstNumbers = answer.citations.filter((citation) => !citedNumbers.has(citation.n)).map((citation) => citation.n);
  return [{ answer: answer.short_answer || removeMarks(answer.answer), citations: firstNumbers, first: true }, ...answer.conflicts];
}

function buildConflicts(answer, openSource) {
  const buildSide = (side) =>
    el(
      "li",
      { class: `claim${side.first ? " first" : ""}` },
      el("p", { class: "side-answer" }, side.answer || "–"),
      side.equal ? null : el("p", { class: "soft small" }, t(side.first ? "conflict.first" : side.refuted ? "conflict.refuted" : "conflict.other")),
      side.citations.map((n) => buildCitationButton(answer.citations.find((citation) => citation.n === n), openSource)),
    );
  return el(
    "div",
    { class: "conflict" },
    el("h3", {}, icon("warn"), t("conflict.title")),
    el("ul", { class: "sides" }, listSides(answer).map(buildSide)),
  );
}

function buildCitationButton(citation, openSource) {
  if (!citation) return null;
  return el(
    "button",
    { type: "button", class: "who", on: { click: () => openSource(citation) } },
    el("strong", {}, nameDocument(citation)),
    el("span", { class: "soft small" }, [describePlace(citation), citation.date].filter(Boolean).join(" · ")),
    quoteView(citation.quote),
  );
}

function buildAbstention(answer) {
  const key = answer.status === "failed" ? "answer.failed" : `abstained.${answer.stop_reason}`;
  const explanation = has(key) ? t(key, { why: answer.stop_reason }) : answer.stop_reason;
  return [el("p", { class: "short" }, t(answer.status === "failed" ? "answer.none" : "answer.unknown")), el("p", { class: "whole large" }, explanation)];
}

/** Return what the pages of a document are called: slide, sheet or page. */
export const choosePageUnit = (path) => (/\.(pptx|odp)$/i.test(path) ? "slide" : /\.(xlsx|ods)$/i.test(path) ? "sheet" : "page");

/** Return the section and the page or line of a citation as text. */
export function describePlace(citation) {
  const parts = [citation.section, citation.page ? t(`place.${choosePageUnit(citation.path)}`, { n: citation.page }) : citation.line ? t("place.line", { n: citation.line }) : ""];
  return parts.filter(Boolean).join(" · ");
}

export function quoteView(quote, cells = []) {
  const row = parseRow(quote);
  if (cells.length) return el("q", {}, markCells(quote, cells));
  return row.length ? rowView(row) : el("q", {}, quote);
}

/** Mark the cells of a computation in the row that is quoted; offsets count characters, not UTF-16 units. */
function markCells(quote, cells) {
  const characters = [...quote];
  const join = (from, to) => characters.slice(from, to).join("");
  const parts = [];
  let at = 0;
  for (const [first, last] of cells.toSorted(([start], [otherStart]) => start - otherStart)) {
    if (first < at) continue;
    parts.push(join(at, first), el("mark", {}, join(first, last)));
    at = last;
  }
  return [...parts, join(at, characters.length)];
}

const listCells = (answer, citation) =>
  (answer.calculation?.cells ?? []).filter((cell) => cell.citation === citation.n).map((cell) => [cell.start - citation.start, cell.end - citation.start]);

/** Build the list of sources, which the arrow keys go through. */
function buildSources(answer, openSource) {
  const sideNumbers = new Set(listSides(answer).flatMap((side) => side.citations));
  const rest = answer.citations.filter((citation) => !sideNumbers.has(citation.n));
  if (!rest.length) return null;
  const list = el("ol", { class: "sources", on: { keydown: moveFocus } }, rest.map((citation) => buildSource(citation, openSource, listCells(answer, citation))));
  const title = answer.status === "answered" ? "sources.title" : "sources.nearest";
  return el("div", {}, el("h3", { class: "label" }, t(title)), list);
}

function buildSource(citation, openSource, cells) {
  const webAddress = citation.source === "web" ? parseSafeLink(citation.path) : null;
  const inner = [
    el("span", { class: "n" }, citation.n),
    el(
      "span",
      { class: "source-words" },
      el("strong", {}, nameDocument(citation)),
      el("span", { class: "soft small" }, citation.source === "web" ? t("sources.web") : describePlace(citation)),
      quoteView(citation.quote, cells),
      citation.verified ? null : el("span", { class: "bad small" }, t("sources.unverified")),
    ),
  ];
  if (webAddress) return el("li", {}, el("a", { class: "source", href: webAddress, rel: "noopener noreferrer nofollow", target: "_blank" }, inner));
  return el("li", {}, el("button", { type: "button", class: "source", on: { click: () => openSource(citation) } }, inner));
}

/** Move the focus to the next or previous button or link of a list with the arrow keys. */
export function moveFocus(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const targets = [...event.currentTarget.querySelectorAll("button, a")];
  const position = targets.indexOf(document.activeElement);
  if (position < 0 || !targets[position + step]) return;
  event.preventDefault();
  targets[position + step].focus();
}

/** Show the confidence in words and as a figure; return null where no answer was given. */
export function sureness(answer) {
  if (answer.status !== "answered") return null;
  if (answer.phase === "verified") return el("p", { class: "sure very" }, icon("check"), t("sure.verified"));
  const value = answer.confidence;
  if (value === null || value === undefined) return el("p", { class: "sure none" }, buildMeter(0), el("span", {}, el("strong", {}, t("sure.none")), " ", t("sure.none.why")));
  const [, level] = LEVELS.find(([lowest]) => value >= lowest);
  const meaning = t("sure.meaning", { n: formatNumber(Math.round(value * 100)) });
  const calibrationNote = answer.calibration ? t("sure.by", { by: answer.calibration }) : "";
  return el("p", { class: `sure ${level}` }, buildMeter(value), el("span", {}, el("strong", {}, t(`sure.${level}`)), ` ${formatPercent(value)}. `, el("span", { class: "soft" }, `${meaning} ${calibrationNote}`)));
}

function buildMeter(value) {
  const meter = el("span", { class: "meter", "aria-hidden": "true" });
  const litCount = Math.round(value * 5);
  return add(meter, [1, 2, 3, 4, 5].map((n) => el("i", { class: n <= litCount ? "on" : "" })));
}

const buildWarnings = (answer) => (answer.warnings ?? []).map((warning) => el("p", { class: "warning" }, icon("warn"), el("span", {}, warning)));

/** Build the row below an answer: judgement, copy button, usage and link to the trace. */
function buildFooter(answer) {
  const row = el("div", { class: "answer-foot" });
  const below = el("div", {});
  if (answer.trace_id) add(row, buildJudgement(answer, below));
  // Browsers offer no clipboard to pages of other machines without TLS.
  if (answer.status === "answered" && navigator.clipboard) {
    const copy = iconButton("copy", t("answer.copy"), async () => {
      await navigator.clipboard.writeText(formatPlainText(answer));
      fill(copy, icon("check"));
      copy.title = t("answer.copied");
      copy.setAttribute("aria-label", copy.title);
    });
    add(row, copy);
  }
  add(row, el("span", { class: "spring" }), buildUsage(answer));
  if (answer.trace_id) add(row, el("a", { class: "link small", href: `#/traces/${answer.trace_id}` }, t("answer.trace")));
  return [row, below];
}

function formatPlainText(answer) {
  const citationLines = answer.citations.map((citation) => `[${citation.n}] ${nameDocument(citation)}${describePlace(citation) ? `, ${describePlace(citation)}` : ""}: ${citation.quote}`);
  return [markTentative(answer, answer.answer), "", ...citationLines].join("\n");
}

function buildJudgement(answer, below) {
  const isAnswered = answer.status === "answered";
  const goodButton = iconButton("up", t("judge.good"), () => sendJudgement({ correct: true }, goodButton), { "aria-pressed": "false" });
  const badButton = isAnswered ? iconButton("down", t("judge.bad"), rejectAnswer, { "aria-pressed": "false" }) : el("button", { type: "button", class: "link small", hidden: true, on: { click: openCorrection } }, t("judge.know"));
  if (!isAnswered) mayCurate().then((isAllowed) => (badButton.hidden = !isAllowed));
  const status = el("span", { class: "soft small", role: "status" });
  async function sendJudgement(judgement, pressedButton) {
    try {
      await post("/feedback", { trace_id: answer.trace_id, ...judgement });
      if (isAnswered) for (const button of [goodButton, badButton]) button.setAttribute("aria-pressed", String(button === pressedButton));
      fill(status, t("judge.thanks"));
      fill(below);
    } catch (problem) {
      fill(status, [describeProblem(problem), describeNextStep(problem)].filter(Boolean).join("; "));
    }
  }
  /** Open the correction form; a key without the right to correct only marks the answer as wrong. */
  async function rejectAnswer() {
    if (await mayCurate()) openCorrection();
    else await sendJudgement({ correct: false }, badButton);
  }
  function openCorrection() {
    const field = el("textarea", { rows: 2, id: `right-${answer.trace_id}`, required: !isAnswered });
    const submit = (event) => {
      event.preventDefault();
      const correctAnswer = field.value.trim();
      sendJudgement({ correct: false, ...(correctAnswer && { answer: correctAnswer }) }, badButton);
    };
    const form = el(
      "form",
      { class: "correction", on: { submit } },
      el("label", { for: field.id }, t(isAnswered ? "judge.right" : "judge.answer")),
      field,
      el("div", { class: "buttons" }, el("button", { type: "submit", class: "primary" }, t("judge.send")), el("button", { type: "button", class: "plain", on: { click: () => { fill(below); badButton.focus(); } } }, t("cancel"))),
    );
    fill(below, form);
    field.focus();
  }
  return [isAnswered && !answer.disputed ? goodButton : null, badButton, status];
}

/** Build the table of usage against the budget. */
function buildUsage(answer) {
  const { usage = {}, budget = {} } = answer;
  const tokens = (usage.prompt_tokens ?? 0) + (usage.completion_tokens ?? 0);
  const rows = [
    ["usage.seconds", usage.seconds ?? 0, budget.seconds, (value) => formatSeconds(value)],
    ["usage.retrievals", usage.retrievals ?? 0, budget.retrievals, (value) => formatNumber(value)],
    ["usage.llm", usage.llm_calls ?? 0, budget.calls, (value) => formatNumber(value)],
    ["usage.tokens", tokens, budget.tokens, (value) => formatNumber(value)],
    ["usage.cost", usage.cost_usd ?? null, budget.cost_usd, (value) => `$${formatNumber(value, 4)}`],
  ];
  const buildRow = ([key, used, cap, format]) => {
    const bar = el("i", {});
    bar.style.width = cap ? `${Math.min(100, (100 * (used ?? 0)) / cap)}%` : "0";
    const allowance = cap === null || cap === undefined ? "" : t("usage.of", { cap: format(cap) });
    return el("tr", {}, el("th", { scope: "row" }, t(key)), el("td", {}, used === null ? t("usage.unknown") : format(used), " ", el("span", { class: "soft" }, allowance)), el("td", { "aria-hidden": "true" }, el("span", { class: "bar" }, bar)));
  };
  return el("details", { class: "spent" }, el("summary", { class: "link small" }, t("usage.title")), el("table", {}, el("tbody", {}, rows.map(buildRow))));
}

/** Return the short text of an answer, for places that show several answers. */
export const summarizeAnswer = (answer) =>
  answer.status === "answered" ? markTentative(answer, answer.short_answer || removeMarks(answer.answer)) : t(answer.status === "failed" ? "answer.none" : "answer.unknown");

const markTentative = (answer, text) => (answer.tentative ? `${t("answer.unsure")} ${text}` : text);

