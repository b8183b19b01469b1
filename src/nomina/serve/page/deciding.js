// What somebody decides: concepts, none, other spans; and taking it back.
import { fromPrediction } from "./adding.js";
import { sorted } from "./changes.js";
import * as client from "./client.js";
import { NIL } from "./formats.js";
import { textAt } from "./offsets.js";
import { $, candidatesNow, decidedNow, here, isTyping, mentionNow, now, say, store, tried } from "./page.js";
import { pieces, selectedSpan } from "./text.js";
import { stateOf } from "./view.js";
import { anyDocument, draw, go, markNow, open, show, showCount, turnTo } from "./walking.js";

function change(mentions) {
  store.change(now.key, mentions, now.mention);
  showCount();
}

const decide = tried((gold, name) => {
  if (mentionNow() === null) return;
  change(here().mentions.with(now.mention, { ...mentionNow(), gold, name }));
  markNow();
  show();
  say(stateOf(mentionNow(), NIL));
});

export function accept() {
  const chosen = candidatesNow()[now.choice];
  if (chosen) decide([[chosen.entity_id]], chosen.preferred);
  else if (decidedNow() !== null) decide(mentionNow().gold, mentionNow().name);
}

export const nil = () => decide([[NIL]], null);

export const undo = tried(async () => {
  const last = store.undo();
  if (last === null) return say("There is nothing to undo");
  if (last.key !== now.key) await open(last.key);
  if (last.key === now.key) {
    draw();
    go(last.selected, true);
  }
  say("Undone");
});

export const search = tried(async () => {
  const words = $("query").value.trim();
  const mention = mentionNow();
  if (!words || mention === null) return;
  const from = document.activeElement;
  const own = (now.search = {});
  const found = await client.search(words);
  if (own !== now.search || mention !== mentionNow()) return;
  Object.assign(now, { found, choice: 0 });
  show();
  say(`${found.length} concepts found for ${words}`);
  const isTyped = document.activeElement !== from || $("query").value.trim() !== words;
  if (!isTyped) $("candidates").querySelector("button")?.focus();
});

/** Put new mentions in the place of one, or beside all; look at the first, unless somebody looks at another by then. */
async function put(spans, instead) {
  const { key } = now;
  const before = mentionNow();
  const from = document.activeElement;
  const { id, text, sections } = here();
  const asked = spans.map((span) => ({ spans: [span], type: instead?.type ?? null }));
  const { predictions } = await client.link({ id, text, sections, mentions: asked });
  const isGone = instead !== null && !here()?.mentions.includes(instead);
  if (key !== now.key || isGone) throw new Error("nothing is changed: you went on before the service had answered");
  if (instead === null && placeOf(spans[0]) >= 0) return; // asked for twice
  const isElsewhere = isTyping() && document.activeElement !== from;
  const isInText = document.activeElement.matches("mark");
  const looked = mentionNow() === before ? null : mentionNow();
  const found = predictions.map((each) => fromPrediction(each, null));
  const mentions = sorted([...here().mentions.filter((each) => each !== instead), ...found]);
  change(mentions);
  draw();
  if (looked === null) return go(mentions.indexOf(found[0]), !isElsewhere);
  now.mention = mentions.indexOf(looked); // what was searched for it stays
  const mark = markNow();
  if (isInText) mark?.focus({ preventScroll: true });
}

/** The number of the mention that has just this span; -1 where there is none. */
const placeOf = (span) => here().mentions.findIndex(({ spans }) => String(spans) === String(span));

const selected = () => selectedSpan($("text"), here().text, now.offsets);

export const newSpan = tried(async () => {
  const span = selected();
  if (span === null) return say("Select some of the text first");
  const there = placeOf(span);
  if (there >= 0) {
    go(there, true);
    return say("This is a mention already");
  }
  await put([span], null);
  say(`New mention: ${textAt(here().text, [span], now.offsets)}`);
});

let splitting = null; // the mention whose parts are asked for

export const split = tried(async () => {
  const mention = mentionNow();
  if (mention === null || mention === splitting) return;
  const spans = pieces(mention, selected(), here().text, now.offsets);
  if (spans.length < 2) return say("Select a part of the mention to split off");
  splitting = mention;
  try {
    await put(spans, mention);
  } finally {
    splitting = null;
  }
  say(`Split into ${spans.length}`);
});

export const remove = tried(() => {
  if (mentionNow() === null) return;
  const at = now.mention;
  change(here().mentions.toSpliced(at, 1));
  draw();
  go(Math.min(at, here().mentions.length - 1), true);
  say("Removed");
});

/** After another tab changed the document: one of the two stays. */
export const settle = tried(async (theirs) => {
  const { key } = now;
  let isThere = true;
  if (theirs) isThere = await store.takeTheirs(key);
  else await store.keepMine(key);
  if (key !== now.key) return;
  const { mention } = now;
  turnTo(isThere ? key : anyDocument());
  if (isThere && mention < here().mentions.length) go(mention, !isTyping());
});

export function forget() {
  if (!confirm("Remove this document and what you decided in it from this browser?")) return;
  store.remove(now.key);
  open(anyDocument());
}
