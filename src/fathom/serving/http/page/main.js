// The frame: navigation, addresses, keys, colours and language.

import { get, readKey, setKey } from "./api.js";
import { moveFocus } from "./answer.js";
import { askScreen } from "./ask.js";
import { compareScreen } from "./compare.js";
import { documentScreen, documentsScreen } from "./documents.js";
import { add, el, fill, icon, iconButton } from "./dom.js";
import { readLanguage, LANGUAGES, setLanguage, t } from "./i18n.js";
import { keyForm } from "./problem.js";
import { reportScreen, reportsScreen } from "./reports.js";
import { traceScreen, tracesScreen } from "./traces.js";

const PLACES = [
  ["ask", "#/"],
  ["documents", "#/documents"],
  ["compare", "#/compare"],
  ["history", "#/traces"],
  ["reports", "#/reports"],
];
let current = null;
let placeNow = "ask";

/** Which screen an address names, and its place in the navigation. */
function screenOf(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [head, ...rest] = path.split("/");
  const id = decode(rest.join("/"));
  if (head === "documents") return ["documents", id ? documentScreen(id, new URLSearchParams(query)) : documentsScreen()];
  if (head === "traces") return ["history", id ? traceScreen(id) : tracesScreen()];
  if (head === "compare") return ["compare", compareScreen()];
  if (head === "reports") return ["reports", id ? reportScreen(id) : reportsScreen()];
  return ["ask", conversationScreen(head === "c" ? id : null)];
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function conversationScreen(id) {
  return askScreen({
    conversation: id,
    onConversation: (made) => {
      if (made) history.replaceState(null, "", `#/c/${encodeURIComponent(made)}`);
      recent();
    },
  });
}

const main = el("main", { id: "main", tabindex: -1 });
const nav = el("nav", { "aria-label": t("nav.label") });
const earlier = el("div", { class: "earlier" });
const side = el("div", { class: "side", id: "side" });

function show({ focus = false } = {}) {
  current?.leave();
  const [place, screen] = screenOf(location.hash);
  [placeNow, current] = [place, screen];
  fill(main, current.screen);
  main.scrollTop = 0;
  frame(place);
  closeSide();
  document.title = place === "ask" ? "Fathom" : `${t(`nav.${place}`)} · Fathom`;
  if (place === "ask") current.focus();
  else if (focus) main.focus({ preventScroll: true });
}

/** The words of the frame in the language of now. */
function frame(place) {
  nav.setAttribute("aria-label", t("nav.label"));
  fill(nav, PLACES.map(([name, href]) => el("a", { href, "aria-current": name === place ? "page" : null, on: { click: again(href) } }, icon(name), t(`nav.${name}`))));
  fill(
    side,
    el("div", { class: "brand" }, el("a", { href: "#/", class: "wordmark", on: { click: again("#/") } }, mark(), "Fathom"), iconButton("close", t("close"), closeSide, { class: "quiet round only-phone" })),
    el("a", { class: "new", href: "#/", on: { click: again("#/") } }, icon("plus"), t("nav.new")),
    nav,
    earlier,
    el("div", { class: "preferences" }, languageSelect(), themeButton(), iconButton("key", t("key.title"), askKey)),
  );
  fill(skip, t("nav.skip"));
  fill(bar, iconButton("menu", t("nav.menu"), openSide, { "aria-controls": "side" }), el("a", { href: "#/", class: "wordmark", on: { click: again("#/") } }, mark(), "Fathom"));
}

/** An address that is open already is opened anew. */
const again = (href) => (event) => {
  if (location.hash === href || (href === "#/" && location.hash === "")) {
    event.preventDefault();
    show();
  }
};

const mark = () => el("img", { src: "/page/favicon.svg", alt: "", width: 22, height: 22 });

async function recent() {
  let kept = [];
  try {
    kept = (await get("/conversations")).conversations.slice(0, 12);
  } catch {
    // Without them the page works as well.
  }
  const item = (each) => el("li", {}, el("a", { href: `#/c/${encodeURIComponent(each.id)}`, title: each.title }, each.title || t("nav.untitled")));
  fill(earlier, kept.length ? [el("h2", { class: "label" }, t("nav.earlier")), el("ul", { on: { keydown: moveFocus } }, kept.map(item))] : null);
}

function languageSelect() {
  const select = el("select", { "aria-label": t("language.label"), title: t("language.label"), class: "language" });
  add(select, Object.entries(LANGUAGES).map(([name, words]) => el("option", { value: name, lang: name, selected: name === readLanguage() }, words)));
  select.addEventListener("change", () => {
    setLanguage(select.value);
    show();
    recent();
  });
  return select;
}

const dark = () => document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

function themeButton() {
  const to = dark() === "dark" ? "light" : "dark";
  const button = iconButton(to === "dark" ? "moon" : "sun", t(`theme.${to}`), () => {
    document.documentElement.dataset.theme = to;
    localStorage.setItem("fathom.theme", to);
    const next = themeButton();
    button.replaceWith(next);
    next.focus();
  });
  return button;
}

let asked = null;

function askKey() {
  if (asked?.open) return;
  const close = () => {
    asked.close();
    asked.remove();
  };
  const done = () => {
    close();
    show();
    recent();
  };
  asked = el(
    "dialog",
    { "aria-label": t("key.title") },
    el("h2", {}, t("key.title")),
    keyForm(done),
    el("div", { class: "buttons" }, readKey() ? el("button", { type: "button", class: "plain", on: { click: () => { setKey(""); done(); } } }, t("key.forget")) : null, el("button", { type: "button", class: "plain", on: { click: close } }, t("cancel"))),
  );
  document.body.append(asked);
  asked.showModal();
}

function openSide() {
  document.body.classList.add("open-side");
  side.querySelector("button, a")?.focus();
}

function closeSide() {
  document.body.classList.remove("open-side");
}

function onKey(event) {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName ?? "");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    current?.focus();
  } else if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
    if (document.body.classList.contains("open-side")) closeSide();
    else if (current?.escape()) event.preventDefault();
  }
}

const skip = el("a", { href: "#main", class: "skip", on: { click: (event) => { event.preventDefault(); main.focus(); } } });
const bar = el("header", { class: "top" });
document.body.append(skip, bar, side, el("div", { class: "shade", on: { click: closeSide } }), main);
addEventListener("hashchange", () => show({ focus: true }));
addEventListener("keydown", onKey);
document.addEventListener("fathom:key", askKey);
// A file that misses its place must not replace the page.
for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => frame(placeNow));
show();
recent();
