// What the server is asked, and how it answers: JSON, problems, and the stream of events.

const KEY = "fathom.key";

export const key = () => sessionStorage.getItem(KEY) ?? "";

export function setKey(value) {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

/** What went wrong, as the server tells it (RFC 9457). */
export class Problem extends Error {
  constructor(status, detail, next = "") {
    super(detail);
    this.status = status;
    this.next = next;
  }
}

async function send(path, options = {}) {
  const headers = new Headers(options.headers);
  const used = key();
  if (used) headers.set("Authorization", `Bearer ${used}`);
  let reply;
  try {
    reply = await fetch(`/api/v1${path}`, { ...options, headers, credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "offline");
  }
  if (reply.ok) return reply;
  let told = {};
  try {
    told = await reply.json();
  } catch {
    // A server between may answer in other words; its status says enough.
  }
  // Another key was entered while the server refused this one, so nobody is asked again.
  if (reply.status === 401 && key() !== used) return send(path, options);
  if (reply.status === 401) document.dispatchEvent(new CustomEvent("fathom:key"));
  throw new Problem(reply.status, told.detail ?? reply.statusText, told.next ?? "");
}

const asJson = (method, body, signal) => ({
  method,
  signal,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

export const get = async (path, signal) => (await send(path, { signal })).json();
export const getText = async (path, signal) => (await send(path, { signal })).text();
export const post = async (path, body = {}, signal) => (await send(path, asJson("POST", body, signal))).json();
export const remove = async (path) => {
  await send(path, { method: "DELETE" });
};

/** An image as an address that this page may show; let go of it with URL.revokeObjectURL. */
export async function image(path, signal) {
  return URL.createObjectURL(await (await send(path, { signal })).blob());
}

let rights = null;

/** Whether the key may correct answers for everybody; asked once for each key. */
export function mayCurate() {
  if (rights?.key !== key()) {
    const may = get("/status").then(({ scopes }) => scopes.some((scope) => scope !== "read"));
    // The server decides in the end, so where it did not say the form is shown.
    rights = { key: key(), may: may.catch(() => true) };
  }
  return rights.may;
}

export async function upload(files) {
  const body = new FormData();
  for (const file of files) body.append("files", file, file.webkitRelativePath || file.name);
  return (await send("/documents", { method: "POST", body })).json();
}

/** Ask, and be told what happens: `tell(name, data)` for each event; returns the whole answer. */
export async function ask(body, tell, signal) {
  const reply = await send("/ask/stream", asJson("POST", body, signal));
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let answer = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const event = read(frame);
      if (!event) continue;
      if (event.name === "error") throw new Problem(event.data.status ?? 500, event.data.detail ?? "", event.data.next);
      if (event.name === "final") answer = event.data;
      tell(event.name, event.data);
    }
  }
  if (!answer) throw new Problem(0, "cut");
  return answer;
}

function read(frame) {
  let name = "message";
  const data = [];
  for (const line of frame.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}
