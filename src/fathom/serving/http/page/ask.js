// The conversation: questions, the steps of the agents, answers, and a panel with the source.

import { askQuestion, get, post } from "./api.js";
import { add, el, fill } from "./dom.js";
import { answerView, summarizeAnswer } from "./answer.js";
import { readChoices, composerView } from "./composer.js";
import { count, t } from "./i18n.js";
import { removePending, storePending, takePending } from "./pending.js";
import { describeProblem, problemView } from "./problem.js";
import { documentView } from "./source.js";
import { Run, work } from "./steps.js";

/** Create the screen. `conversation` is the id of an earlier conversation, or null for a new one. */
export function askScreen({ conversation, onConversation }) {
  const turns = el("div", { class: "turns" });
  const welcome = el("div", { class: "welcome" }, el("h1", {}, t("ask.title")), el("p", { class: "soft", id: "welcome-note" }, "\u00a0"));
  const status = el("p", { class: "visually-hidden", role: "status" });
  const panel = el("aside", { class: "panel", "aria-label": t("source.label"), hidden: true });
  const questions = [];
  const history = [];
  let storedTurns = 0;
  let id = conversation ?? null;
  let controller = null;
  let sourceView = null;
  let opener = null;

  const composer = composerView({ onAsk: submitQuestion, onStop: () => controller?.abort(), readPreviousQuestion: () => questions.at(-1) ?? "" });
  const column = el("div", { class: "column" }, welcome, turns, status, el("div", { class: "dock" }, composer.form));
  const screen = el("div", { class: "ask empty" }, column, panel);

  function openSource(citation) {
    opener = document.activeElement;
    sourceView?.end();
    sourceView = documentView(citation, { onClose: closeSource });
    fill(panel, sourceView.view);
    panel.hidden = false;
    screen.classList.add("beside");
    sourceView.ready.then(() => panel.querySelector("[data-close]")?.focus({ preventScroll: true }));
  }
  function closeSource() {
    if (panel.hidden) return false;
    sourceView?.end();
    panel.hidden = true;
    fill(panel);
    screen.classList.remove("beside");
    opener?.focus({ preventScroll: true });
    return true;
  }

  async function submitQuestion(question, options = readChoices()) {
    beginTurn(question);
    const run = new Run();
    const progress = work(run);
    const turn = el("article", { class: "turn" }, el("h2", { class: "question" }, question), progress.box);
    add(turns, turn);
    const answerBox = el("div", { "aria-busy": "true" });
    add(turn, answerBox);
    turn.scrollIntoView({ block: "start", behavior: chooseScrollBehavior() });
    controller = new AbortController();
    let isDrawPending = false;
    const showEvent = (name, data) => {
      run.tell(name, data);
      if (name === "plan" && data.standalone && data.standalone !== question) showUnderstanding(turn, data.standalone);
      if (isDrawPending) return;
      isDrawPending = true;
      requestAnimationFrame(() => {
        isDrawPending = false;
        if (answerBox.hasAttribute("aria-busy")) {
          progress.refresh(null);
          fill(answerBox, run.words ? el("p", { class: "whole large" }, run.words.replace(/\s*\[\d+\]/g, "")) : null);
        }
      });
    };
    composer.setBusy(true);
    try {
      // Before the conversation is begun, and again with its id: a reload may come at any time.
      storePending({ conversation: id, question, options, storedTurns });
      const context = await prepareContext();
      storePending({ conversation: id, question, options, storedTurns });
      const answer = await askQuestion({ question, ...options, ...context }, showEvent, controller.signal);
      removePending();
      storedTurns += 1;
      finishTurn(turn, answer);
      progress.refresh(answer);
      progress.box.open = false;
      fill(answerBox, answerView(answer, openSource));
      fill(status, `${t("answer.ready")} ${summarizeAnswer(answer)}`);
      onConversation(id);
    } catch (problem) {
      if (!isInterruption(problem)) removePending();
      fill(answerBox, problem.name === "AbortError" ? el("p", { class: "soft" }, t("ask.stopped")) : problemView(problem, () => repeatQuestion(turn, question)));
      progress.refresh({ strategy: run.plan?.strategy ?? "", usage: {} });
      progress.box.open = false;
    } finally {
      answerBox.removeAttribute("aria-busy");
      composer.setBusy(false);
      controller = null;
    }
  }

  /** Ask a question again in the place of its failed turn. */
  function repeatQuestion(turn, question) {
    if (controller) return;
    turn.remove();
    composer.field.focus();
    submitQuestion(question);
  }
  function beginTurn(question) {
    hideWelcome();
    questions.push(question);
  }
  function hideWelcome() {
    screen.classList.remove("empty");
    welcome.hidden = true;
  }
  function finishTurn(turn, answer) {
    if (answer.standalone_question && answer.standalone_question !== answer.question) showUnderstanding(turn, answer.standalone_question);
    history.push({ role: "user", content: answer.question }, { role: "assistant", content: answer.answer || summarizeAnswer(answer) });
  }
  function showUnderstanding(turn, question) {
    if (turn.querySelector(".understood")) return;
    turn.querySelector(".question").after(el("p", { class: "understood soft small" }, t("ask.understood", { question })));
  }

  /** Return what a request says of the conversation; where the server cannot store it, all of it. */
  async function prepareContext() {
    if (!id) {
      try {
        id = (await post("/conversations", {}, controller.signal)).id;
        onConversation(id);
      } catch (problem) {
        if (problem.name === "AbortError" || isInterruption(problem)) throw problem;
      }
    }
    if (id) return { conversation: id };
    return history.length ? { history: history.slice(-20) } : {};
  }

  async function restoreTurns() {
    try {
      const record = await get(`/conversations/${encodeURIComponent(id)}`);
      for (const { question, answer } of record.turns) {
        beginTurn(question);
        const turn = el("article", { class: "turn" }, el("h2", { class: "question" }, question));
        add(turns, add(turn, stepsView(answer), answer ? answerView(answer, openSource) : null));
        if (answer) finishTurn(turn, answer);
      }
      storedTurns = record.turns.length;
      turns.lastElementChild?.scrollIntoView({ block: "start" });
      askPending(record.turns);
      if (!questions.length) showWelcome();
    } catch (problem) {
      hideWelcome();
      fill(turns, problem.status === 404 ? missingView() : problemView(problem));
      id = null;
    }
  }

  /** Ask the question again that a reload has interrupted, unless its answer is stored. */
  function askPending(restoredTurns) {
    const pending = takePending(id);
    const isStored = restoredTurns.slice(pending?.storedTurns).some((turn) => turn.question === pending?.question);
    if (pending && !isStored) submitQuestion(pending.question, pending.options);
  }

  if (id) restoreTurns();
  else {
    showWelcome();
    askPending([]);
  }

  /** Show the number of documents, or how to add some. */
  async function showWelcome() {
    const note = welcome.querySelector("#welcome-note");
    try {
      const { total } = await get("/documents?limit=1");
      if (total) fill(note, count(total, "ask.documents"));
      else fill(note, t("ask.nothing"), " ", el("a", { class: "link", href: "#/documents" }, t("ask.add")));
    } catch (problem) {
      if (problem.status !== 401) fill(note, describeProblem(problem));
    }
  }

  return {
    screen,
    focus: () => composer.field.focus(),
    escape: () => closeSource() || (controller ? (controller.abort(), true) : false),
    leave: () => {
      if (controller) removePending();
      controller?.abort();
      sourceView?.end();
    },
    ask: submitQuestion,
  };
}

/** Return whether a question failed because its connection was cut, or for want of a key. */
const isInterruption = (problem) => problem.status === 0 || problem.status === 401;

/** Show that an address names no conversation, and offer a new one. */
const missingView = () =>
  el(
    "div",
    { class: "problem", role: "alert" },
    el("p", {}, t("ask.missing")),
    el("p", { class: "soft small" }, t("ask.missing.why")),
    el("a", { class: "link", href: "#/" }, t("ask.new")),
  );

/** Show the steps of an earlier answer, fetched when the reader opens them. */
export function stepsView(answer) {
  if (!answer?.trace_id) return null;
  const run = new Run();
  const progress = work(run, { open: false });
  progress.refresh(answer);
  let isFetched = false;
  progress.box.addEventListener("toggle", async () => {
    if (!progress.box.open || isFetched) return;
    isFetched = true;
    try {
      const trace = await get(`/traces/${answer.trace_id}`);
      run.steps = Run.fromTrace(trace.lines).steps;
      for (const citation of answer.citations) run.titles.set(citation.document, citation.title);
      progress.refresh(answer);
    } catch (problem) {
      isFetched = false;
      fill(progress.box.lastElementChild, el("li", {}, problemView(problem)));
    }
  });
  return progress.box;
}

export const chooseScrollBehavior = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");
