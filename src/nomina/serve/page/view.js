// The side panel. Every text is set as text, never as markup.

export function make(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children.filter((child) => child !== null));
  return node;
}

const shown = (number) => (number === null || number === undefined ? "–" : number.toFixed(3));

const by = ({ annotator, time }) => `by ${annotator}${time ? `, ${new Date(time).toLocaleString("sv")}` : ""}`;

/** What is known of a mention, in words. */
export function stateOf(mention, nil) {
  const said = [];
  if (mention.gold !== null) {
    const ids = mention.gold.map((part) => part.join(" or ")).join(" and ");
    said.push(ids === nil ? "decided: no concept" : `decided: ${ids}${mention.name ? ` ${mention.name}` : ""}`);
  } else said.push("not decided");
  if (mention.gold !== null && mention.annotator) said.push(by(mention));
  if (mention.abstained) said.push("abstained");
  if (mention.ambiguous) said.push("ambiguous");
  if (mention.negated) said.push("negated");
  if (mention.experiencer === "family") said.push("of the family");
  if (mention.hypothetical) said.push("hypothetical");
  said.push(`probability ${shown(mention.probability)}`);
  if (mention.type) said.push(`type ${mention.type}`);
  return said.join(" · ");
}

/** Candidates as buttons; one is chosen. */
export function showCandidates(list, candidates, chosen, choose) {
  const items = candidates.map((each, number) => {
    const button = make("button", { type: "button" },
      make("b", { textContent: each.preferred }), " ", make("span", { className: "id", textContent: each.entity_id }),
      make("small", { textContent: `rank ${each.rank} · score ${shown(each.score)} · “${each.name}” · ${each.rule}` }));
    button.setAttribute("aria-pressed", String(number === chosen));
    button.addEventListener("click", () => choose(number));
    return make("li", {}, button);
  });
  list.replaceChildren(...items);
  if (!items.length) list.append(make("li", { textContent: "none" }));
}

const MOST = 12; // children and names; the rest is counted

function few(items, total = items.length) {
  const rest = total > MOST ? `, … (${total.toLocaleString("en")} in all)` : "";
  return items.slice(0, MOST).join(", ") + rest;
}

/** A concept: names, definition, place in the hierarchy. */
export function showConcept(box, found) {
  const pair = ({ id, name }) => `${name} (${id})`;
  const rows = [
    ["Definition", found.definition],
    ["Names", few(found.names.map((name) => name.text))],
    ["Types", found.types.join(", ")],
    ["Parents", few(found.parents.map(pair))],
    ["Children", few(found.children.map(pair), found.children_total)],
    ["References", few(found.xrefs)],
  ].filter(([, value]) => value);
  const title = make("h3", { textContent: found.name }, " ", make("span", { className: "id", textContent: found.id }));
  const item = ([name, value]) => [make("dt", { textContent: name }), make("dd", { textContent: value })];
  const list = make("dl", {}, ...rows.flatMap(item));
  box.replaceChildren(title, list);
}

/** A candidate of another version of the KB, which this one does not have. */
export function showUnknown(box, id, why) {
  box.replaceChildren(make("h3", {}, make("span", { className: "id", textContent: id })), make("p", { textContent: why }));
}

/** Hand a file to the browser. */
export function download(name, content) {
  const address = URL.createObjectURL(new Blob([content], { type: "text/plain;charset=utf-8" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
