// The text with its mentions: a stretch that several of them share belongs to the shortest.
import { make } from "./view.js";

/** Fill a box with a text; marks carry the numbers of their mentions. `select` gives them their looks. */
export function showText(box, record, offsets) {
  const cuts = new Set([0, offsets.length]);
  record.mentions.forEach(({ spans }) => spans.flat().forEach((at) => cuts.add(at)));
  const edges = [...cuts].sort((a, b) => a - b);
  const owners = ownersOf(record.mentions, edges);
  const nodes = [];
  for (let at = 0; at + 1 < edges.length; at += 1) {
    const words = record.text.slice(offsets.toUnits(edges[at]), offsets.toUnits(edges[at + 1]));
    const numbers = owners[at];
    if (!numbers.length) {
      nodes.push(document.createTextNode(words));
      continue;
    }
    const node = make("mark", { textContent: words });
    node.dataset.mentions = numbers.join(" ");
    node.setAttribute("role", "button");
    nodes.push(node);
  }
  box.replaceChildren(...nodes);
}

/** For each stretch the mentions that cover it, shortest first. */
function ownersOf(mentions, edges) {
  const owners = edges.map(() => []);
  const places = new Map(edges.map((edge, number) => [edge, number]));
  mentions.forEach(({ spans }, number) => {
    for (const [start, end] of spans) {
      for (let at = places.get(start); at < places.get(end); at += 1) owners[at].push(number);
    }
  });
  const length = (number) => mentions[number].spans.reduce((sum, [start, end]) => sum + end - start, 0);
  owners.forEach((numbers) => numbers.sort((a, b) => length(a) - length(b)));
  return owners;
}

const SAID = { open: "not decided", nil: "no concept", done: "decided" };
const has = (node, number) => node.dataset.mentions.split(" ").includes(String(number));

/** Show which mention is looked at; it alone is reached by Tab. */
export function select(box, number, look) {
  let first = null;
  for (const node of box.querySelectorAll("mark")) {
    const chosen = has(node, number);
    const looks = look(Number(node.dataset.mentions.split(" ")[0]));
    node.className = looks + (chosen ? " chosen" : "");
    node.setAttribute("aria-description", SAID[looks.split(" ")[0]]);
    node.setAttribute("aria-pressed", String(chosen));
    node.tabIndex = -1;
    if (chosen) first ??= node;
  }
  const stop = first ?? box.querySelector("mark");
  if (stop) stop.tabIndex = 0;
  first?.scrollIntoView({ block: "nearest" });
  return first;
}

/** The span that is selected in the box, without outer white space; null where none is. */
export function selectedSpan(box, text, offsets) {
  const selection = getSelection();
  if (!selection.rangeCount) return null;
  const range = selection.getRangeAt(0);
  if (range.collapsed || !box.contains(range.commonAncestorContainer)) return null;
  const before = document.createRange();
  before.setStart(box, 0);
  before.setEnd(range.startContainer, range.startOffset);
  const start = before.toString().length;
  return trimmed(text, start, start + range.toString().length, offsets);
}

/** Units as a span in code points, without outer white space; null where nothing is left. */
export function trimmed(text, start, end, offsets) {
  const words = text.slice(start, end);
  if (!words.trim()) return null;
  const from = start + words.length - words.trimStart().length;
  return [offsets.toPoints(from), offsets.toPoints(from + words.trim().length)];
}

const JOINTS = /\s+(?:and|or)\s+|\s*[,/;]\s*/g;

/** The spans that a mention falls into: its own, those around a selection in it, or those between "and" and commas. */
export function pieces({ spans }, selected, text, offsets) {
  if (spans.length > 1) return spans.map((span) => span);
  const [start, end] = spans[0].map(offsets.toUnits);
  let cuts = [];
  if (selected && selected[0] >= spans[0][0] && selected[1] <= spans[0][1]) {
    cuts = selected.map(offsets.toUnits).map((at) => [at, at]);
  } else {
    const joints = [...text.slice(start, end).matchAll(JOINTS)];
    cuts = joints.map(({ index, 0: joint }) => [start + index, start + index + joint.length]);
  }
  const edges = [start, ...cuts.flat(), end];
  const found = [];
  for (let at = 0; at < edges.length; at += 2) found.push(trimmed(text, edges[at], edges[at + 1], offsets));
  return found.filter(Boolean);
}
