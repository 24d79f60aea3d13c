// A document: its text around a place, with the quote marked; its pages as they look; its outline.

import { get, getText, fetchImage } from "./api.js";
import { add, el, fill, iconButton } from "./dom.js";
import { nameDocument, formatNumber, t } from "./i18n.js";
import { moveFocus } from "./answer.js";

const AROUND = 5000;
const STEP = 8000;
const DRAWN = new Set(["pdf"]);

/**
 * A document with its quote in view.
 *
 * place: `{document, start, end, page}`; without `start` the document is opened at its beginning.
 * Returns the element, and a promise that is kept when the quote can be seen.
 */
export function documentView(place, { onClose, level = "h2" } = {}) {
  const stop = new AbortController();
  const body = el("div", { class: "document-body" }, el("p", { class: "soft", role: "status" }, t("loading")));
  const tabs = el("div", { class: "tabs", role: "group" });
  const head = el("header", { class: "document-head" });
  const contents = el("details", { class: "outline" });
  const view = el("article", { class: "document" }, head, contents, tabs, body);
  const ready = load();

  async function load() {
    const link = `/documents/${encodeURIComponent(place.document)}`;
    let about;
    try {
      about = await get(link, stop.signal);
    } catch (problem) {
      fill(head, closer());
      return fill(body, el("p", { class: "bad", role: "alert" }, problem.message));
    }
    fill(head, heading(about), closer());
    const text = textOf(link, about, place, stop.signal);
    const show = (made) => fill(body, made);
    if (about.outline.length > 1) outline(about, async (section) => {
      press(tabs, 0);
      show(text.view);
      await text.open(section.start, section.start);
    });
    else contents.remove();
    if (DRAWN.has(about.format) && about.pages && about.file !== false) {
      const drawn = pagesOf(link, about, place, stop.signal);
      const choose = (n, made) => () => {
        press(tabs, n);
        show(made.view);
        return made.start();
      };
      const [asText, asPage] = [choose(0, text), choose(1, drawn)];
      add(tabs, tab(t("document.text"), asText), tab(t("document.page"), asPage));
      return asPage();
    }
    tabs.remove();
    show(text.view);
    return text.start();
  }

  function heading(about) {
    const file = about.path.split(/[\\/]/).pop();
    const facts = [file, about.language === "und" ? "" : about.language.toUpperCase(), about.pages ? t("document.pages", { n: formatNumber(about.pages) }) : ""];
    return el("div", {}, el(level, { class: "document-title" }, nameDocument(about)), el("p", { class: "soft small" }, facts.filter(Boolean).join(" · ")));
  }
  const closer = () => (onClose ? iconButton("close", t("close"), onClose, { data: { close: "" } }) : null);

  function outline(about, go) {
    const top = Math.min(...about.outline.map((each) => each.level));
    const items = about.outline.map((each) => {
      const item = el("button", { type: "button", class: "link", on: { click: () => go(each) } }, each.title);
      item.dataset.level = Math.min(each.level - top, 3);
      return el("li", {}, item);
    });
    add(contents, el("summary", {}, t("document.outline")), el("ol", { on: { keydown: moveFocus } }, items));
  }
  return { view, ready, contents, end: () => stop.abort() };
}

const tab = (name, act) => el("button", { type: "button", "aria-pressed": "false", on: { click: act } }, name);

function press(tabs, n) {
  [...tabs.children].forEach((each, at) => each.setAttribute("aria-pressed", String(at === n)));
}

/** The text of a document around a place; more is fetched above and below where it is asked for. */
function textOf(link, about, place, signal) {
  const view = el("div", { class: "text" });
  const headings = new Map(about.outline.map((each) => [each.start, each.level]));
  let [from, to] = [0, 0];
  let started = false;
  let latest = 0;

  async function open(start, end) {
    from = Math.max(0, start - AROUND);
    to = Math.min(about.length, end + AROUND);
    if (!(await draw(start, end))) return;
    const marked = view.querySelector("mark") ?? view.querySelector("[data-here]");
    marked?.scrollIntoView({ block: "center" });
  }
  /** Draws the text and says true; a slow answer that a later request overtook is dropped, and it says false. */
  async function draw(start, end) {
    const request = ++latest;
    const text = [...(await getText(`${link}/text?start=${from}&end=${to}`, signal))];
    if (request !== latest) return false;
    const lines = el("div", { class: "lines" });
    for (let at = 0; at <= text.length; ) {
      let stop = text.indexOf("\n", at);
      if (stop < 0) stop = text.length;
      const kind = headings.has(from + at) ? "heading" : stop === at ? "gap" : "";
      const here = start === end && from + at === start ? { "data-here": true } : {};
      add(lines, el("p", { class: kind, ...here }, cut(text, at, stop, start - from, end - from)));
      at = stop + 1;
    }
    const more = (name, act) => el("button", { type: "button", class: "plain", on: { click: act } }, t(name));
    fill(
      view,
      from > 0 ? more("document.earlier", () => { from = Math.max(0, from - STEP); return draw(start, end); }) : null,
      lines,
      to < about.length ? more("document.later", () => { to = Math.min(about.length, to + STEP); return draw(start, end); }) : null,
    );
    return true;
  }
  return {
    view,
    open,
    start() {
      if (started) return undefined;
      started = true;
      return open(place.start ?? 0, place.end ?? 0);
    },
  };
}

/** A line with the quoted part of it marked; offsets are in characters, not in UTF-16 units. */
function cut(text, at, stop, start, end) {
  const first = Math.max(at, Math.min(start, stop));
  const last = Math.max(first, Math.min(end, stop));
  const part = (a, b) => text.slice(a, b).join("");
  return [part(at, first), last > first ? el("mark", {}, part(first, last)) : null, part(last, stop)];
}

/** The pages of a document as they look, one at a time, drawn by the server with the quote marked. */
function pagesOf(link, about, place, signal) {
  const picture = el("img", { class: "page", alt: "" });
  const told = el("span", { class: "soft small", role: "status" });
  const back = iconButton("chevron", t("page.back"), () => turn(-1), { class: "quiet round back" });
  const next = iconButton("chevron", t("page.next"), () => turn(1));
  const view = el("div", { class: "pages" }, el("div", { class: "turner" }, back, told, next), picture);
  let page = Math.min(Math.max(place.page ?? 1, 1), about.pages);
  let started = false;
  let latest = 0;

  async function draw() {
    const request = ++latest;
    fill(told, t("page.of", { n: formatNumber(page), all: formatNumber(about.pages) }));
    back.disabled = page <= 1;
    next.disabled = page >= about.pages;
    const marked = place.end > place.start ? `&start=${place.start}&end=${place.end}` : "";
    try {
      const address = await fetchImage(`${link}/pages/${page}.png?width=1000${marked}`, signal);
      if (request !== latest) return URL.revokeObjectURL(address);
      await new Promise((done) => {
        picture.onload = picture.onerror = done;
        picture.src = address;
      });
      URL.revokeObjectURL(address);
      if (request === latest) picture.alt = t("page.alt", { n: page, title: nameDocument(about) });
    } catch (problem) {
      if (problem.name !== "AbortError" && request === latest) fill(told, problem.message);
    }
  }
  function turn(by) {
    page += by;
    return draw();
  }
  return {
    view,
    start() {
      if (started) return undefined;
      started = true;
      return draw();
    },
  };
}
