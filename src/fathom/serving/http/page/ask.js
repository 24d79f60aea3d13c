// The conversation: questions, the agents at work, answers, and the source beside them.

import { askQuestion, get, post } from "./api.js";
import { add, el, fill } from "./dom.js";
import { answerView, gist } from "./answer.js";
import { choices, composer } from "./composer.js";
import { count, t } from "./i18n.js";
import { problemView } from "./problem.js";
import { documentView } from "./source.js";
import { Run, work } from "./steps.js";

/** The screen. `conversation` is the id of an earlier one, or nothing. */
export function askScreen({ conversation, onConversation }) {
  const turns = el("div", { class: "turns" });
  const welcome = el("div", { class: "welcome" }, el("h1", {}, t("ask.title")), el("p", { class: "soft", id: "welcome-note" }, "\u00a0"));
  const status = el("p", { class: "visually-hidden", role: "status" });
  const panel = el("aside", { class: "panel", "aria-label": t("source.label"), hidden: true });
  const said = [];
  const history = [];
  let id = conversation ?? null;
  let stop = null;
  let shown = null;
  let opener = null;

  const box = composer({ onAsk: put, onStop: () => stop?.abort(), before: () => said.at(-1) ?? "" });
  const column = el("div", { class: "column" }, welcome, turns, status, el("div", { class: "dock" }, box.form));
  const screen = el("div", { class: "ask empty" }, column, panel);

  function open(citation) {
    opener = document.activeElement;
    shown?.end();
    shown = documentView(citation, { onClose: close });
    fill(panel, shown.view);
    panel.hidden = false;
    screen.classList.add("beside");
    shown.ready.then(() => panel.querySelector("[data-close]")?.focus({ preventScroll: true }));
  }
  function close() {
    if (panel.hidden) return false;
    shown?.end();
    panel.hidden = true;
    fill(panel);
    screen.classList.remove("beside");
    opener?.focus({ preventScroll: true });
    return true;
  }

  async function put(question) {
    begin(question);
    const run = new Run();
    const doing = work(run);
    const turn = el("article", { class: "turn" }, el("h2", { class: "question" }, question), doing.box);
    add(turns, turn);
    const place = el("div", { "aria-busy": "true" });
    add(turn, place);
    turn.scrollIntoView({ block: "start", behavior: calm() });
    stop = new AbortController();
    let waiting = false;
    const tell = (name, data) => {
      run.tell(name, data);
      if (name === "plan" && data.standalone && data.standalone !== question) understood(turn, data.standalone);
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        if (place.hasAttribute("aria-busy")) {
          doing.refresh(null);
          fill(place, run.words ? el("p", { class: "whole large" }, run.words.replace(/\s*\[\d+\]/g, "")) : null);
        }
      });
    };
    box.setBusy(true);
    try {
      const answer = await askQuestion(await body(question), tell, stop.signal);
      finish(turn, answer);
      doing.refresh(answer);
      doing.box.open = false;
      fill(place, answerView(answer, open));
      fill(status, `${t("answer.ready")} ${gist(answer)}`);
      onConversation(id);
    } catch (problem) {
      fill(place, problem.name === "AbortError" ? el("p", { class: "soft" }, t("ask.stopped")) : problemView(problem, () => put(question)));
      doing.refresh({ strategy: run.plan?.strategy ?? "", usage: {} });
      doing.box.open = false;
    } finally {
      place.removeAttribute("aria-busy");
      box.setBusy(false);
      stop = null;
    }
  }

  function begin(question) {
    screen.classList.remove("empty");
    welcome.hidden = true;
    said.push(question);
  }
  function finish(turn, answer) {
    if (answer.standalone_question && answer.standalone_question !== answer.question) understood(turn, answer.standalone_question);
    history.push({ role: "user", content: answer.question }, { role: "assistant", content: answer.answer || gist(answer) });
  }
  function understood(turn, question) {
    if (turn.querySelector(".understood")) return;
    turn.querySelector(".question").after(el("p", { class: "understood soft small" }, t("ask.understood", { question })));
  }

  /** The request; the server keeps the conversation where it can, else the page sends it along. */
  async function body(question) {
    if (!id) {
      try {
        id = (await post("/conversations", {})).id;
      } catch (problem) {
        if (problem.status === 401 || problem.status === 0) throw problem;
      }
    }
    const before = id ? { conversation: id } : history.length ? { history: history.slice(-20) } : {};
    return { question, ...choices(), ...before };
  }

  async function restore() {
    try {
      const kept = await get(`/conversations/${encodeURIComponent(id)}`);
      for (const { question, answer } of kept.turns) {
        begin(question);
        const turn = el("article", { class: "turn" }, el("h2", { class: "question" }, question));
        add(turns, add(turn, steps(answer), answer ? answerView(answer, open) : null));
        if (answer) finish(turn, answer);
      }
      turns.lastElementChild?.scrollIntoView({ block: "start" });
    } catch (problem) {
      fill(turns, problemView(problem));
      id = null;
    }
  }

  if (id) restore();
  else greet();

  /** How many documents there are to ask. */
  async function greet() {
    const note = welcome.querySelector("#welcome-note");
    try {
      const { total } = await get("/documents?limit=1");
      if (total) fill(note, count(total, "ask.documents"));
      else fill(note, t("ask.nothing"), " ", el("a", { class: "link", href: "#/documents" }, t("ask.add")));
    } catch (problem) {
      if (problem.status !== 401) fill(note, problem.message === "offline" ? t("problem.offline") : problem.message);
    }
  }

  return {
    screen,
    focus: () => box.field.focus(),
    escape: () => close() || (stop ? (stop.abort(), true) : false),
    leave: () => {
      stop?.abort();
      shown?.end();
    },
    ask: put,
  };
}

/** The steps of an earlier answer, fetched when they are opened. */
export function steps(answer) {
  if (!answer?.trace_id) return null;
  const run = new Run();
  const doing = work(run, { open: false });
  doing.refresh(answer);
  let fetched = false;
  doing.box.addEventListener("toggle", async () => {
    if (!doing.box.open || fetched) return;
    fetched = true;
    const trace = await get(`/traces/${answer.trace_id}`);
    run.steps = Run.of(trace.lines).steps;
    for (const citation of answer.citations) run.titles.set(citation.document, citation.title);
    doing.refresh(answer);
  });
  return doing.box;
}

export const calm = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");
