// The readers of a document in words; the server tells them to those who may read all documents.

import { el } from "./dom.js";
import { t } from "./i18n.js";

const nameReaders = (readers) => {
  if (!readers.length) return t("readers.nobody");
  return readers.includes("*") ? t("readers.everybody") : readers.join(", ");
};

/** Return those whom each of several lists names. */
export const describeReaders = (lists) => lists.map(nameReaders).reduce((all, only) => t("readers.only", { all, only }));

/** Create the lines that say who may read a document, and which lists say so. */
export function readersView(details) {
  if (!details.readers) return null;
  const origins = details.reader_lists.map((list) => el("li", {}, t(`readers.by.${list.origin}`, { name: list.name }), ": ", nameReaders(list.readers)));
  return el("div", { class: "readers soft small" }, el("p", {}, t("readers.label"), ": ", el("strong", {}, describeReaders(details.readers))), origins.length ? el("ul", {}, origins) : null);
}
