// What is decided in one list of mentions and not in another; mentions of a project have a key each, their place.

const order = ({ spans: a }, { spans: b }) => a[0][0] - b[0][0] || a.at(-1)[1] - b.at(-1)[1];

/** Mentions as they come in the text. */
export const sorted = (mentions) => mentions.toSorted(order);

const byKey = (mentions) => new Map(mentions.map((each) => [each.key, each]));

/** Mentions with a key each; what has none yet is new at its place. */
export function keyed(mentions) {
  const taken = new Set(mentions.map(({ key }) => key));
  return mentions.map((each) => {
    if (each.key) return each;
    const place = each.spans.map((span) => span.join("-")).join(";");
    let key = place;
    for (let number = 2; taken.has(key); number += 1) key = `${place}#${number}`;
    taken.add(key);
    return { ...each, key };
  });
}

/** A mention as a project takes it. */
export function marked({ spans, type, gold, name, ...found }) {
  const { candidates, ambiguous, abstained, probability, negated, experiencer, hypothetical } = found;
  const finding = { candidates, ambiguous, abstained, probability, negated, experiencer, hypothetical };
  return { spans, type, finding, gold, name };
}

const alike = (one, other) => JSON.stringify([one.gold, one.name]) === JSON.stringify([other.gold, other.name]);

/** What makes one list of mentions the other, as a project takes it. */
export function changesOf(before, after) {
  const [had, has] = [byKey(before), byKey(after)];
  const changes = [];
  for (const [key, each] of has) {
    const old = had.get(key);
    if (old && alike(old, each)) continue;
    const mention = old ? {} : { mention: marked(each) };
    const decided = each.gold ? { state: "decided", gold: each.gold, name: each.name } : { state: "open" };
    changes.push({ key, ...decided, ...mention });
  }
  for (const key of had.keys()) if (!has.has(key)) changes.push({ key, state: "rejected" });
  return changes;
}

/** Their mentions, and over them what mine and the ones that both began with do not share. */
export function merged(base, mine, theirs) {
  const found = byKey(theirs);
  const own = byKey(mine);
  for (const { key, state } of changesOf(base, mine)) {
    if (state === "rejected") found.delete(key);
    else found.set(key, own.get(key));
  }
  return sorted([...found.values()]);
}
