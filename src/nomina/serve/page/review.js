// What happens when: buttons, keys, files that are dropped.
import { addFiles, addText, stop } from "./adding.js";
import * as client from "./client.js";
import { accept, forget, newSpan, nil, remove, search, settle, split, undo } from "./deciding.js";
import { toJsonLines, toPubTator } from "./formats.js";
import { $, now, say, store, tried } from "./page.js";
import { anyDocument, go, open, other, refilter, show, showCount, step } from "./walking.js";
import { download } from "./view.js";

const COMMANDS = {
  j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
  a: accept, Enter: accept, c: () => other(1), C: () => other(-1), x: nil,
  u: undo, m: newSpan, s: split, d: remove, "/": () => $("query").focus(),
};
const BUTTONS = {
  previous: "k", next: "j", undo: "u", span: "m", accept: "a", other: "c", nil: "x", split: "s", remove: "d",
};

/** Letters are commands but where one types; Enter and arrows only on a mention. */
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || now.key === null) return;
  const { target, key } = event;
  if (key === "Escape" && target === $("query")) {
    go(now.mention, true);
    return;
  }
  if (target.matches("input:not([type=checkbox]), textarea, select")) return;
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

const exported = (write, name) => tried(() => {
  download(name, write([...store.documents.values()]));
  say(`Exported ${store.documents.size} documents`);
});

const begin = tried(async () => {
  const { kb } = await client.info();
  now.kb = kb.fingerprint;
  $("kb").textContent = `${kb.name} ${kb.release ?? ""}`;
  $("token-form").hidden = true;
  if (now.key !== null) showCount();
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
on("document", "change", () => open($("document").value));
on("filter", "change", refilter);
on("threshold", "change", refilter);
on("forget", "click", forget);
on("jsonl", "click", exported(toJsonLines, "reviewed.jsonl"));
on("pubtator", "click", exported(toPubTator, "reviewed.pubtator"));
on("take-theirs", "click", () => settle(true));
on("keep-mine", "click", () => settle(false));
on("search", "submit", search);
on("text", "click", onText);
for (const [id, key] of Object.entries(BUTTONS)) on(id, "click", () => COMMANDS[key]());
for (const id of ["span", "split"]) on(id, "mousedown", (event) => event.preventDefault()); // keep what is selected
document.addEventListener("keydown", onKey);
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", onDrop);
open(anyDocument());
begin();
