// Requests to the service that sent this page. A token is kept for this tab only.
const TOKEN = "nomina.token";
const concepts = new Map();

export class TokenNeeded extends Error {}

export function setToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

async function ask(path, options = {}) {
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
  const value = await answer.json().catch(() => ({})); // a proxy may answer otherwise
  if (!answer.ok) throw new Error(value.error ?? `the service answered ${answer.status}`);
  return value;
}

export const info = () => ask("info");

/** The predictions for a document: of its mentions, or of those that are found where it has none. */
export async function link({ id, text, mentions, sections }, signal) {
  const asked = mentions.map(({ spans, type }) => ({ spans, ...(type ? { type } : {}) }));
  const body = JSON.stringify({ documents: [{ id, text, mentions: asked, sections }] });
  const headers = { "content-type": "application/json" };
  const { documents } = await ask("link", { method: "POST", headers, body, signal });
  return documents[0];
}

export async function search(words) {
  return (await ask(`search?${new URLSearchParams({ q: words, k: 10 })}`)).candidates;
}

/** A concept; asked once. */
export async function concept(id) {
  if (!concepts.has(id)) concepts.set(id, await ask(`concepts/${encodeURIComponent(id)}`));
  return concepts.get(id);
}
