// The words of the page, and numbers and dates in the format of the language.

import { words as english } from "./en.js";
import { words as indonesian } from "./id.js";

const WORDS = { en: english, id: indonesian };
export const LANGUAGES = { en: "English", id: "Indonesia" };

export const readLanguage = () => (document.documentElement.lang === "id" ? "id" : "en");

export function setLanguage(name) {
  document.documentElement.lang = name;
  localStorage.setItem("fathom.language", name);
}

export const has = (key) => key in english;

/** Return the text of a key; `{n}` is replaced by the value named n. */
export function t(key, values = {}) {
  const text = WORDS[readLanguage()][key] ?? english[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** Return the text of a key for a number; for one thing, that of `key.one`. */
export const count = (n, key) => t(n === 1 && has(`${key}.one`) ? `${key}.one` : key, { n: formatNumber(n) });

export const formatNumber = (value, digits = 0) =>
  value.toLocaleString(readLanguage(), { minimumFractionDigits: digits, maximumFractionDigits: digits });

export const formatPercent = (share) => `${formatNumber(Math.round(share * 100))} %`;

export function formatSeconds(value) {
  if (value < 0.1) return t("unit.ms", { n: formatNumber(value * 1000) });
  return value < 90 ? t("unit.s", { n: formatNumber(value, value < 10 ? 1 : 0) }) : t("unit.min", { n: formatNumber(value / 60) });
}

const readFileName = (path) => path.split(/[\\/]/).pop();

/** Return the title of a document, or else the end of its path: its file and the record in it. */
export const nameDocument = (document) => document.title || readFileName(document.path);

export const formatBytes = (value) =>
  value < 1e6 ? `${formatNumber(Math.max(value, 0) / 1e3, value < 1e4 ? 1 : 0)} kB` : `${formatNumber(value / 1e6, 1)} MB`;

export function formatDate(iso, { time = true } = {}) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return iso ?? "";
  return moment.toLocaleString(readLanguage(), { dateStyle: "medium", ...(time && { timeStyle: "short" }) });
}
