// BioC XML, as nomina's corpus reader takes it: sections are passages, ids stand in the infon "identifier".
import { decided, idsOf } from "./formats.js";
import { offsetsOf, textAt } from "./offsets.js";

const FOREIGN = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g; // no XML text can have them
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;", "\x7f": "&#127;" };
const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n<collection>\n';

const escaped = (text) => text.replace(FOREIGN, " ").replace(/[&<>\r\x7f]/g, (character) => ENTITIES[character]);

const element = (name, text, attributes = "") => `<${name}${attributes}>${escaped(text)}</${name}>\n`;

/** Documents with the mentions that somebody decided; alternatives and ids with separators in them are an error. */
export function toBioC(documents) {
  const empty = ["source", "date", "key"].map((name) => element(name, "")).join("");
  return `${HEAD}${empty}${documents.map(oneDocument).join("")}</collection>\n`;
}

function oneDocument({ id, text, sections, mentions }) {
  if (!id.trim()) throw new Error("a document without an id cannot stand in BioC: export JSON lines");
  const offsets = offsetsOf(text);
  const passages = stretches(text, sections, offsets).map((each) => ({ ...each, annotations: [] }));
  decided(mentions).forEach((each, number) => {
    const inside = passages.findLast(({ start }) => start <= each.spans[0][0]) ?? passages[0];
    inside.annotations.push(annotation(each, number, text, offsets));
  });
  const parts = passages.map(({ start, end, name, annotations }) => {
    const words = text.slice(offsets.toUnits(start), offsets.toUnits(end));
    const infon = name === null ? "" : element("infon", name, ' key="type"');
    const own = infon + element("offset", String(start)) + element("text", words);
    return `<passage>\n${own}${annotations.join("")}</passage>\n`;
  });
  return `<document>\n${element("id", id)}${parts.join("")}</document>\n`;
}

function annotation({ spans, type, gold }, number, text, offsets) {
  const kind = type ? element("infon", type, ' key="type"') : "";
  const ids = element("infon", idsOf(gold, "BioC").join("|"), ' key="identifier"');
  const places = spans.map(([start, end]) => `<location offset="${start}" length="${end - start}"/>\n`).join("");
  const words = element("text", textAt(text, spans, offsets));
  return `<annotation id="${number}">\n${kind}${ids}${places}${words}</annotation>\n`;
}

/** The sections, and what is between them and no space; one stretch where they are not in order and apart. */
function stretches(text, sections, offsets) {
  const whole = { start: 0, end: offsets.length, name: null };
  const found = [];
  let at = 0;
  for (const { start, end, name } of sections) {
    if (start < at) return [whole];
    const between = text.slice(offsets.toUnits(at), offsets.toUnits(start));
    if (/[^ ]/.test(between)) found.push({ start: at, end: start, name: null });
    found.push({ start, end, name });
    at = end;
  }
  if (at < offsets.length || !found.length) found.push({ ...whole, start: at });
  return found;
}
