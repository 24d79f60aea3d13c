// The documents: what there is, what goes in and why something did not, and one of them opened.

import { get, remove, uploadFiles } from "./api.js";
import { moveFocus } from "./answer.js";
import { add, el, fill, icon, iconButton } from "./dom.js";
import { formatBytes, nameDocument, count, formatDate, has, formatNumber, formatSeconds, t } from "./i18n.js";
import { problemView } from "./problem.js";
import { documentView } from "./source.js";

const EVERY_MS = 400;
const PAGE = 100;

export function documentsScreen() {
  const list = el("tbody", { on: { keydown: moveFocus } });
  const total = el("p", { class: "soft", role: "status" });
  const more = el("button", { type: "button", class: "plain", hidden: true, on: { click: () => load(false) } }, t("more"));
  const filter = el("input", { type: "search", id: "filter", placeholder: t("documents.filter"), "aria-label": t("documents.filter"), on: { input: narrow } });
  const jobs = el("div", { class: "jobs" });
  const table = el(
    "table",
    { class: "documents" },
    el("thead", {}, el("tr", {}, ["title", "file", "language", "chunks", "updated"].map((name) => el("th", { scope: "col", class: `c-${name}` }, t(`documents.${name}`))), el("th", { scope: "col" }, el("span", { class: "visually-hidden" }, t("documents.remove"))))),
    list,
  );
  const trouble = el("div", {});
  const screen = el("div", { class: "wide" }, el("h1", {}, t("documents.head")), dropZone(send), jobs, trouble, el("div", { class: "bar-row" }, total, filter), table, more);
  let cursor = "";
  let watching = true;

  async function load(anew = true) {
    try {
      const found = await get(`/documents?limit=${PAGE}&cursor=${encodeURIComponent(anew ? "" : cursor)}`);
      if (anew) fill(list);
      add(list, found.documents.map(line));
      cursor = found.next ?? "";
      more.hidden = !found.next;
      fill(total, found.total ? count(found.total, "documents.count") : t("documents.none"));
      table.hidden = filter.hidden = !found.total;
      fill(trouble);
      narrow();
    } catch (problem) {
      table.hidden = filter.hidden = true;
      fill(trouble, problemView(problem, () => load()));
    }
  }
  function narrow() {
    const words = filter.value.trim().toLowerCase();
    for (const row of list.children) row.hidden = Boolean(words) && !row.dataset.words.includes(words);
  }
  function line(each) {
    const file = each.path.split(/[\\/]/).pop();
    const removed = async () => {
      if (await confirmed(t("documents.sure", { title: nameDocument(each) }))) {
        try {
          await remove(`/documents/${encodeURIComponent(each.id)}`);
          await load();
        } catch (problem) {
          fill(trouble, problemView(problem));
        }
      }
    };
    return el(
      "tr",
      { data: { words: `${each.title} ${each.path}`.toLowerCase() } },
      el("td", { class: "c-title" }, el("a", { href: `#/documents/${encodeURIComponent(each.id)}` }, nameDocument(each))),
      el("td", { class: "c-file soft", title: each.path }, file),
      el("td", { class: "c-language soft" }, has(`language.${each.language}`) ? t(`language.${each.language}`) : each.language),
      el("td", { class: "c-chunks soft" }, formatNumber(each.chunks)),
      el("td", { class: "c-updated soft", title: formatDate(each.updated) }, formatDate(each.updated, { time: false })),
      el("td", {}, iconButton("trash", t("documents.remove.one", { title: nameDocument(each) }), removed)),
    );
  }
  async function send(files) {
    if (!files.length) return;
    const card = jobCard(files.length);
    jobs.prepend(card.view);
    try {
      await follow(card, await uploadFiles(files));
    } catch (problem) {
      card.fail(problem);
    }
  }
  /** Show how far a job is until it is over. */
  async function follow(card, job) {
    while (watching && !["done", "failed"].includes(job.state)) {
      card.show(job);
      await new Promise((done) => setTimeout(done, EVERY_MS));
      job = await get(`/jobs/${encodeURIComponent(job.id)}`);
    }
    card.show(job);
    if (watching) await load();
  }
  /** Jobs that went on while another screen was open. */
  async function resume() {
    const open = (await get("/jobs")).jobs.filter((job) => job.state === "waiting" || job.state === "running");
    for (const job of open) {
      const card = jobCard(job.files_total);
      jobs.append(card.view);
      follow(card, job).catch(card.fail);
    }
  }
  resume().catch(() => {});
  load();
  return { screen, focus: () => filter.focus(), escape: () => false, leave: () => (watching = false) };
}

/** Where files are dropped, or chosen. */
function dropZone(send) {
  const input = el("input", { type: "file", multiple: true, id: "files", class: "visually-hidden", on: { change: () => { send([...input.files]); input.value = ""; } } });
  const zone = el(
    "div",
    { class: "drop" },
    input,
    el("label", { for: "files" }, icon("upload"), el("span", {}, el("strong", {}, t("drop.title")), " ", t("drop.or")), el("span", { class: "soft small" }, t("drop.formats"))),
  );
  const over = (on) => (event) => {
    event.preventDefault();
    zone.classList.toggle("over", on);
  };
  zone.addEventListener("dragenter", over(true));
  zone.addEventListener("dragover", over(true));
  zone.addEventListener("dragleave", over(false));
  zone.addEventListener("drop", (event) => {
    over(false)(event);
    send([...event.dataTransfer.files]);
  });
  return zone;
}

/** How far an upload is: files, rate, time left, and for each file what became of it. */
function jobCard(files) {
  const head = el("p", { role: "status" }, count(files, "job.sending"));
  const bar = el("i", {});
  const meter = el("span", { class: "bar wide-bar", role: "progressbar", "aria-label": t("job.label"), "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": 0 }, bar);
  const list = el("ul", { class: "job-files" });
  const view = el("section", { class: "job" }, head, meter, list);
  const set = (share) => {
    bar.style.width = `${Math.round(100 * share)}%`;
    meter.setAttribute("aria-valuenow", Math.round(100 * share));
  };
  function show(job) {
    const over = job.state === "done" || job.state === "failed";
    const share = over ? 1 : job.bytes_total ? job.bytes_done / job.bytes_total : job.files_total ? job.files_done / job.files_total : 0;
    set(share);
    const parts = [t(`job.${job.state}`), t("job.files", { n: formatNumber(job.files_done ?? 0), all: formatNumber(job.files_total ?? files) })];
    if (!over && job.rate) parts.push(t("job.rate", { rate: formatBytes(job.rate) }));
    if (!over && job.seconds_left) parts.push(t("job.left", { time: formatSeconds(job.seconds_left) }));
    fill(head, parts.join(" · "), job.reason ? el("span", { class: "bad" }, ` ${job.reason}`) : null);
    fill(list, (job.files ?? []).map(fileLine));
    view.classList.toggle("over", over);
  }
  function fail(problem) {
    view.classList.add("over");
    fill(head);
    add(head, problemView(problem));
  }
  return { view, show, fail };
}

const BAD = new Set(["failed", "skipped", "refused", "stale"]);

/** What became of a file, in words; of one that is in, whether it was there before. */
function outcome(file) {
  const key = [file.reason, file.outcome].map((word) => `outcome.${word}`).find(has);
  return key ? t(key) : file.outcome;
}

function fileLine(file) {
  const bad = BAD.has(file.outcome);
  return el("li", { class: bad ? "bad" : "" }, icon(bad ? "warn" : "check"), el("span", {}, el("strong", {}, file.path.split(/[\\/]/).pop()), " ", outcome(file), bad && file.reason ? el("span", { class: "reason" }, file.reason) : null));
}

/** Ask before something is lost. */
function confirmed(question) {
  return new Promise((done) => {
    const close = (said) => () => {
      box.close();
      box.remove();
      done(said);
    };
    const box = el(
      "dialog",
      { "aria-label": t("confirm"), on: { cancel: (event) => { event.preventDefault(); close(false)(); } } },
      el("p", {}, question),
      el("div", { class: "buttons" }, el("button", { type: "button", class: "primary danger", on: { click: close(true) } }, t("documents.remove")), el("button", { type: "button", class: "plain", autofocus: true, on: { click: close(false) } }, t("cancel"))),
    );
    document.body.append(box);
    box.showModal();
  });
}

/** One document, opened at a place. */
export function documentScreen(id, query) {
  const at = (name) => (query.has(name) ? Number(query.get(name)) || 0 : undefined);
  const made = documentView({ document: id, start: at("start"), end: at("end"), page: at("page") }, { level: "h1" });
  made.contents.open = matchMedia("(min-width: 60rem)").matches;
  const screen = el("div", { class: "reading" }, el("p", {}, el("a", { class: "link small", href: "#/documents" }, t("documents.back"))), made.view);
  return { screen, focus: () => {}, escape: () => false, leave: made.end };
}
