// What happens when: adding documents, walking mentions, deciding, saving.
import * as client from "./client.js";
import { NIL, documentsOf, toJsonLines, toPubTator } from "./formats.js";
import { offsetsOf, textAt } from "./offsets.js";
import { Store, keyOf } from "./store.js";
import { pieces, select, selectedSpan, showText } from "./text.js";
import { download, showCandidates, showConcept, stateOf } from "./view.js";

const $ = (id) => document.getElementById(id);
const store = new Store(conflict);
const now = { key: null, mention: -1, choice: 0, offsets: null, found: null, kb: null, stop: null };

const here = () => store.documents.get(now.key);
const mentionNow = () => here()?.mentions[now.mention] ?? null;
const candidatesNow = () => now.found ?? mentionNow()?.candidates ?? [];

function say(words) {
  $("status").textContent = words;
}

function problem(error) {
  $("problem").textContent = error === null ? "" : error.message;
  $("problem").hidden = error === null;
  if (error instanceof client.TokenNeeded) {
    $("token-form").hidden = false;
    $("token").focus();
  }
}

/** Something that may go wrong: what is wrong is shown. */
const tried = (work) => async (...values) => {
  problem(null);
  try {
    await work(...values);
  } catch (error) {
    if (error.name !== "AbortError") problem(error);
  }
};

// Adding

async function addAll(documents) {
  const stop = new AbortController();
  now.stop = stop;
  Object.assign($("progress"), { max: documents.length, value: 0, hidden: false });
  $("stop").hidden = false;
  let done = 0;
  try {
    for (const each of documents) {
      say(`Linking ${done + 1} of ${documents.length}`);
      await addOne(each, stop.signal);
      done += 1;
      $("progress").value = done;
    }
  } finally {
    $("progress").hidden = $("stop").hidden = true;
    say(`${done} of ${documents.length} documents added`);
  }
}

async function addOne(given, signal) {
  const key = keyOf(given.id, given.text);
  if (!store.documents.has(key)) {
    const { predictions, kb } = await client.link(given, signal);
    const gold = given.mentions.map((mention) => mention.gold);
    const mentions = predictions.map((each, number) => fromPrediction(each, gold[number] ?? null));
    store.add(key, { id: given.id, text: given.text, sections: given.sections, mentions: sorted(mentions), kb });
  }
  listDocuments();
  if (now.key === null) open(key);
  else showCount();
}

function fromPrediction({ mention, ...rest }, gold) {
  return { ...rest, spans: mention.spans, text: mention.text, type: mention.type, gold, name: null };
}

const order = ({ spans: a }, { spans: b }) => a[0][0] - b[0][0] || a.at(-1)[1] - b.at(-1)[1];
const sorted = (mentions) => mentions.toSorted(order);

async function contentOf(file) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is not UTF-8`);
  }
}

const addFiles = tried(async (files) => {
  const read = [];
  for (const file of files) read.push(...documentsOf(await contentOf(file), file.name));
  await addAll(read);
});

const addPasted = tried(async () => {
  const content = $("paste").value;
  await addAll(documentsOf(content, `text-${keyOf("", content).slice(0, 8)}`));
  $("paste").value = "";
  $("input").open = false;
});

// Documents and filters

function listDocuments() {
  const options = [...store.documents].map(([key, { id }]) => new Option(id, key, false, key === now.key));
  $("document").replaceChildren(...options);
  $("work").hidden = options.length === 0;
}

function open(key) {
  Object.assign(now, { key, mention: -1, found: null });
  listDocuments();
  if (key === null) return;
  $("conflict").hidden = !store.isStale(key);
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

function draw() {
  showText($("text"), here(), now.offsets, look);
  showCount();
}

function showCount() {
  const { mentions } = here();
  const done = mentions.filter(({ gold }) => gold !== null).length;
  const fit = $("filter").value === "all" ? "" : `, ${mentions.filter(isShown).length} fit the filter`;
  $("count").textContent = `${mentions.length} mentions, ${done} decided${fit}. Only decided ones are exported.`;
  $("undo").disabled = !store.canUndo;
}

// Walking

function go(number, focus = false) {
  Object.assign(now, { mention: number, found: null });
  const mention = mentionNow();
  const chosen = mention?.candidates.findIndex(({ entity_id: id }) => mention.gold?.[0][0] === id) ?? -1;
  now.choice = Math.max(0, chosen);
  const mark = select($("text"), number, look);
  if (focus) mark?.focus({ preventScroll: true });
  show();
}

function step(by) {
  const { mentions } = here();
  for (let at = now.mention + by; at >= 0 && at < mentions.length; at += by) {
    if (isShown(mentions[at])) return go(at, true);
  }
  say(by > 0 ? "This is the last mention" : "This is the first mention");
}

function show() {
  const mention = mentionNow();
  $("mention").hidden = mention === null;
  if (mention === null) return;
  $("words").textContent = mention.text;
  $("state").textContent = stateOf(mention, NIL);
  $("candidates-title").textContent = now.found ? "Found" : "Candidates";
  showCandidates($("candidates"), candidatesNow(), now.choice, choose);
  $("accept").disabled = $("other").disabled = candidatesNow().length === 0;
  showChosen();
}

function choose(number) {
  now.choice = number;
  show();
}

const showChosen = tried(async () => {
  const id = candidatesNow()[now.choice]?.entity_id;
  $("concept").replaceChildren();
  if (id === undefined) return;
  const found = await client.concept(id);
  if (candidatesNow()[now.choice]?.entity_id === id) showConcept($("concept"), found);
});

// Deciding

const decide = tried((gold, name) => {
  const mentions = here().mentions.with(now.mention, { ...mentionNow(), gold, name });
  change(mentions);
  select($("text"), now.mention, look);
  show();
  say(stateOf(mentionNow(), NIL));
});

function change(mentions) {
  try {
    store.change(now.key, mentions, now.mention);
  } catch (error) {
    problem(error);
  }
  showCount();
}

function accept() {
  const chosen = candidatesNow()[now.choice];
  if (chosen) decide([[chosen.entity_id]], chosen.preferred);
}

function other(by) {
  const all = candidatesNow().length;
  if (all) choose((now.choice + by + all) % all);
}

const undo = tried(() => {
  const last = store.undo();
  if (last === null) return say("There is nothing to undo");
  if (last.key !== now.key) open(last.key);
  draw();
  go(last.selected, true);
  say("Undone");
});

const search = tried(async () => {
  const words = $("query").value.trim();
  if (!words) return;
  const number = now.mention;
  const found = await client.search(words);
  if (number !== now.mention) return;
  Object.assign(now, { found, choice: 0 });
  show();
  say(`${found.length} concepts found for ${words}`);
  $("candidates").querySelector("button")?.focus();
});

// Spans

async function linked(spans) {
  const { id, text, sections } = here();
  const mentions = spans.map((span) => ({ spans: [span], type: null }));
  const { predictions } = await client.link({ id, text, sections, mentions });
  return predictions.map((each) => fromPrediction(each, null));
}

/** Put new mentions in the place of the chosen one, or beside all of them. */
async function put(spans, instead) {
  const { key } = now;
  const found = await linked(spans);
  if (key !== now.key) return;
  const mentions = sorted([...here().mentions.filter((each) => each !== instead), ...found]);
  change(mentions);
  draw();
  go(mentions.indexOf(found[0]), true);
}

const newSpan = tried(async () => {
  const span = selectedSpan($("text"), here().text, now.offsets);
  if (span === null) return say("Select some of the text first");
  await put([span], null);
  say(`New mention: ${textAt(here().text, [span], now.offsets)}`);
});

const split = tried(async () => {
  const mention = mentionNow();
  if (mention === null) return;
  const spans = pieces(mention, selectedSpan($("text"), here().text, now.offsets), here().text, now.offsets);
  if (spans.length < 2) return say("Select a part of the mention to split off");
  await put(spans, mention);
  say(`Split into ${spans.length}`);
});

const remove = tried(() => {
  if (mentionNow() === null) return;
  const at = now.mention;
  change(here().mentions.toSpliced(at, 1));
  draw();
  go(Math.min(at, here().mentions.length - 1), true);
  say("Removed");
});

// Two tabs

function conflict(key) {
  if (key === now.key) $("conflict").hidden = false;
}

function settle(theirs) {
  const { key, mention } = now;
  const there = theirs ? store.takeTheirs(key) : (store.keepMine(key), true);
  open(there ? key : (store.documents.keys().next().value ?? null));
  if (there && here().mentions.length > mention) go(mention, true);
  $("conflict").hidden = now.key === null || !store.isStale(now.key);
}

// Events

const COMMANDS = {
  j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
  a: accept, Enter: accept, c: () => other(1), C: () => other(-1), x: () => nil(),
  u: undo, m: newSpan, s: split, d: remove, "/": () => $("query").focus(),
};

function nil() {
  if (mentionNow()) decide([[NIL]], null);
}

/** Letters are commands but where one types; Enter and arrows only on a mention. */
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || now.key === null) return;
  const { target, key } = event;
  if (key === "Escape" && target === $("query")) return void go(now.mention, true);
  if (target.matches("input:not([type=checkbox]), textarea, select")) return;
  if (key.length === 1 ? !$("keys").checked : !target.matches("mark")) return;
  if (!Object.hasOwn(COMMANDS, key)) return;
  event.preventDefault();
  COMMANDS[key]();
}

function onMark({ target }) {
  const mark = target.closest("mark");
  if (!mark || !getSelection().isCollapsed) return;
  const numbers = mark.dataset.mentions.split(" ").map(Number);
  go(numbers[(numbers.indexOf(now.mention) + 1) % numbers.length], true);
}

function on(id, event, work) {
  $(id).addEventListener(event, (happened) => {
    if (event === "submit") happened.preventDefault();
    work(happened);
  });
}

function refilter() {
  draw();
  const at = mentionNow() && isShown(mentionNow()) ? now.mention : here().mentions.findIndex(isShown);
  go(at);
}

const exported = (write, name) => tried(() => {
  download(name, write([...store.documents.values()]));
  say(`Exported ${store.documents.size} documents`);
});

const begin = tried(async () => {
  const { kb } = await client.info();
  $("kb").textContent = `${kb.name} ${kb.release ?? ""}`;
  $("token-form").hidden = true;
});

async function withToken() {
  client.setToken($("token").value);
  $("token").value = "";
  await begin();
  if (now.key !== null) show();
}

on("token-form", "submit", withToken);
on("add", "submit", addPasted);
on("file", "change", async () => {
  await addFiles([...$("file").files]);
  $("file").value = "";
});
on("stop", "click", () => now.stop?.abort());
on("document", "change", () => open($("document").value));
on("filter", "change", refilter);
on("threshold", "change", refilter);
on("forget", "click", () => {
  if (!confirm("Remove this document and what you decided in it from this browser?")) return;
  store.remove(now.key);
  open(store.documents.keys().next().value ?? null);
});
on("jsonl", "click", exported(toJsonLines, "reviewed.jsonl"));
on("pubtator", "click", exported(toPubTator, "reviewed.pubtator"));
on("take-theirs", "click", () => settle(true));
on("keep-mine", "click", () => settle(false));
on("search", "submit", search);
on("text", "click", onMark);
const BUTTONS = {
  previous: "k", next: "j", undo: "u", span: "m", accept: "a", other: "c", nil: "x", split: "s", remove: "d",
};
for (const [id, key] of Object.entries(BUTTONS)) on(id, "click", () => COMMANDS[key]());
document.addEventListener("keydown", onKey);
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer.files.length) addFiles([...event.dataTransfer.files]);
});
begin();
open(store.documents.keys().next().value ?? null);
