// Sets colours and language before the first paint, so that neither flashes.
"use strict";
(() => {
  const root = document.documentElement;
  const theme = localStorage.getItem("fathom.theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  const storedLanguage = localStorage.getItem("fathom.language");
  const browserLanguage = (navigator.language || "en").slice(0, 2);
  root.lang = storedLanguage === "en" || storedLanguage === "id" ? storedLanguage : browserLanguage === "id" ? "id" : "en";
})();
