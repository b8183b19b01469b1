// What happens when: buttons, keys, files that are dropped.
import { addFiles, addText, stop } from "./adding.js";
import * as client from "./client.js";
import { toBioC } from "./bioc.js";
import { accept, forget, newSpan, nil, remove, search, settle, split, undo } from "./deciding.js";
import { toJsonLines, toPubTator } from "./formats.js";
import { $, isTyping, keepIn, now, problem, say, showConflict, store, tried } from "./page.js";
import { ProjectStore } from "./project.js";
import { anyDocument, go, open, other, refilter, show, showCount, showUnknownIds, step } from "./walking.js";
import { download } from "./view.js";

const COMMANDS = {
  j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
  a: accept, Enter: accept, c: () => other(1), C: () => other(-1), x: nil,
  u: undo, m: newSpan, s: split, d: remove, "/": () => $("query").focus(),
};
const BUTTONS = {
  previous: "k", next: "j", undo: "u", span: "m", accept: "a", other: "c", nil: "x", split: "s", remove: "d",
};

const ANNOTATOR = "nomina.annotator";

/** Letters are commands but where one types; Enter and arrows only on a mention. */
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || now.key === null) return;
  const { target, key } = event;
  if (key === "Escape" && target === $("query")) {
    go(now.mention, true);
    return;
  }
  if (isTyping(target)) return;
  if (key.length === 1 ? !$("keys").checked : !target.matches("mark")) return;
  if (!Object.hasOwn(COMMANDS, key)) return;
  event.preventDefault();
  COMMANDS[key]();
}

/** A click looks at a mention; the next one at the same place at the next that covers it. */
function onText({ target }) {
  const mark = target.closest("mark");
  if (!mark || !getSelection().isCollapsed) return;
  const numbers = mark.dataset.mentions.split(" ").map(Number);
  go(numbers[(numbers.indexOf(now.mention) + 1) % numbers.length], true);
}

function onDrop(event) {
  if (!event.dataTransfer.files.length && event.target.matches("input, textarea")) return;
  event.preventDefault();
  const words = event.dataTransfer.getData("text/plain");
  if (event.dataTransfer.files.length) addFiles([...event.dataTransfer.files]);
  else if (words) addText(words);
}

const exported = (write, format, name) => tried(async () => {
  const isHere = !store.isProject;
  download(name, isHere ? write([...store.documents.values()]) : await store.exported(format));
  say(`Exported ${store.documents.size} documents`);
  await showUnknownIds();
});

const begin = tried(async () => {
  const { project } = await showKb().catch(unanswered);
  $("token-form").hidden = true;
  if (store.isProject) store.retry();
  else if (project) await openProject(project);
  else $("input").hidden = false;
});

/** Where nothing can be done yet, the way on is another try. */
function unanswered(error) {
  if (error instanceof client.TokenNeeded || !$("input").hidden) throw error;
  throw new Error(`${error.message}: reload this page`);
}

/** Say which KB is served, and what was linked or decided with another one. */
async function showKb() {
  const found = await client.info();
  now.kb = found.kb.fingerprint;
  $("kb").textContent = `${found.kb.name} ${found.kb.release ?? ""}`;
  if (now.key !== null) showCount();
  await showUnknownIds();
  return found;
}

/** Work on the service's project, as soon as somebody has said who is working. */
async function openProject({ name, blind }) {
  const annotator = localStorage.getItem(ANNOTATOR);
  await open(null);
  $("work").hidden = true;
  $("annotator-form").hidden = annotator !== null;
  if (annotator === null) return $("annotator").focus();
  const project = new ProjectStore(annotator, blind, { conflict: showConflict, failed, saved });
  await project.list().catch(unanswered);
  if (store.isProject) return; // begun twice
  keepIn(project);
  $("who").textContent = `${annotator} · ${name}`;
  for (const id of ["project", "uncertain"]) $(id).hidden = false;
  $("forget").hidden = true;
  $("input").hidden = false;
  await open(anyDocument());
  await showUnknownIds();
}

/** What is over is no longer said, but what was said instead of it stays. */
function failed(error, over = null) {
  if (over === null || ["", over.message].includes($("problem").textContent)) problem(error);
}

function saved(words) {
  $("saved").textContent = words;
}

function setAnnotator() {
  const name = $("annotator").value.trim();
  if (!name || name.includes(",")) return;
  localStorage.setItem(ANNOTATOR, name);
  begin();
}

/** Ask again who is working. */
function rename() {
  localStorage.removeItem(ANNOTATOR);
  location.reload();
}

const openUncertain = tried(async () => {
  const from = now.key;
  const key = await store.mostUncertain(from);
  if (now.key !== from) return; // another one was opened meanwhile
  if (key === null) return say("No other document has undecided mentions");
  await open(key);
  if (now.key === key) say("The most uncertain document is open");
});

async function withToken() {
  client.setToken($("token").value);
  $("token").value = "";
  await begin();
  if (now.key !== null && $("token-form").hidden) show();
}

function on(id, event, work) {
  $(id).addEventListener(event, (happened) => {
    if (event === "submit") happened.preventDefault();
    work(happened);
  });
}

on("token-form", "submit", withToken);
on("add", "submit", () => addText($("paste").value));
on("file", "change", async () => {
  await addFiles([...$("file").files]);
  $("file").value = "";
});
on("stop", "click", stop);
on("document", "change", tried(() => open($("document").value)));
on("annotator-form", "submit", setAnnotator);
on("rename", "click", rename);
on("uncertain", "click", openUncertain);
on("filter", "change", refilter);
on("threshold", "change", refilter);
on("forget", "click", forget);
on("jsonl", "click", exported(toJsonLines, "jsonl", "reviewed.jsonl"));
on("pubtator", "click", exported(toPubTator, "pubtator", "reviewed.pubtator"));
on("bioc", "click", exported(toBioC, "bioc_xml", "reviewed.xml"));
on("take-theirs", "click", () => settle(true));
on("keep-mine", "click", () => settle(false));
on("search", "submit", search);
on("text", "click", onText);
for (const [id, key] of Object.entries(BUTTONS)) on(id, "click", () => COMMANDS[key]());
for (const id of ["span", "split"]) on(id, "mousedown", (event) => event.preventDefault()); // keep what is selected
client.watch(() => showKb().catch(problem));
document.addEventListener("keydown", onKey);
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", onDrop);
addEventListener("beforeunload", (event) => store.isUnsaved && event.preventDefault());
open(anyDocument());
begin();
