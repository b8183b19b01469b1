// Requests to the service that sent this page. A token is kept for this tab only.
const TOKEN = "nomina.token";
const MOST = 5000; // mentions that one request to link has

let served = null; // the fingerprint of the KB that the service answered with last
let changed = () => {};
export class TokenNeeded extends Error {}

/** Somebody has saved the document meanwhile: who, and when. */
export class Conflict extends Error {
  constructor({ error, annotator, time }) {
    super(error);
    Object.assign(this, { annotator, time });
  }
}

/** changed: called when the service answers with another KB than before. */
export function watch(whenChanged) {
  changed = whenChanged;
}

function noted(kb) {
  const before = served;
  served = kb;
  if (before !== null && kb !== before) changed();
}

export function setToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

async function ask(path, options = {}) {
  const answer = await answered(path, options);
  if (answer.ok) return answer.json();
  const value = await answer.json().catch(() => ({})); // a proxy may answer otherwise
  throw answer.status === 409 ? new Conflict(value) : failure(answer, value);
}

const failure = ({ status }, { error }) =>
  Object.assign(new Error(error ?? `the service answered ${status}`), { status });

async function answered(path, options = {}) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = { ...options.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) };
  let answer;
  for (let tries = 0; ; tries += 1) {
    answer = await fetch(path, { ...options, headers });
    if (answer.status !== 429 || tries === 5) break;
    const seconds = Number(answer.headers.get("retry-after")) || 1;
    await new Promise((done) => setTimeout(done, seconds * 1000));
  }
  if (answer.status === 401) throw new TokenNeeded("the service asks for its token");
  return answer;
}

function post(path, value, signal) {
  const headers = { "content-type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(value), signal });
}

export async function info() {
  const found = await ask("info");
  served = found.kb.fingerprint;
  return found;
}

/** The predictions for a document: of its mentions, or of those that are found where it has none. */
export async function link({ id, text, mentions, sections }, signal) {
  const asked = mentions.map(({ spans, type }) => ({ spans, ...(type ? { type } : {}) }));
  let found = null;
  for (let at = 0; at === 0 || at < asked.length; at += MOST) {
    const part = { id, text, mentions: asked.slice(at, at + MOST), sections };
    const { predictions, kb } = (await post("link", { documents: [part] }, signal)).documents[0];
    found = { predictions: found ? found.predictions.concat(predictions) : predictions, kb };
    noted(kb);
  }
  return found;
}

export async function search(words) {
  const { candidates, kb } = await ask(`search?${new URLSearchParams({ q: words, k: 10 })}`);
  noted(kb);
  return candidates;
}

/** A concept, as the service's KB has it now. */
export async function concept(id) {
  const found = await ask(`concepts/${encodeURIComponent(id)}`);
  noted(found.kb);
  return found;
}

// Of a project; names are those of the annotators whose decisions count, none: all.
const whose = (names) => new URLSearchParams(names.map((name) => ["annotator", name]));

export const projectList = (names) => ask(`project?${whose(names)}`);
export const projectDocument = (number, names) => ask(`project/documents/${number}?${whose(names)}`);
export const projectUnknown = (names) => ask(`project/unknown?${whose(names)}`);
export const projectAdd = (value) => post("project/documents", value);
export const projectChange = (number, value) => post(`project/documents/${number}/changes`, value);

export async function projectExport(format, names) {
  const answer = await answered(`project/export?format=${format}&${whose(names)}`);
  if (!answer.ok) throw failure(answer, await answer.json().catch(() => ({})));
  return answer.text();
}
