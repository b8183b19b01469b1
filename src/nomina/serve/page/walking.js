// Which document, which mentions of it, which one of them, which candidate of that.
import { concept } from "./client.js";
import { NIL } from "./formats.js";
import { offsetsOf } from "./offsets.js";
import { $, candidatesNow, chosenNow, decidedNow, here, mentionNow, now, problem, say, showConflict, store } from "./page.js";
import { select, showText } from "./text.js";
import { showCandidates, showConcept, showUnknown, stateOf } from "./view.js";

let opening = 0;
let asking = 0;

export const anyDocument = () => store.documents.keys().next().value ?? null;

export function listDocuments() {
  const options = [...store.documents].map(([key, { id }]) => new Option(id, key, false, key === now.key));
  $("document").replaceChildren(...options);
  $("work").hidden = options.length === 0;
}

/** Show a document, or that there is none; of several that are to be opened at a time, the last one. */
export async function open(key) {
  const own = (opening += 1);
  try {
    if (store.isProject && key !== null) await store.load(key, () => own === opening);
  } catch (error) {
    if (now.key !== null) listDocuments(); // there the one that is still shown is chosen
    throw error;
  }
  if (own === opening) turnTo(key);
}

/** Show a document that is read already, or that there is none. */
export function turnTo(key) {
  Object.assign(now, { key, mention: -1, found: null });
  listDocuments();
  $("conflict").hidden = true;
  if (key !== null && store.isStale(key)) showConflict(key);
  if (key === null) return;
  now.offsets = offsetsOf(here().text);
  draw();
  go(here().mentions.findIndex(isShown));
}

function isShown(mention) {
  const sure = mention.probability ?? mention.candidates[0]?.score ?? 0;
  return {
    all: true,
    undone: mention.gold === null,
    below: sure < Number($("threshold").value),
    ambiguous: mention.ambiguous,
    abstained: mention.abstained,
  }[$("filter").value];
}

function look(number) {
  const mention = here().mentions[number];
  const done = mention.gold === null ? "open" : mention.gold[0][0] === NIL ? "nil" : "done";
  const unsure = mention.gold === null && (mention.abstained || mention.ambiguous);
  return `${done}${unsure ? " unsure" : ""}${isShown(mention) ? "" : " dim"}`;
}

export function draw() {
  showText($("text"), here(), now.offsets);
  showCount();
}

export function showCount() {
  const { mentions, kb } = here();
  const done = mentions.filter(({ gold }) => gold !== null).length;
  const fit = $("filter").value === "all" ? "" : `, ${mentions.filter(isShown).length} fit the filter`;
  const other = now.kb === null || now.kb === kb ? "" : " It was linked to another version of the KB.";
  const counts = `${mentions.length} mentions, ${done} decided${fit}.`;
  $("count").textContent = `${counts} Only decided ones are exported.${other}`;
  $("undo").disabled = !store.canUndo;
}

/** Say how many decided ids of a project the KB does not have. */
export async function showUnknownIds() {
  const own = (asking += 1);
  const { total, ids } = (await store.unknown()) ?? { total: 0, ids: {} };
  if (own !== asking) return;
  const first = Object.entries(ids).slice(0, 3).map(([id, mentions]) => `${id} (${mentions})`);
  const said = `${total} decided ${total === 1 ? "id is" : "ids are"} not in this version of the KB: ${first.join(", ")}`;
  $("unknown").textContent = `${said}${total > first.length ? ", …" : ""}. They stay, and are exported.`;
  $("unknown").hidden = total === 0;
}

/** Look at a mention by its number; -1 is none. What is decided is chosen; -1, where it is no candidate. */
export function go(number, focus = false) {
  Object.assign(now, { mention: number, found: null, search: null });
  const mention = mentionNow();
  const chosen = mention?.candidates.findIndex(({ entity_id: id }) => mention.gold?.[0][0] === id) ?? -1;
  now.choice = chosen >= 0 || decidedNow() !== null ? chosen : 0;
  const mark = markNow();
  if (focus) mark?.focus({ preventScroll: true });
  show();
}

/** Show in the text which mention is looked at. */
export function markNow() {
  return select($("text"), now.mention, look);
}

export function step(by) {
  const { mentions } = here();
  for (let at = now.mention + by; at >= 0 && at < mentions.length; at += by) {
    if (isShown(mentions[at])) return go(at, true);
  }
  say(by > 0 ? "This is the last mention" : "This is the first mention");
}

export function show() {
  const mention = mentionNow();
  $("mention").hidden = mention === null;
  if (mention === null) return;
  $("words").textContent = mention.text;
  $("state").textContent = stateOf(mention, NIL);
  $("candidates-title").textContent = now.found ? "Found" : "Candidates";
  showCandidates($("candidates"), candidatesNow(), now.choice, choose);
  $("other").disabled = candidatesNow().length === 0;
  $("accept").disabled = chosenNow() === null;
  showChosen();
}

function choose(number) {
  now.choice = number;
  const had = $("candidates").contains(document.activeElement);
  show();
  if (had) $("candidates").querySelectorAll("button")[number]?.focus();
}

/** The next or previous candidate, round and round. */
export function other(by) {
  const all = candidatesNow().length;
  if (!all) return;
  choose(now.choice < 0 && by < 0 ? all - 1 : (now.choice + by + all) % all);
  const { preferred, entity_id: id } = candidatesNow()[now.choice];
  say(`Candidate ${now.choice + 1} of ${all}: ${preferred}, ${id}`);
}

async function showChosen() {
  const id = chosenNow();
  $("concept").replaceChildren();
  if (id === null) return;
  try {
    const found = await concept(id);
    if (chosenNow() === id) showConcept($("concept"), found);
  } catch (error) {
    if (error.status !== 404) problem(error);
    else if (chosenNow() === id) showUnknown($("concept"), id, error.message);
  }
}

/** After another filter or threshold. */
export function refilter() {
  showCount();
  go(mentionNow() && isShown(mentionNow()) ? now.mention : here().mentions.findIndex(isShown));
}
