// The only place that creates elements: with createElement and text, never from markup.

/** Create an element. Properties: `class`, `on` ({click: f}), `data` ({name: value}); others are attributes. */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [element, value] of Object.entries(properties)) setProperty(made, element, value);
  return add(made, ...children);
}

function setProperty(node, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name === "class") node.className = value;
  else if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
  else if (name === "data") Object.assign(node.dataset, value);
  else if (name === "value") node.value = value;
  else node.setAttribute(name, value === true ? "" : value);
}

/** Append nodes and texts to a node; undefined, null and false are left out. */
export function add(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** Replace the children of a node. */
export function fill(node, ...children) {
  node.replaceChildren();
  return add(node, ...children);
}

const PATHS = {
  ask: ["M21 12a8 8 0 0 1-8 8H4l2-3a8 8 0 1 1 15-5z"],
  documents: ["M14 3H7a2 2 0 0 0-2 2v14a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2V8z", "M14 3v5h5", "M9 13h6M9 17h4"],
  compare: ["M4 5h6v14H4zM14 5h6v14h-6z"],
  history: ["M12 8v4l3 2", "M3.5 12a8.5 8.5 0 1 0 2.6-6.1L3.5 8.4", "M3.5 4v4.4h4.4"],
  reports: ["M5 20V10M12 20V4M19 20v-7"],
  sources: ["M12 3v10", "M8 9l4 4 4-4", "M4 14v6h16v-6"],
  send: ["M12 19V5", "M6 11l6-6 6 6"],
  stop: ["M8 8h8v8H8z"],
  close: ["M6 6l12 12M18 6L6 18"],
  menu: ["M4 7h16M4 12h16M4 17h16"],
  up: ["M7 11v9H4v-9zM7 11l4-8a2.5 2.5 0 0 1 2.5 2.5V9H19a2 2 0 0 1 2 2.3l-1.2 7A2 2 0 0 1 17.800 20H7"],
  down: ["M17 13V4h3v9zM17 13l-4 8a2.5 2.5 0 0 1-2.500-2.500V15H5a2 2 0 0 1-2-2.300l1.200-7A2 2 0 0 1 6.200 4H17"],
  plus: ["M12 5v14M5 12h14"],
  trash: ["M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13"],
  upload: ["M12 16V4", "M7 9l5-5 5 5", "M4 16v4h16v-4"],
  check: ["M5 12.500l4.500 4.500L19 7.500"],
  warn: ["M12 4l9 16H3z", "M12 10v5M12 17.500v.2"],
  moon: ["M20 14.500A8.500 8.500 0 0 1 9.500 4 8.500 8.500 0 1 0 20 14.500z"],
  sun: ["M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z", "M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.400 1.400M17.600 17.600L19 19M5 19l1.400-1.400M17.600 6.400L19 5"],
  key: ["M8 15.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7z", "M11.500 12H21v4M17 12v3"],
  copy: ["M9 9h11v11H9z", "M15 9V4H4v11h5"],
  sliders: ["M4 8h10M18 8h2M4 16h2M10 16h10", "M16 6v4M8 14v4"],
  chevron: ["M9 6l6 6-6 6"],
  replay: ["M4 12a8 8 0 1 0 2.500-5.800L4 8.500", "M4 4v4.500h4.500"],
  outside: ["M14 4h6v6M20 4l-9 9M19 14v6H4V5h6"],
};

/** Draw a small icon, hidden from screen readers, which read the words beside it. */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  for (const d of PATHS[name]) {
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}

/** Create a button with an icon; screen readers read its label, and the pointer shows it as a hint. */
export function iconButton(name, label, act, properties = {}) {
  const hint = { type: "button", "aria-label": label, title: label };
  return el("button", { class: "quiet round", ...hint, on: { click: act }, ...properties }, icon(name));
}

/** Return the address of an external link, or null unless it is http or https. */
export function parseSafeLink(address) {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}
