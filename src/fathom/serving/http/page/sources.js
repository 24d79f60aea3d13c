// The screen of sources: the places that documents come from, with the state and the error of each.

import { get, post } from "./api.js";
import { el, fill } from "./dom.js";
import { count, formatDate, t } from "./i18n.js";
import { problemView } from "./problem.js";

const EVERY_MS = 1000;

export function sourcesScreen() {
  const list = el("ul", { class: "cards" });
  const problemBox = el("div", { class: "problems" });
  const screen = el("div", { class: "wide" }, el("h1", {}, t("origins.head")), el("p", { class: "soft" }, t("origins.note")), problemBox, list);
  let timer = 0;
  let isOpen = true;
  let lastReply = "";

  async function loadSources() {
    clearTimeout(timer);
    try {
      const { sources } = await get("/sources");
      if (!isOpen) return;
      showSources(sources);
      if (sources.some(({ state }) => state !== "idle")) timer = setTimeout(loadSources, EVERY_MS);
    } catch (problem) {
      if (isOpen) fill(problemBox, problemView(problem, loadSources));
    }
  }
  /** Show the sources, unless nothing has changed; the focus stays on its button. */
  function showSources(sources) {
    fill(problemBox);
    const reply = JSON.stringify(sources);
    if (reply === lastReply) return;
    lastReply = reply;
    const focused = list.contains(document.activeElement) ? document.activeElement.id : "";
    fill(list, sources.length ? sources.map(buildCard) : el("li", { class: "none" }, el("p", {}, t("origins.none")), el("code", {}, "fathom source add URL --every 1h")));
    if (focused) document.getElementById(focused)?.focus();
  }
  function buildCard(source) {
    const act = (name) => async () => {
      try {
        await post(`/sources/${encodeURIComponent(source.name)}/${name}`);
        await loadSources();
      } catch (problem) {
        fill(problemBox, problemView(problem));
      }
    };
    const facts = [
      source.state === "idle" ? "" : t(`origins.${source.state}`),
      source.paused ? t("origins.paused") : "",
      count(source.documents, "documents.count"),
      source.every ? t("origins.every", { time: source.every }) : "",
      source.synced ? t("origins.synced", { date: formatDate(source.synced) }) : t("origins.never"),
    ];
    return el(
      "li",
      { class: "card" },
      el("strong", {}, source.name),
      el("span", { class: "soft small address" }, source.url),
      el("span", { class: "small", role: "status" }, facts.filter(Boolean).join(" · ")),
      source.fault ? el("span", { class: "bad small" }, t("origins.fault", { why: source.fault })) : null,
      el(
        "div",
        { class: "buttons" },
        el("button", { type: "button", class: "plain", id: `sync-${source.name}`, "aria-label": `${t("origins.sync")}: ${source.name}`, on: { click: act("sync") } }, t("origins.sync")),
        el("button", { type: "button", class: "plain", id: `pause-${source.name}`, "aria-label": `${t(source.paused ? "origins.resume" : "origins.pause")}: ${source.name}`, on: { click: act(source.paused ? "resume" : "pause") } }, t(source.paused ? "origins.resume" : "origins.pause")),
      ),
    );
  }
  const leave = () => {
    isOpen = false;
    clearTimeout(timer);
  };
  loadSources();
  return { screen, focus: () => list.querySelector("button")?.focus(), escape: () => false, leave };
}
