// Offsets count code points, as the service does; strings count UTF-16 units.
const SURROGATE = /[\ud800-\udbff][\udc00-\udfff]/;

/** What turns offsets of one text into the other kind. */
export function offsetsOf(text) {
  if (!SURROGATE.test(text)) return { length: text.length, toUnits: (at) => at, toPoints: (at) => at };
  const starts = [];
  let unit = 0;
  for (const character of text) {
    starts.push(unit);
    unit += character.length;
  }
  starts.push(unit);
  return { length: starts.length - 1, toUnits: (at) => starts[at], toPoints: (at) => nearest(starts, at) };
}

/** The number of the last start that is not behind a unit. */
function nearest(starts, unit) {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= unit) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** What stands at spans: parts with one space between them. */
export function textAt(text, spans, offsets = offsetsOf(text)) {
  return spans.map(([start, end]) => text.slice(offsets.toUnits(start), offsets.toUnits(end))).join(" ");
}
