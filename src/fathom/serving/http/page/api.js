// Requests to the server and its replies: JSON, problems, and the stream of events.

const KEY = "fathom.key";

export const readKey = () => sessionStorage.getItem(KEY) ?? "";

export function setKey(value) {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

/** A problem as the server reports it (RFC 9457). */
export class Problem extends Error {
  constructor(status, detail, next = "", type = "") {
    super(detail);
    this.status = status;
    this.next = next;
    this.kind = type.split(":").pop();
  }
}

async function sendRequest(path, options = {}) {
  const headers = new Headers(options.headers);
  const usedKey = readKey();
  if (usedKey) headers.set("Authorization", `Bearer ${usedKey}`);
  let reply;
  try {
    // Without a key the session of a signed-on user counts.
    reply = await fetch(`/api/v1${path}`, { ...options, headers, credentials: usedKey ? "omit" : "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "offline");
  }
  if (reply.ok) return reply;
  let problem = {};
  try {
    problem = await reply.json();
  } catch {
    // A proxy may reply with something other than JSON; its status is enough.
  }
  // Another key was entered while the server refused this one: use it rather than ask for a third.
  if (reply.status === 401 && readKey() !== usedKey) return sendRequest(path, options);
  if (reply.status === 401) document.dispatchEvent(new CustomEvent("fathom:key"));
  throw new Problem(reply.status, problem.detail ?? reply.statusText, problem.next ?? "", problem.type ?? "");
}

const buildJsonRequest = (method, body, signal) => ({
  method,
  signal,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

export const get = async (path, signal) => (await sendRequest(path, { signal })).json();
export const getText = async (path, signal) => (await sendRequest(path, { signal })).text();
export const post = async (path, body = {}, signal) => (await sendRequest(path, buildJsonRequest("POST", body, signal))).json();
export const remove = async (path) => {
  await sendRequest(path, { method: "DELETE" });
};

/** Return a promise of whether this server signs users on, and of the name of the user. */
export async function readUser() {
  try {
    return await (await fetch("/sign-on/user")).json();
  } catch {
    return { is_offered: false, label: "" };
  }
}

/** Return the address that signs a user on and leads back to this place. */
export const buildSignOnAddress = () => `/sign-on?place=${encodeURIComponent(location.hash)}`;

export async function signOut() {
  const reply = await fetch("/sign-on/end", { method: "POST" });
  if (!reply.ok) throw new Problem(reply.status, reply.statusText);
}

/** Fetch an image and return an object URL; release it with URL.revokeObjectURL. */
export async function fetchImage(path, signal) {
  return URL.createObjectURL(await (await sendRequest(path, { signal })).blob());
}

let rights = null;

/** Return a promise of the scopes of the key, or of null if nothing tells them; cached until the key changes. */
function readScopes() {
  if (rights?.key !== readKey()) {
    const scopes = get("/status").then((status) => status.scopes);
    rights = { key: readKey(), scopes: scopes.catch(() => null) };
  }
  return rights.scopes;
}

/** Return a promise of whether the key may correct answers for everybody. */
export async function mayCurate() {
  // The server checks every correction, so the form is shown where the scopes are unknown.
  return (await readScopes())?.some((scope) => scope !== "read") ?? true;
}

/** Return a promise of whether the key may manage the sources. */
export async function mayAdminister() {
  return (await readScopes())?.includes("admin") ?? false;
}

export async function uploadFiles(files) {
  const body = new FormData();
  for (const file of files) body.append("files", file, file.webkitRelativePath || file.name);
  return (await sendRequest("/documents", { method: "POST", body })).json();
}

/** Ask a question, call `onEvent(name, data)` for each event, and return the whole answer. */
export async function askQuestion(body, onEvent, signal) {
  const reply = await sendRequest("/ask/stream", buildJsonRequest("POST", body, signal));
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  let answer = null;
  for (;;) {
    const { value, done } = await readChunk(reader);
    if (done) break;
    const frames = (unread + value).split("\n\n");
    unread = frames.pop();
    for (const frame of frames) {
      const event = parseFrame(frame);
      if (!event) continue;
      if (event.name === "error") throw new Problem(event.data.status ?? 500, event.data.detail ?? "", event.data.next, event.data.type);
      if (event.name === "final") answer = event.data;
      onEvent(event.name, event.data);
    }
  }
  if (!answer) throw new Problem(0, "cut");
  return answer;
}

async function readChunk(reader) {
  try {
    return await reader.read();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "cut");
  }
}

function parseFrame(frame) {
  let name = "message";
  const data = [];
  for (const line of frame.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}
