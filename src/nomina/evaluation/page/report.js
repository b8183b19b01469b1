"use strict";
// The list of errors: filters, pages, keys. Every text of the report is set as text, never as markup.
(() => {
  const PAGE = 20;
  const { errors, groups } = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const [text, kind, stratum, type, once, list, status] =
    ["text", "kind", "stratum", "type", "once", "list", "status"].map(byId);
  const pagers = document.querySelectorAll(".pager");
  const namesOf = (key) => new Set(groups.filter((group) => group.key === key).flatMap((group) => group.names));
  const isType = namesOf("type");
  const isSimilarity = namesOf("similarity");
  const lengthOf = (text) => [...text].length; // code points, as offsets are
  const reach = Math.max(...errors.map((error) => lengthOf(error.context_after)));
  let found = errors;
  let page = 0;
  let haystacks = null;

  function make(name, properties, ...children) {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  const thousands = (count) => count.toLocaleString("en");
  const typeOf = (error) => error.strata.find((name) => isType.has(name)) ?? null;
  const strataOf = (error) => error.strata.filter((name) => !isType.has(name));
  const keyOf = (error) => JSON.stringify([error.mention, error.gold.map((part) => part.map(({ id }) => id))]);

  // Which errors repeat a mention text with the same gold, and how often.
  const repeats = new Map();
  for (const error of errors) {
    error.key = keyOf(error);
    repeats.set(error.key, (repeats.get(error.key) ?? 0) + 1);
  }

  function counted(values) {
    const counts = new Map();
    for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
    return counts;
  }

  const option = (value, count) => make("option", { value: "=" + value, textContent: `${value} (${thousands(count)})` });

  function fill(select, all, choices) {
    select.replaceChildren(make("option", { value: "", textContent: all }), ...choices);
    select.parentElement.hidden = choices.length === 0;
  }

  function byCount(values) {
    return [...counted(values)].sort((a, b) => b[1] - a[1]).map(([value, count]) => option(value, count));
  }

  function byGroup() {
    const counts = counted(errors.flatMap(strataOf));
    const shown = groups.map(({ title, names }) => [title, names.filter((name) => counts.has(name))]);
    return shown
      .filter(([, names]) => names.length)
      .map(([label, names]) => make("optgroup", { label }, ...names.map((name) => option(name, counts.get(name)))));
  }

  function haystack(error) {
    const names = error.gold.flat().flatMap(({ id, name }) => [id, name]);
    const candidates = error.candidates.flatMap(({ id, preferred, name }) => [id, preferred, name]);
    const context = error.context_before + error.mention + error.context_after;
    return [error.document_id, context, error.mention, ...names, ...candidates].join("\n").toLowerCase();
  }

  function filter() {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) haystacks ??= new Map(errors.map((error) => [error, haystack(error)]));
    const seen = new Set();
    found = errors.filter((error) => {
      if (kind.value && "=" + error.kind !== kind.value) return false;
      if (stratum.value && !strataOf(error).includes(stratum.value.slice(1))) return false;
      if (type.value && "=" + typeOf(error) !== type.value) return false;
      if (!words.every((word) => haystacks.get(error).includes(word))) return false;
      if (!once.checked) return true;
      return !seen.has(error.key) && seen.add(error.key);
    });
    show(0);
  }

  function show(number) {
    page = Math.max(0, Math.min(number, pages() - 1));
    const start = page * PAGE;
    const shown = found.slice(start, start + PAGE);
    list.replaceChildren(...shown.map(card));
    if (shown.length) list.firstChild.tabIndex = 0;
    const filtered = found.length < errors.length ? `, of ${thousands(errors.length)} in all` : "";
    const range = `Errors ${thousands(start + 1)} to ${thousands(start + shown.length)} of ${thousands(found.length)}`;
    status.textContent = found.length ? range + filtered : "No error fits these filters.";
    pagers.forEach(pager);
  }

  const pages = () => Math.ceil(found.length / PAGE) || 1;

  function pager(nav) {
    const last = pages() - 1;
    const here = make("span", {}, `Page ${thousands(page + 1)} of ${thousands(last + 1)}`);
    const buttons = [["First", 0], ["Previous", page - 1], here, ["Next", page + 1], ["Last", last]];
    const focused = nav.contains(document.activeElement) ? document.activeElement.textContent : null;
    nav.replaceChildren(...buttons.map((each) => (each === here ? here : button(each, last))));
    nav.hidden = last === 0;
    const again = [...nav.querySelectorAll("button")].find((each) => each.textContent === focused);
    if (again) (again.disabled ? nav.querySelector("button:enabled") : again)?.focus({ preventScroll: true });
  }

  function button([label, target], last) {
    const node = make("button", { type: "button", textContent: label });
    node.disabled = target < 0 || target > last || target === page;
    node.addEventListener("click", () => turn(target));
    return node;
  }

  function turn(target) {
    show(target);
    status.scrollIntoView({ block: "nearest" });
  }

  function card(error) {
    const item = make("li", { tabIndex: -1 });
    const count = repeats.get(error.key);
    const heading = make("h4", { dir: "auto", textContent: error.mention });
    item.append(
      heading,
      make("span", { className: "badge", textContent: error.kind }),
      make("span", { className: "badge", textContent: place(error) }),
      count > 1 ? make("span", { className: "badge", textContent: `${thousands(count)} times` }) : "",
      make("span", { className: "where", textContent: `${error.document_id}, ${error.start}–${error.end}` }),
      make("div", { className: "parts" }, make("div", {}, context(error), gold(error), tags(error)), candidates(error)),
    );
    return item;
  }

  function place({ rank_of_gold: rank, gold }) {
    if (!gold.length) return "has no concept";
    return rank === null ? "gold not among candidates" : `gold at rank ${rank}`;
  }

  function context(error) {
    const { context_before: before, context_after: after, mention, start } = error;
    const [first, last] = [start > lengthOf(before), lengthOf(after) === reach].map((cut) => (cut ? "…" : ""));
    const mark = make("mark", { textContent: mention });
    return make("p", { className: "context", dir: "auto" }, first + before, mark, after + last);
  }

  function gold(error) {
    const concept = ({ id, name }) => make("dd", {}, make("span", { className: "id", textContent: id }), " ", name ?? "");
    const label = (i) => (error.gold.length > 1 ? `Gold, part ${i + 1}` : "Gold");
    const parts = error.gold.flatMap((part, i) => [make("dt", { textContent: label(i) }), ...part.map(concept)]);
    return make("dl", { className: "gold" }, ...(parts.length ? parts : [make("dt", { textContent: "Gold: no concept" })]));
  }

  function tags(error) {
    const strata = strataOf(error).map((name) => (isSimilarity.has(name) ? `similarity ${name}` : name));
    const names = [typeOf(error), ...strata].filter((name) => name !== null && name !== "overall");
    return names.length ? make("p", { className: "tags", textContent: names.join(" · ") }) : null;
  }

  function candidates(error) {
    if (!error.candidates.length) return make("p", { className: "note", textContent: "No candidates." });
    const right = rightOf(error);
    const heads = ["Rank", "Concept", "By name", "Rule", "Score"];
    const head = make("tr", {}, ...heads.map((name) => make("th", { scope: "col", textContent: name })));
    head.lastChild.className = "num";
    const rows = error.candidates.map((each) => row(each, right.includes(each)));
    const caption = make("caption", { textContent: "Candidates" });
    const table = make("table", {}, caption, make("thead", {}, head), make("tbody", {}, ...rows));
    return make("div", { className: "candidates" }, table);
  }

  // Ids may be written in another way than the gold ones ("MESH:D1", "D1"): then the rank tells.
  function rightOf({ gold, candidates, rank_of_gold: rank }) {
    const ids = new Set(gold.flat().map(({ id }) => id));
    const byId = candidates.filter(({ id }) => [id, ...id.split(/[|+]/)].some((each) => ids.has(each)));
    return byId.length ? byId : candidates.filter((each) => each.rank === rank);
  }

  function row({ rank, id, preferred, name, rule, score }, isRight) {
    const tick = isRight ? make("span", { className: "tick", title: "gold", textContent: " ✓ gold" }) : "";
    const concept = make("td", {}, make("span", { className: "id", textContent: id }), " ", preferred, tick);
    const cell = (className, value) => make("td", { className, textContent: value });
    const points = make("td", { className: "num", textContent: Number(score.toPrecision(4)) });
    return make("tr", { className: isRight ? "right" : "" }, cell("rank", rank), concept, cell("name", name), cell("rule", rule), points);
  }

  function move(event) {
    const items = [...list.children];
    const at = items.indexOf(event.target.closest("#list > li"));
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const target = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    if (target >= items.length && page < pages() - 1) { show(page + 1); focus(list.firstChild); }
    else if (target < 0 && page > 0) { show(page - 1); focus(list.lastChild); }
    else focus(items[target] ?? items[at]);
  }

  function focus(item) {
    for (const each of list.children) each.tabIndex = each === item ? 0 : -1;
    item.focus();
  }

  let waiting = 0;
  text.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
  for (const control of [kind, stratum, type, once]) control.addEventListener("change", filter);
  byId("reset").addEventListener("click", () => {
    for (const control of [text, kind, stratum, type]) control.value = "";
    once.checked = false;
    filter();
    text.focus();
  });
  list.addEventListener("keydown", move);
  window.addEventListener("beforeprint", () => { for (const each of document.querySelectorAll("details")) each.open = true; });

  fill(kind, "all kinds", byCount(errors.map((error) => error.kind)));
  fill(stratum, "all strata", byGroup());
  fill(type, "all types", byCount(errors.map(typeOf)));
  byId("without").remove();
  byId("browser").hidden = false;
  show(0);
})();
