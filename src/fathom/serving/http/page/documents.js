// The screens of documents: the list, uploads with the outcome of each file, and one document.

import { get, remove, uploadFiles } from "./api.js";
import { moveFocus } from "./answer.js";
import { add, el, fill, icon, iconButton } from "./dom.js";
import { formatBytes, nameDocument, count, formatDate, has, formatNumber, formatSeconds, t } from "./i18n.js";
import { problemView } from "./problem.js";
import { describeReaders } from "./readers.js";
import { documentView } from "./source.js";

const EVERY_MS = 400;
const PAUSE_MS = 200;
const PAGE = 100;
const MOST_PLACE = 1e12;

export function documentsScreen() {
  const list = el("tbody", { on: { keydown: moveFocus } });
  const total = el("p", { class: "soft", role: "status" });
  const more = el("button", { type: "button", class: "plain", hidden: true, on: { click: () => loadDocuments(false) } }, t("more"));
  const filter = el("input", { type: "search", id: "filter", placeholder: t("documents.filter"), "aria-label": t("documents.filter"), on: { input: scheduleFilter } });
  const jobs = el("div", { class: "jobs" });
  const readersHead = el("th", { scope: "col", class: "c-readers", hidden: true }, t("documents.readers"));
  const table = el(
    "table",
    { class: "documents" },
    el("thead", {}, el("tr", {}, ["title", "file", "language", "chunks", "updated"].map((name) => el("th", { scope: "col", class: `c-${name}` }, t(`documents.${name}`))), readersHead, el("th", { scope: "col" }, el("span", { class: "visually-hidden" }, t("documents.remove"))))),
    list,
  );
  const problemBox = el("div", {});
  const screen = el("div", { class: "wide" }, el("h1", {}, t("documents.head")), dropZone(sendFiles), jobs, problemBox, el("div", { class: "bar-row" }, total, filter), table, more);
  let cursor = "";
  let latest = 0;
  let pause = 0;
  let isWatching = true;

  /** Load the matching documents when typing pauses; the server searches all documents at each request. */
  function scheduleFilter() {
    clearTimeout(pause);
    pause = setTimeout(loadDocuments, PAUSE_MS);
  }

  async function loadDocuments(fromStart = true) {
    const request = ++latest;
    const words = filter.value.trim();
    try {
      const page = await get(`/documents?limit=${PAGE}&words=${encodeURIComponent(words)}&cursor=${encodeURIComponent(fromStart ? "" : cursor)}`);
      if (request !== latest) return;
      if (fromStart) fill(list);
      readersHead.hidden = !page.documents.some((documentSummary) => documentSummary.readers);
      add(list, page.documents.map(buildRow));
      cursor = page.next ?? "";
      more.hidden = !page.next;
      fill(total, page.total ? count(page.total, "documents.count") : t(words ? "documents.unmatched" : "documents.none"));
      table.hidden = !page.total;
      filter.hidden = !page.total && !words;
      fill(problemBox);
    } catch (problem) {
      if (request !== latest) return;
      table.hidden = filter.hidden = true;
      fill(problemBox, problemView(problem, () => loadDocuments()));
    }
  }
  function buildRow(documentSummary) {
    const file = documentSummary.path.split(/[\\/]/).pop();
    const removeDocument = async () => {
      const position = [...list.children].indexOf(row);
      if (await confirmRemoval(t("documents.sure", { title: nameDocument(documentSummary) }))) {
        try {
          await remove(`/documents/${encodeURIComponent(documentSummary.id)}`);
          await loadDocuments();
          (list.children[position] ?? list.lastElementChild ?? screen).querySelector("button, input").focus();
        } catch (problem) {
          fill(problemBox, problemView(problem));
        }
      }
    };
    const row = el(
      "tr",
      {},
      el("td", { class: "c-title" }, el("a", { href: `#/documents/${encodeURIComponent(documentSummary.id)}` }, nameDocument(documentSummary))),
      el("td", { class: "c-file soft", title: documentSummary.path }, file),
      el("td", { class: "c-language soft" }, has(`language.${documentSummary.language}`) ? t(`language.${documentSummary.language}`) : documentSummary.language),
      el("td", { class: "c-chunks soft" }, formatNumber(documentSummary.chunks)),
      el("td", { class: "c-updated soft", title: formatDate(documentSummary.updated) }, formatDate(documentSummary.updated, { time: false })),
      documentSummary.readers ? buildReadersCell(describeReaders(documentSummary.readers)) : null,
      el("td", {}, iconButton("trash", t("documents.remove.one", { title: nameDocument(documentSummary) }), removeDocument)),
    );
    return row;
  }
  async function sendFiles(files) {
    if (!files.length) return;
    const card = jobCard(files.length);
    jobs.prepend(card.view);
    try {
      await followJob(card, await uploadFiles(files));
    } catch (problem) {
      card.fail(problem);
    }
  }
  /** Show the progress of a job until it ends. */
  async function followJob(card, job) {
    while (isWatching && !["done", "failed"].includes(job.state)) {
      card.show(job);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      job = await get(`/jobs/${encodeURIComponent(job.id)}`);
    }
    card.show(job);
    if (isWatching) await loadDocuments();
  }
  /** Show the jobs that began before this screen was opened and still run. */
  async function resumeJobs() {
    const openJobs = (await get("/jobs")).jobs.filter((job) => job.state === "waiting" || job.state === "running");
    for (const job of openJobs) {
      const card = jobCard(job.files_total);
      jobs.append(card.view);
      followJob(card, job).catch(card.fail);
    }
  }
  resumeJobs().catch(() => {});
  loadDocuments();
  return { screen, focus: () => filter.focus(), escape: () => false, leave: () => (isWatching = false) };
}

const buildReadersCell = (readers) => el("td", { class: "c-readers soft", title: readers }, readers);

/** Create the area that takes dropped or chosen files. */
function dropZone(sendFiles) {
  const input = el("input", { type: "file", multiple: true, id: "files", class: "visually-hidden", on: { change: () => { sendFiles([...input.files]); input.value = ""; } } });
  const zone = el(
    "div",
    { class: "drop" },
    input,
    el("label", { for: "files" }, icon("upload"), el("span", {}, el("strong", {}, t("drop.title")), " ", t("drop.or")), el("span", { class: "soft small" }, t("drop.formats"))),
  );
  const markOver = (on) => (event) => {
    event.preventDefault();
    zone.classList.toggle("over", on);
  };
  zone.addEventListener("dragenter", markOver(true));
  zone.addEventListener("dragover", markOver(true));
  zone.addEventListener("dragleave", markOver(false));
  zone.addEventListener("drop", (event) => {
    markOver(false)(event);
    sendFiles([...event.dataTransfer.files]);
  });
  return zone;
}

/** Create the progress card of an upload: files, rate, time left, and the outcome of each file. */
function jobCard(files) {
  const head = el("p", { role: "status" }, count(files, "job.sending"));
  const bar = el("i", {});
  const meter = el("span", { class: "bar wide-bar", role: "progressbar", "aria-label": t("job.label"), "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": 0 }, bar);
  const list = el("ul", { class: "job-files" });
  const view = el("section", { class: "job" }, head, meter, list);
  const setProgress = (share) => {
    bar.style.width = `${Math.round(100 * share)}%`;
    meter.setAttribute("aria-valuenow", Math.round(100 * share));
  };
  function show(job) {
    const isOver = job.state === "done" || job.state === "failed";
    const share = isOver ? 1 : job.bytes_total ? job.bytes_done / job.bytes_total : job.files_total ? job.files_done / job.files_total : 0;
    setProgress(share);
    const parts = [t(`job.${job.state}`), t("job.files", { n: formatNumber(job.files_done ?? 0), all: formatNumber(job.files_total ?? files) })];
    if (!isOver && job.rate) parts.push(t("job.rate", { rate: formatBytes(job.rate) }));
    if (!isOver && job.seconds_left) parts.push(t("job.left", { time: formatSeconds(job.seconds_left) }));
    fill(head, parts.join(" · "), job.reason ? el("span", { class: "bad" }, ` ${job.reason}`) : null);
    fill(list, (job.files ?? []).map(buildFileLine));
    view.classList.toggle("over", isOver);
  }
  function fail(problem) {
    view.classList.add("over");
    fill(head);
    add(head, problemView(problem));
  }
  return { view, show, fail };
}

const BAD = new Set(["failed", "skipped", "refused", "stale"]);

/** Return the outcome of a file in words, by its reason where that has words of its own. */
function describeOutcome(file) {
  const key = [file.reason, file.outcome].map((word) => `outcome.${word}`).find(has);
  return key ? t(key) : file.outcome;
}

function buildFileLine(file) {
  const isBad = BAD.has(file.outcome);
  return el("li", { class: isBad ? "bad" : "" }, icon(isBad ? "warn" : "check"), el("span", {}, el("strong", {}, file.path.split(/[\\/]/).pop()), " ", describeOutcome(file), isBad && file.reason ? el("span", { class: "reason" }, file.reason) : null));
}

/** Ask for confirmation before a document is removed; return a promise of true or false. */
function confirmRemoval(question) {
  return new Promise((resolve) => {
    const closeWith = (isConfirmed) => () => {
      dialog.close();
      dialog.remove();
      resolve(isConfirmed);
    };
    const dialog = el(
      "dialog",
      { "aria-label": t("confirm"), on: { cancel: (event) => { event.preventDefault(); closeWith(false)(); } } },
      el("p", {}, question),
      el("div", { class: "buttons" }, el("button", { type: "button", class: "primary danger", on: { click: closeWith(true) } }, t("documents.remove")), el("button", { type: "button", class: "plain", autofocus: true, on: { click: closeWith(false) } }, t("cancel"))),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Create the screen of one document, opened at a place. */
export function documentScreen(id, query) {
  // The server refuses places that no document has; a link with one still opens the document.
  const readNumber = (name) => (query.has(name) ? Math.trunc(Math.min(Math.max(Number(query.get(name)) || 0, 0), MOST_PLACE)) : undefined);
  const panel = documentView({ document: id, start: readNumber("start"), end: readNumber("end"), page: readNumber("page") }, { level: "h1" });
  panel.contents.open = matchMedia("(min-width: 60rem)").matches;
  const screen = el("div", { class: "reading" }, el("p", {}, el("a", { class: "link small", href: "#/documents" }, t("documents.back"))), panel.view);
  return { screen, focus: () => {}, escape: () => false, leave: panel.end };
}
