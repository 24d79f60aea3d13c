// The words of the page, and numbers and dates as the language writes them.

import { words as english } from "./en.js";
import { words as indonesian } from "./id.js";

const WORDS = { en: english, id: indonesian };
export const LANGUAGES = { en: "English", id: "Indonesia" };

export const language = () => (document.documentElement.lang === "id" ? "id" : "en");

export function setLanguage(name) {
  document.documentElement.lang = name;
  localStorage.setItem("fathom.language", name);
}

export const has = (key) => key in english;

/** The words of a key; `{n}` is replaced by the value of this name. */
export function t(key, values = {}) {
  const text = WORDS[language()][key] ?? english[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** As `t`, with `key.one` for a single thing. */
export const count = (n, key) => t(n === 1 && has(`${key}.one`) ? `${key}.one` : key, { n: number(n) });

export const number = (value, digits = 0) =>
  value.toLocaleString(language(), { minimumFractionDigits: digits, maximumFractionDigits: digits });

export const percent = (share) => `${number(Math.round(share * 100))} %`;

export function seconds(value) {
  if (value < 0.1) return t("unit.ms", { n: number(value * 1000) });
  return value < 90 ? t("unit.s", { n: number(value, value < 10 ? 1 : 0) }) : t("unit.min", { n: number(value / 60) });
}

const name = (path) => path.split(/[\\/]/).pop();

/** What a document is called: its title, or else its file and the record in it. */
export const called = (document) => document.title || name(document.path);

export const bytes = (value) =>
  value < 1e6 ? `${number(Math.max(value, 0) / 1e3, value < 1e4 ? 1 : 0)} kB` : `${number(value / 1e6, 1)} MB`;

export function date(iso, { time = true } = {}) {
  const when = new Date(iso);
  if (Number.isNaN(when.getTime())) return iso ?? "";
  return when.toLocaleString(language(), { dateStyle: "medium", ...(time && { timeStyle: "short" }) });
}
