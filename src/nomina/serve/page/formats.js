// What files hold: text, PubTator, JSON lines; and the two that are written, as nomina's corpus readers take them.
import { offsetsOf, textAt } from "./offsets.js";

export const NIL = "-1"; // what corpora say where no concept is meant
const PARTS = /[|+;,]/;
const NAMES = { t: "title", a: "abstract" };

/** The documents of a file or of what was pasted. */
export function documentsOf(content, name) {
  const first = content.trimStart();
  if (/^\{\s*"/.test(first)) return unique(jsonLines(content));
  if (/^[^\s|]{1,200}\|[ta]\|/.test(first)) return unique(pubtator(content));
  return content.trim() ? [{ id: name, text: content, mentions: [], sections: [] }] : [];
}

function unique(documents) {
  const seen = new Set();
  for (const { id } of documents) {
    if (seen.has(id)) throw new Error(`two documents have the id ${id}`);
    seen.add(id);
  }
  return documents;
}

const linesOf = (content) => content.split(/\r?\n/);

function jsonLines(content) {
  const found = [];
  linesOf(content).forEach((line, number) => {
    if (!line.trim()) return;
    try {
      found.push(document(JSON.parse(line)));
    } catch (error) {
      throw new Error(`line ${number + 1}: ${error.message}`);
    }
  });
  return found;
}

function known({ ...record }, fields) {
  const other = Object.keys(record).find((name) => !fields.includes(name));
  if (other !== undefined) throw new Error(`${other} is unknown here; there are: ${fields.join(", ")}`);
  return record;
}

function document(record) {
  const { id, text, mentions = [], sections = [] } = known(record, ["id", "text", "mentions", "sections"]);
  if (typeof id !== "string" || typeof text !== "string") throw new Error("a document has an id and a text");
  if (!Array.isArray(mentions) || !Array.isArray(sections)) throw new Error("mentions and sections are lists");
  const offsets = offsetsOf(text);
  return { id, text, sections, mentions: mentions.map((each) => mention(each, text, offsets)) };
}

function mention(record, text, offsets) {
  const { spans, type = null, gold = [], text: own = null } = known(record, ["spans", "text", "type", "gold"]);
  if (!Array.isArray(spans) || !spans.length) throw new Error("a mention has spans");
  let before = 0;
  for (const [start, end] of spans.map((span) => (Array.isArray(span) ? span : []))) {
    const whole = Number.isInteger(start) && Number.isInteger(end);
    if (!whole || start < before || end <= start || end > offsets.length) {
      throw new Error(`${JSON.stringify(spans)} are no spans of the text (${offsets.length} characters)`);
    }
    before = end;
  }
  const isPart = (part) => Array.isArray(part) && part.length > 0 && part.every((id) => typeof id === "string");
  if (!Array.isArray(gold) || !gold.every(isPart)) throw new Error("gold is a list of lists of ids");
  const words = textAt(text, spans, offsets);
  if (spans.length === 1 && own !== null && !stands(own, words)) {
    throw new Error(`${own} is not what stands at ${spans[0].join("-")}, ${words}`);
  }
  return { spans, text: words, type, gold: gold.length ? gold : null };
}

/** Whether a mention's own text is what stands there: white space aside, or a part of a composite, `a|b`. */
function stands(own, words) {
  const squeezed = (value) => value.split(/\s+/).join(" ").trim();
  return squeezed(own) === squeezed(words) || words.split("|").map((part) => part.trim()).includes(own);
}

function pubtator(content) {
  const drafts = [];
  linesOf(content).forEach((line, number) => {
    if (!line.trim()) return;
    const draft = drafts.at(-1);
    const found = /^([^|\t]+)\|([^|\s]+)\|(.*)$/s.exec(line);
    const goesOn = draft && found && draft.id === found[1] && !draft.rows.length;
    if (found && (found[2] === "t" || (found[2] === "a" && !goesOn))) {
      drafts.push({ id: found[1], texts: [[found[2], found[3]]], rows: [] });
    } else if (goesOn) draft.texts.push([found[2], found[3]]);
    else if (draft && line.split("\t")[0] === draft.id) draft.rows.push([number + 1, line.split("\t")]);
    else throw new Error(`line ${number + 1} is neither a text nor an annotation of its document`);
  });
  return drafts.map(fromDraft);
}

function fromDraft({ id, texts, rows }) {
  const text = texts.map(([, part]) => part).join(" ");
  const offsets = offsetsOf(text);
  const sections = [];
  let at = 0;
  for (const [mark, part] of texts) {
    const end = at + offsetsOf(part).length;
    sections.push({ start: at, end, name: NAMES[mark] ?? mark });
    at = end + 1;
  }
  const isNumber = (cell) => /^-?[0-9]+$/.test(cell ?? "");
  const mentions = [];
  for (const [number, [, start, end, words, type = "", ids = ""]] of rows) {
    if (!isNumber(start)) continue; // a relation
    if (!isNumber(end)) throw new Error(`line ${number} is no annotation`);
    const gold = ids.split(PARTS).map((part) => part.trim()).filter(Boolean).map((part) => [part]);
    try {
      const span = [Number(start), Number(end)];
      mentions.push(mention({ spans: [span], type: type.trim() || null, gold, text: words }, text, offsets));
    } catch (error) {
      throw new Error(`line ${number}: ${error.message}`);
    }
  }
  return { id, text, sections, mentions };
}

/** The mentions that somebody decided. */
export const decided = (mentions) => mentions.filter(({ gold }) => gold !== null);

/** Documents with the mentions that somebody decided, one a line. */
export function toJsonLines(documents) {
  return documents.map(({ id, text, mentions, sections }) => {
    const kept = decided(mentions).map((each) => ({
      spans: each.spans, text: each.text, ...(each.type ? { type: each.type } : {}), gold: each.gold,
    }));
    const record = { id, text, ...(kept.length ? { mentions: kept } : {}), ...(sections.length ? { sections } : {}) };
    return JSON.stringify(record).replaceAll("\x7f", "\\u007f") + "\n";
  }).join("");
}

// Line breaks and other control characters, each of them one space, so that offsets hold.
const oneLine = (text) => text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, " ");

/** The same as PubTator, which holds less: an id with a separator in it is an error. */
export function toPubTator(documents) {
  return documents.map((each) => {
    if (!each.id || /[|\t\n\r]/.test(each.id) || each.id !== each.id.trim()) {
      throw new Error(`the id ${each.id} cannot stand in PubTator: export JSON lines`);
    }
    return [...textLines(each), ...decided(each.mentions).map((found) => row(each, found))].join("\n") + "\n\n";
  }).join("");
}

function textLines({ id, text, sections }) {
  const offsets = offsetsOf(text);
  const part = (start, end) => oneLine(text.slice(offsets.toUnits(start), offsets.toUnits(end)));
  const marks = { title: "t", abstract: "a" };
  const follow = sections.every(({ start }, number) => start === (number ? sections[number - 1].end + 1 : 0));
  const first = ["title", "abstract"].every((name, at) => sections[at] === undefined || sections[at].name === name);
  const plain = sections.slice(2).every(({ name }) => /^[^|\s]+$/.test(name) && !(name in marks) && !(name in NAMES));
  const apart = sections.slice(1).every(({ start }) => text[offsets.toUnits(start - 1)] === " ");
  if (sections.length && follow && first && plain && apart && sections.at(-1).end === offsets.length) {
    return sections.map(({ start, end, name }) => `${id}|${marks[name] ?? name}|${part(start, end)}`);
  }
  const title = sections.length ? -1 : text.indexOf("\n");
  if (title < 0) return [`${id}|t|${oneLine(text)}`];
  return [`${id}|t|${oneLine(text.slice(0, title))}`, `${id}|a|${oneLine(text.slice(title + 1))}`];
}

/** The ids of a mention for one field, in which a bar stands between them. */
export function idsOf(gold, format) {
  if (gold.some((part) => part.length > 1 || PARTS.test(part[0]) || /\s/.test(part[0]))) {
    throw new Error(`${format} cannot hold the ids ${JSON.stringify(gold)}: export JSON lines`);
  }
  return gold.map((part) => part[0]);
}

function row({ id, text }, { spans, type, gold }) {
  const ids = idsOf(gold, "PubTator");
  const hull = [spans[0][0], spans.at(-1)[1]];
  return [id, ...hull, oneLine(textAt(text, [hull])), oneLine(type ?? ""), ids.join("|")].join("\t");
}
