// Texts and files become linked documents, one after the other.
import { sorted } from "./changes.js";
import { TokenNeeded, link } from "./client.js";
import { documentsOf } from "./formats.js";
import { $, now, say, store, tried } from "./page.js";
import { keyOf } from "./store.js";
import { listDocuments, open, showCount, showUnknownIds } from "./walking.js";

let stopped = null;
let before = Promise.resolve(); // the end of what is added at present

/** pasted: what the documents were read from where that is in the page; it goes where all of them are added. */
async function addAll(documents, pasted = null) {
  if ($("input").hidden) throw new Error("nothing can be added before the service has answered and knows who is working");
  const turn = before.then(() => addEach(documents));
  before = turn.catch(() => {});
  const failed = await turn;
  if (failed.length) {
    showUnknownIds().catch(() => {}); // what failed is said, however this is answered
    throw new Error(failed[0] + (failed.length > 1 ? ` (and ${failed.length - 1} more)` : ""));
  }
  close(pasted);
  await showUnknownIds();
}

/** What could not be added, and why. */
async function addEach(documents) {
  stopped = new AbortController();
  const { signal } = stopped;
  const failed = [];
  Object.assign($("progress"), { max: documents.length, value: 0, hidden: false });
  $("stop").hidden = false;
  let done = 0;
  try {
    for (const each of documents) {
      say(`Linking ${done + failed.length + 1} of ${documents.length}`);
      try {
        await addOne(each, signal);
        done += 1;
      } catch (error) {
        if (error.name === "AbortError" || error instanceof TokenNeeded) throw error;
        failed.push(`${each.id}: ${error.message}`);
      }
      $("progress").value = done + failed.length;
    }
  } finally {
    $("progress").hidden = $("stop").hidden = true;
    say(`${done} of ${documents.length} documents added`);
  }
  return failed;
}

/** At once with what is said, so that nothing that is pasted or typed behind it goes or is hidden. */
function close(pasted) {
  if ($("paste").value === pasted) $("paste").value = "";
  if ($("paste").value === "" && document.activeElement !== $("paste")) $("input").open = false;
}

async function addOne(given, signal) {
  signal.throwIfAborted();
  let key = await store.find(given.id, given.text);
  if (key === null) {
    const { predictions, kb } = await link(given, signal);
    const gold = given.mentions.map((mention) => mention.gold);
    const mentions = predictions.map((each, number) => fromPrediction(each, gold[number] ?? null));
    key = await store.add({ id: given.id, text: given.text, sections: given.sections, mentions: sorted(mentions), kb });
  }
  if (now.key === null) return open(key);
  listDocuments();
  showCount();
}

/** A mention as the page keeps it: a prediction, and the gold that somebody decided; null where nobody has. */
export function fromPrediction({ mention, ...rest }, gold) {
  return { ...rest, spans: mention.spans, text: mention.text, type: mention.type, gold, name: null };
}

async function contentOf(file) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is not UTF-8`);
  }
}

export const addFiles = tried(async (files) => {
  const read = [];
  for (const file of files) read.push(...documentsOf(await contentOf(file), file.name));
  await addAll(read);
});

export const addText = tried(async (content) => {
  await addAll(documentsOf(content, `text-${keyOf("", content).slice(0, 8)}`), content);
});

export const stop = () => stopped?.abort();
