// Evaluation reports: tables, sentences and plots, as `fathom eval` made them.

import { get } from "./api.js";
import { moveFocus } from "./answer.js";
import { el, fill } from "./dom.js";
import { formatDate, t } from "./i18n.js";
import { problemView } from "./problem.js";

export function reportsScreen() {
  const list = el("ul", { class: "cards", on: { keydown: moveFocus } });
  const screen = el("div", { class: "wide" }, el("h1", {}, t("reports.head")), el("p", { class: "soft" }, t("reports.note")), list);
  const card = (each) => el("li", {}, el("a", { class: "card", href: `#/reports/${encodeURIComponent(each.name)}` }, el("strong", {}, each.title), el("span", { class: "soft small" }, formatDate(each.created))));
  get("/reports").then(
    ({ reports }) => fill(list, reports.length ? reports.map(card) : el("li", { class: "none" }, el("p", {}, t("reports.none")), el("code", {}, "fathom eval questions.jsonl --strategy naive,adaptive --html report.html"))),
    (problem) => fill(list, el("li", {}, problemView(problem))),
  );
  return { screen, focus: () => list.querySelector("a")?.focus(), escape: () => false, leave: () => {} };
}

export function reportScreen(name) {
  const body = el("div", {}, el("p", { class: "soft", role: "status" }, t("loading")));
  const screen = el("div", { class: "wide report" }, el("p", {}, el("a", { class: "link small", href: "#/reports" }, t("reports.back"))), body);
  get(`/reports/${encodeURIComponent(name)}`).then(
    (report) => fill(body, el("h1", {}, report.title), report.sections.map(section), el("p", { class: "soft small" }, report.foot)),
    (problem) => fill(body, problemView(problem)),
  );
  return { screen, focus: () => {}, escape: () => false, leave: () => {} };
}

const section = (each) => el("section", {}, each.title ? el("h2", {}, each.title) : null, grouped(each.blocks).map((blocks) => (blocks[0].svg ? el("div", { class: "plots" }, blocks.map(figure)) : blocks.map(block))));

/** Blocks that follow each other, figures apart from all else. */
function grouped(blocks) {
  const groups = [];
  for (const each of blocks) {
    const last = groups.at(-1);
    if (last && Boolean(last[0].svg) === Boolean(each.svg)) last.push(each);
    else groups.push([each]);
  }
  return groups;
}

function block(each) {
  if (each.rows) return table(each);
  if (each.lines) return [each.title ? el("h3", {}, each.title) : null, el("ul", { class: "findings" }, each.lines.map((line) => el("li", {}, line)))];
  return el("p", { class: each.tone }, each.text);
}

function table(each) {
  const cell = (text) => {
    const found = /^(\S+) \[(.+)\]$/.exec(text);
    return found ? [found[1], el("span", { class: "interval" }, found[2])] : text;
  };
  return el(
    "figure",
    { class: "measured" },
    el("figcaption", {}, each.title),
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": each.title },
      el("table", {}, el("thead", {}, el("tr", {}, each.head.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, each.rows.map(([name, ...cells]) => el("tr", {}, el("th", { scope: "row" }, name), cells.map((text) => el("td", {}, cell(text))))))),
    ),
  );
}

/** A plot as a picture: what it was drawn with cannot act, whatever it holds. */
function figure(each) {
  const made = el("img", { alt: `${each.title}. ${each.caption}` });
  const address = URL.createObjectURL(new Blob([each.svg], { type: "image/svg+xml" }));
  made.onload = made.onerror = () => URL.revokeObjectURL(address);
  made.src = address;
  return el("figure", {}, el("figcaption", {}, each.title ? el("strong", {}, `${each.title}. `) : null, each.caption), made);
}
