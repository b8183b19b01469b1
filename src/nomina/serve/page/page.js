// What all parts of the page share: the documents, where one is, and how something is said.
import { TokenNeeded } from "./client.js";
import { NIL } from "./formats.js";
import { Store } from "./store.js";

const CONFLICT = {
  false: [
    "Another tab has changed this document",
    "Take what the other tab saved",
    "Keep what is here, overwrite the other",
    "Nothing more of it is saved here until you choose.",
  ],
  true: [
    "has changed this document meanwhile",
    "Take what is saved",
    "Keep mine too: where both decided, mine counts",
    "Nothing more of it is saved here until you choose. The other choice is had back with undo.",
  ],
};

export const $ = (id) => document.getElementById(id);

/** The document that is open, the mention that is looked at, the candidate that is chosen, the last search, its finds. */
export const now = { key: null, mention: -1, choice: 0, offsets: null, search: null, found: null, kb: null };

/** Where the documents are: in this browser, or in a project of the service. */
export let store = new Store(showConflict, problem);

export function keepIn(other) {
  store = other;
}

/** Say that a document was changed elsewhere, where it is the one that is open. */
export function showConflict(key) {
  if (key !== now.key) return;
  const [title, take, keep, hint] = CONFLICT[store.isProject];
  const who = store.isProject ? `${store.conflictOf(key).annotator} ` : "";
  $("conflict-title").textContent = `${who}${title}`;
  $("keep-mine").textContent = keep;
  $("take-theirs").textContent = take;
  $("conflict-hint").textContent = hint;
  $("conflict").hidden = false;
}

export const here = () => store.documents.get(now.key);
export const mentionNow = () => here()?.mentions[now.mention] ?? null;
export const candidatesNow = () => now.found ?? mentionNow()?.candidates ?? [];

/** The id that is decided of the mention, the first of several; null where none is, or no concept. */
export function decidedNow() {
  const id = mentionNow()?.gold?.[0][0] ?? NIL;
  return id === NIL ? null : id;
}

/** The id whose concept is shown: of the chosen candidate, else what is decided. */
export const chosenNow = () => candidatesNow()[now.choice]?.entity_id ?? decidedNow();

/** Whether letters are what somebody types, and no commands. */
export const isTyping = (at = document.activeElement) => at.matches("input:not([type=checkbox]), textarea, select");

export function say(words) {
  $("status").textContent = words;
}

export function problem(error) {
  $("problem").textContent = error === null ? "" : error.message;
  $("problem").hidden = error === null;
  if (error instanceof TokenNeeded) {
    $("token-form").hidden = false;
    $("token").focus();
  }
}

/** Something that may go wrong: what is wrong is shown. */
export const tried = (work) => async (...values) => {
  problem(null);
  try {
    await work(...values);
  } catch (error) {
    if (error.name !== "AbortError") problem(error);
  }
};
