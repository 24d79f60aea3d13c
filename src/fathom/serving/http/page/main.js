// The frame of the page: navigation, addresses, keyboard, colours, language and the server's key.

import { buildSignOnAddress, get, mayAdminister, readKey, readUser, setKey, signOut } from "./api.js";
import { moveFocus } from "./answer.js";
import { askScreen } from "./ask.js";
import { compareScreen } from "./compare.js";
import { documentScreen, documentsScreen } from "./documents.js";
import { add, el, fill, icon, iconButton } from "./dom.js";
import { readLanguage, LANGUAGES, setLanguage, t } from "./i18n.js";
import { keyForm } from "./problem.js";
import { reportScreen, reportsScreen } from "./reports.js";
import { sourcesScreen } from "./sources.js";
import { traceScreen, tracesScreen } from "./traces.js";

const PLACES = [
  ["ask", "#/"],
  ["documents", "#/documents"],
  ["compare", "#/compare"],
  ["history", "#/traces"],
  ["reports", "#/reports"],
];
const ADMIN_PLACE = ["sources", "#/sources"];
let current = null;
let placeNow = "ask";

/** Build the screen that an address names; return it after its place in the navigation. */
function buildScreen(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [head, ...rest] = path.split("/");
  const id = decode(rest.join("/"));
  if (head === "documents") return ["documents", id ? documentScreen(id, new URLSearchParams(query)) : documentsScreen()];
  if (head === "traces") return ["history", id ? traceScreen(id) : tracesScreen()];
  if (head === "compare") return ["compare", compareScreen()];
  if (head === "sources") return ["sources", sourcesScreen()];
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
    onConversation: (newId) => {
      if (newId) history.replaceState(null, "", `#/c/${encodeURIComponent(newId)}`);
      loadConversations();
    },
  });
}

const main = el("main", { id: "main", tabindex: -1 });
const nav = el("nav", { "aria-label": t("nav.label") });
const earlierList = el("div", { class: "earlier" });
const side = el("div", { class: "side", id: "side" });

function showScreen({ focus = false } = {}) {
  current?.leave();
  const [place, screen] = buildScreen(location.hash);
  [placeNow, current] = [place, screen];
  fill(main, current.screen);
  main.scrollTop = 0;
  fillFrame(place);
  closeSide();
  document.title = place === "ask" ? "Fathom" : `${t(`nav.${place}`)} · Fathom`;
  if (place === "ask") current.focus();
  else if (focus) main.focus({ preventScroll: true });
}

/** Fill the frame with words in the current language. */
function fillFrame(place) {
  nav.setAttribute("aria-label", t("nav.label"));
  const buildLink = ([name, href]) => el("a", { href, "aria-current": name === place ? "page" : null, on: { click: reopenScreen(href) } }, icon(name), t(`nav.${name}`));
  const links = PLACES.map(buildLink);
  fill(nav, links);
  // Another frame may have been filled meanwhile.
  mayAdminister().then((isAllowed) => isAllowed && links[0].isConnected && add(nav, buildLink(ADMIN_PLACE)));
  fill(
    side,
    el("div", { class: "brand" }, el("a", { href: "#/", class: "wordmark", on: { click: reopenScreen("#/") } }, buildLogo(), "Fathom"), iconButton("close", t("close"), closeSide, { class: "quiet round only-phone" })),
    el("a", { class: "new", href: "#/", on: { click: reopenScreen("#/") } }, icon("plus"), t("nav.new")),
    nav,
    earlierList,
    user.label ? el("div", { class: "user small" }, el("span", { class: "soft" }, t("user.label", { name: user.label })), el("button", { type: "button", class: "plain", on: { click: endSession } }, t("user.leave"))) : null,
    el("div", { class: "preferences" }, languageSelect(), themeButton(), iconButton("key", t("key.title"), askKey)),
  );
  fill(skip, t("nav.skip"));
  fill(bar, iconButton("menu", t("nav.menu"), openSide, { "aria-controls": "side" }), el("a", { href: "#/", class: "wordmark", on: { click: reopenScreen("#/") } }, buildLogo(), "Fathom"));
}

/** Return a click handler that draws the screen anew if its address is already open. */
const reopenScreen = (href) => (event) => {
  if (location.hash === href || (href === "#/" && location.hash === "")) {
    event.preventDefault();
    showScreen();
  }
};

const buildLogo = () => el("img", { src: "/page/favicon.svg", alt: "", width: 22, height: 22 });

async function loadConversations() {
  let conversations = [];
  try {
    // The first answer gives a title; a page that is closed before leaves an empty conversation.
    conversations = (await get("/conversations")).conversations.filter(({ title }) => title).slice(0, 12);
  } catch {
    // The page works without the list of earlier conversations.
  }
  const buildItem = (conversation) => el("li", {}, el("a", { href: `#/c/${encodeURIComponent(conversation.id)}`, title: conversation.title }, conversation.title));
  fill(earlierList, conversations.length ? [el("h2", { class: "label" }, t("nav.earlier")), el("ul", { on: { keydown: moveFocus } }, conversations.map(buildItem))] : null);
}

function languageSelect() {
  const select = el("select", { "aria-label": t("language.label"), title: t("language.label"), class: "language" });
  add(select, Object.entries(LANGUAGES).map(([name, words]) => el("option", { value: name, lang: name, selected: name === readLanguage() }, words)));
  select.addEventListener("change", () => {
    setLanguage(select.value);
    showScreen();
    loadConversations();
    side.querySelector(".language").focus();
  });
  return select;
}

const readTheme = () => document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

function themeButton() {
  const otherTheme = readTheme() === "dark" ? "light" : "dark";
  const button = iconButton(otherTheme === "dark" ? "moon" : "sun", t(`theme.${otherTheme}`), () => {
    document.documentElement.dataset.theme = otherTheme;
    localStorage.setItem("fathom.theme", otherTheme);
    const next = themeButton();
    button.replaceWith(next);
    next.focus();
  });
  return button;
}

let user = { is_offered: false, label: "" };
let userRead = null;

async function loadUser() {
  user = await readUser();
  if (user.label) fillFrame(placeNow);
}

async function endSession() {
  await signOut();
  location.reload();
}

let keyDialog = null;

async function askKey(event) {
  await userRead;
  if (keyDialog?.open) return;
  const closeDialog = () => keyDialog.close();
  const isRefused = event.type === "fathom:key" && readKey();
  const applyKey = () => {
    closeDialog();
    showScreen();
    loadConversations();
  };
  keyDialog = el(
    "dialog",
    { "aria-label": t("key.title"), on: { close: ({ currentTarget }) => currentTarget.remove() } },
    user.is_offered ? el("p", {}, el("a", { class: "new", href: buildSignOnAddress() }, t("user.enter"))) : null,
    el("h2", {}, t("key.title")),
    isRefused ? el("p", { class: "bad", role: "alert" }, t("key.refused")) : null,
    keyForm(applyKey),
    el("div", { class: "buttons" }, readKey() ? el("button", { type: "button", class: "plain", on: { click: () => { setKey(""); applyKey(); } } }, t("key.forget")) : null, el("button", { type: "button", class: "plain", on: { click: closeDialog } }, t("cancel"))),
  );
  document.body.append(keyDialog);
  keyDialog.showModal();
}

function openSide() {
  document.body.classList.add("open-side");
  side.querySelector("button, a")?.focus();
}

function closeSide() {
  const hadFocus = side.contains(document.activeElement);
  document.body.classList.remove("open-side");
  if (hadFocus) bar.querySelector("button")?.focus();
}

function handleKey(event) {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName ?? "");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
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
addEventListener("hashchange", () => showScreen({ focus: true }));
addEventListener("keydown", handleKey);
document.addEventListener("fathom:key", askKey);
// A file dropped outside the drop zone would otherwise replace the page.
for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => fillFrame(placeNow));
userRead = loadUser();
showScreen();
loadConversations();
