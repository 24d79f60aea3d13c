// Runs before anything is painted, so that neither colours nor language flash.
"use strict";
(() => {
  const root = document.documentElement;
  const theme = localStorage.getItem("fathom.theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  const chosen = localStorage.getItem("fathom.language");
  const own = (navigator.language || "en").slice(0, 2);
  root.lang = chosen === "en" || chosen === "id" ? chosen : own === "id" ? "id" : "en";
})();
