// A document: its text around a place with the quote marked, pictures of its pages, and its outline.

import { get, getText, fetchImage } from "./api.js";
import { add, el, fill, iconButton, parseSafeLink } from "./dom.js";
import { nameDocument, formatNumber, t } from "./i18n.js";
import { choosePageUnit, moveFocus } from "./answer.js";
import { describeProblem, problemView } from "./problem.js";
import { readersView } from "./readers.js";

const AROUND = 5000;
const STEP = 8000;
const DRAWN = new Set(["pdf"]);

/**
 * Show a document with its quote in view.
 *
 * place: `{document, start, end, page}`; without `start` the document is opened at its beginning.
 * Returns the element, its outline, a promise that resolves when the quote is in view, and a
 * function that stops loading.
 */
export function documentView(place, { onClose, level = "h2" } = {}) {
  const controller = new AbortController();
  const body = el("div", { class: "document-body" }, el("p", { class: "soft", role: "status" }, t("loading")));
  const tabs = el("div", { class: "tabs", role: "group" });
  const head = el("header", { class: "document-head" });
  const contents = el("details", { class: "outline" });
  const view = el("article", { class: "document" }, head, contents, tabs, body);
  const ready = loadDocument();

  async function loadDocument() {
    const link = `/documents/${encodeURIComponent(place.document)}`;
    let details;
    try {
      details = await get(link, controller.signal);
    } catch (problem) {
      fill(head, buildCloseButton());
      return fill(body, problemView(problem));
    }
    fill(head, buildHeading(details), buildCloseButton());
    const text = buildText(link, details, place, controller.signal);
    const showElement = (element) => fill(body, element);
    if (details.outline.length > 1) fillOutline(details, async (section) => {
      pressTab(tabs, 0);
      showElement(text.view);
      await text.open(section.start, section.start);
    });
    else contents.remove();
    if (DRAWN.has(details.format) && details.pages && details.file !== false) {
      const pages = buildPages(link, details, place, controller.signal);
      const buildChooser = (index, part) => () => {
        pressTab(tabs, index);
        showElement(part.view);
        return part.start();
      };
      const [showText, showPages] = [buildChooser(0, text), buildChooser(1, pages)];
      add(tabs, buildTab(t("document.text"), showText), buildTab(t("document.page"), showPages));
      return showPages();
    }
    tabs.remove();
    showElement(text.view);
    return text.start();
  }

  function buildHeading(details) {
    const address = parseSafeLink(details.path);
    const file = details.path.split(/[\\/]/).pop() || details.path;
    const origin = address ? el("a", { class: "link", href: address, rel: "noopener noreferrer nofollow", target: "_blank" }, file) : file;
    const facts = [details.language === "und" ? "" : details.language.toUpperCase(), details.pages ? t(`document.${choosePageUnit(details.path)}s`, { n: formatNumber(details.pages) }) : ""];
    return el("div", {}, el(level, { class: "document-title" }, nameDocument(details)), el("p", { class: "soft small" }, origin, facts.filter(Boolean).map((fact) => ` · ${fact}`)), readersView(details));
  }
  const buildCloseButton = () => (onClose ? iconButton("close", t("close"), onClose, { data: { close: "" } }) : null);

  function fillOutline(details, onChoose) {
    const top = Math.min(...details.outline.map((section) => section.level));
    const items = details.outline.map((section) => {
      const item = el("button", { type: "button", class: "link", on: { click: () => onChoose(section) } }, section.title);
      item.dataset.level = Math.min(section.level - top, 3);
      return el("li", {}, item);
    });
    add(contents, el("summary", {}, t("document.outline")), el("ol", { on: { keydown: moveFocus } }, items));
  }
  return { view, ready, contents, end: () => controller.abort() };
}

const buildTab = (name, act) => el("button", { type: "button", "aria-pressed": "false", on: { click: act } }, name);

function pressTab(tabs, pressedIndex) {
  [...tabs.children].forEach((tab, index) => tab.setAttribute("aria-pressed", String(index === pressedIndex)));
}

/** Build the text of a document around a place, with buttons that fetch more above and below. */
function buildText(link, details, place, signal) {
  const view = el("div", { class: "text" });
  const headings = new Map(details.outline.map((section) => [section.start, section.level]));
  let [from, to] = [0, 0];
  let isStarted = false;
  let latest = 0;

  async function open(start, end) {
    from = Math.max(0, Math.min(start, details.length) - AROUND);
    to = Math.min(details.length, end + AROUND);
    if (!(await draw(start, end))) return;
    const target = view.querySelector("mark") ?? view.querySelector("[data-here]");
    target?.scrollIntoView({ block: "center" });
  }
  /** Draw the text and return true; return false, with nothing drawn, if a later request came before the reply. */
  async function draw(start, end) {
    const request = ++latest;
    let text;
    try {
      text = [...(await getText(`${link}/text?start=${from}&end=${to}`, signal))];
    } catch (problem) {
      if (problem.name !== "AbortError" && request === latest) fill(view, problemView(problem, () => open(start, end)));
      return false;
    }
    if (request !== latest) return false;
    const lines = el("div", { class: "lines", lang: details.language === "und" ? null : details.language });
    for (let at = 0; at <= text.length; ) {
      let lineEnd = text.indexOf("\n", at);
      if (lineEnd < 0) lineEnd = text.length;
      const kind = headings.has(from + at) ? "heading" : lineEnd === at ? "gap" : "";
      const placeMark = start === end && from + at === start ? { "data-here": true } : {};
      add(lines, el("p", { class: kind, ...placeMark }, splitLine(text, at, lineEnd, start - from, end - from)));
      at = lineEnd + 1;
    }
    const buildMoreButton = (name, act) => el("button", { type: "button", class: "plain", on: { click: act } }, t(name));
    fill(
      view,
      from > 0 ? buildMoreButton("document.earlier", () => { from = Math.max(0, from - STEP); return draw(start, end); }) : null,
      lines,
      to < details.length ? buildMoreButton("document.later", () => { to = Math.min(details.length, to + STEP); return draw(start, end); }) : null,
    );
    return true;
  }
  return {
    view,
    open,
    start() {
      if (isStarted) return undefined;
      isStarted = true;
      return open(place.start ?? 0, place.end ?? 0);
    },
  };
}

/** Split a line at the ends of its quoted part and mark it; offsets count characters, not UTF-16 units. */
function splitLine(text, at, stop, start, end) {
  const first = Math.max(at, Math.min(start, stop));
  const last = Math.max(first, Math.min(end, stop));
  const joinCharacters = (a, b) => text.slice(a, b).join("");
  return [joinCharacters(at, first), last > first ? el("mark", {}, joinCharacters(first, last)) : null, joinCharacters(last, stop)];
}

/** Build the pages of a document as pictures, one at a time, drawn by the server with the quote marked. */
function buildPages(link, details, place, signal) {
  const picture = el("img", { class: "page", alt: "" });
  const status = el("span", { class: "soft small", role: "status" });
  const back = iconButton("chevron", t("page.back"), () => turnPage(-1), { class: "quiet round back" });
  const next = iconButton("chevron", t("page.next"), () => turnPage(1));
  const view = el("div", { class: "pages" }, el("div", { class: "turner" }, back, status, next), picture);
  let page = Math.min(Math.max(place.page ?? 1, 1), details.pages);
  let isStarted = false;
  let latest = 0;

  async function draw() {
    const request = ++latest;
    fill(status, t("page.of", { n: formatNumber(page), all: formatNumber(details.pages) }));
    back.disabled = page <= 1;
    next.disabled = page >= details.pages;
    const quoteRange = place.end > place.start ? `&start=${place.start}&end=${place.end}` : "";
    try {
      const address = await fetchImage(`${link}/pages/${page}.png?width=1000${quoteRange}`, signal);
      if (request !== latest) return URL.revokeObjectURL(address);
      await new Promise((resolve) => {
        picture.onload = picture.onerror = resolve;
        picture.src = address;
      });
      URL.revokeObjectURL(address);
      if (request === latest) picture.alt = t("page.alt", { n: page, title: nameDocument(details) });
    } catch (problem) {
      if (problem.name !== "AbortError" && request === latest) fill(status, describeProblem(problem));
    }
  }
  function turnPage(step) {
    page += step;
    return draw();
  }
  return {
    view,
    start() {
      if (isStarted) return undefined;
      isStarted = true;
      return draw();
    },
  };
}
