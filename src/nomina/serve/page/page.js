// What all parts of the page share: the documents, where one is, and how something is said.
import { TokenNeeded } from "./client.js";
import { Store } from "./store.js";

export const $ = (id) => document.getElementById(id);

/** The document that is open, the mention that is looked at, the candidate that is chosen, what a search found. */
export const now = { key: null, mention: -1, choice: 0, offsets: null, found: null, kb: null };

export const store = new Store((key) => {
  if (key === now.key) $("conflict").hidden = false;
}, problem);

export const here = () => store.documents.get(now.key);
export const mentionNow = () => here()?.mentions[now.mention] ?? null;
export const candidatesNow = () => now.found ?? mentionNow()?.candidates ?? [];

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
