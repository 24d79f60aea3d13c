// The screens of evaluation reports: tables, sentences and plots of `fathom eval`.

import { get } from "./api.js";
import { moveFocus } from "./answer.js";
import { el, fill } from "./dom.js";
import { formatDate, t } from "./i18n.js";
import { problemView } from "./problem.js";

export function reportsScreen() {
  const list = el("ul", { class: "cards", on: { keydown: moveFocus } });
  const screen = el("div", { class: "wide" }, el("h1", {}, t("reports.head")), el("p", { class: "soft" }, t("reports.note")), list);
  const buildCard = (report) => el("li", {}, el("a", { class: "card", href: `#/reports/${encodeURIComponent(report.name)}` }, el("strong", {}, report.title), el("span", { class: "soft small" }, formatDate(report.created))));
  get("/reports").then(
    ({ reports }) => fill(list, reports.length ? reports.map(buildCard) : el("li", { class: "none" }, el("p", {}, t("reports.none")), el("code", {}, "fathom eval questions.jsonl --strategy naive,adaptive --html report.html"))),
    (problem) => fill(list, el("li", {}, problemView(problem))),
  );
  return { screen, focus: () => list.querySelector("a")?.focus(), escape: () => false, leave: () => {} };
}

export function reportScreen(name) {
  const body = el("div", {}, el("p", { class: "soft", role: "status" }, t("loading")));
  const screen = el("div", { class: "wide report" }, el("p", {}, el("a", { class: "link small", href: "#/reports" }, t("reports.back"))), body);
  get(`/reports/${encodeURIComponent(name)}`).then(
    (report) => fill(body, el("h1", {}, report.title), report.sections.map(buildSection), el("p", { class: "soft small" }, report.foot)),
    (problem) => fill(body, problemView(problem)),
  );
  return { screen, focus: () => {}, escape: () => false, leave: () => {} };
}

const buildSection = (section) => el("section", {}, section.title ? el("h2", {}, section.title) : null, groupBlocks(section.blocks).map((blocks) => (blocks[0].svg ? el("div", { class: "plots" }, blocks.map(buildFigure)) : blocks.map(buildBlock))));

/** Group consecutive blocks into plots and other blocks. */
function groupBlocks(blocks) {
  const groups = [];
  for (const block of blocks) {
    const lastGroup = groups.at(-1);
    if (lastGroup && Boolean(lastGroup[0].svg) === Boolean(block.svg)) lastGroup.push(block);
    else groups.push([block]);
  }
  return groups;
}

function buildBlock(block) {
  if (block.rows) return buildTable(block);
  if (block.lines) return [block.title ? el("h3", {}, block.title) : null, el("ul", { class: "findings" }, block.lines.map((line) => el("li", {}, line)))];
  return el("p", { class: block.tone }, block.text);
}

function buildTable(table) {
  const buildCell = (text) => {
    const interval = /^(\S+) \[(.+)\]$/.exec(text);
    return interval ? [interval[1], el("span", { class: "interval" }, interval[2])] : text;
  };
  return el(
    "figure",
    { class: "measured" },
    el("figcaption", {}, table.title),
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": table.title },
      el("table", {}, el("thead", {}, el("tr", {}, table.head.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, table.rows.map(([name, ...cells]) => el("tr", {}, el("th", { scope: "row" }, name), cells.map((text) => el("td", {}, buildCell(text))))))),
    ),
  );
}

/** Build a plot as an image, because scripts inside an SVG image never run. */
function buildFigure(plot) {
  const picture = el("img", { alt: `${plot.title}. ${plot.caption}` });
  const address = URL.createObjectURL(new Blob([plot.svg], { type: "image/svg+xml" }));
  picture.onload = picture.onerror = () => URL.revokeObjectURL(address);
  picture.src = address;
  return el("figure", {}, el("figcaption", {}, plot.title ? el("strong", {}, `${plot.title}. `) : null, plot.caption), picture);
}
