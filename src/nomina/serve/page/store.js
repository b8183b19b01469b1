// The documents, kept in this browser; each has a version, so that two tabs do not overwrite each other unnoticed.
const PREFIX = "nomina.review:";

/** A short name of a text: two FNV-1a hashes, the length. The stored record has the text itself. */
export function keyOf(id, text) {
  const whole = `${id}\n${text}`;
  const hashes = [0x811c9dc5, 0x1b873593].map((seed) => {
    let hash = seed;
    for (let at = 0; at < whole.length; at += 1) hash = Math.imul(hash ^ whole.charCodeAt(at), 0x01000193) >>> 0;
    return hash.toString(16).padStart(8, "0");
  });
  return `${hashes.join("")}-${whole.length}`;
}

export class Store {
  isProject = false;
  #undos = [];
  #unsaved = new Set();
  #stale = new Set();
  #told;
  #failed;

  /**
   * told: called when a document here and the one that is stored are no longer the same, with its key;
   * failed: called with an error when the browser cannot keep a document.
   */
  constructor(told, failed) {
    this.#told = told;
    this.#failed = failed;
    this.documents = new Map();
    const keys = Array.from({ length: localStorage.length }, (_, number) => localStorage.key(number));
    const own = keys.filter((name) => name.startsWith(PREFIX));
    const records = own.map((name) => [name.slice(PREFIX.length), read(name)]);
    const kept = records.filter(([, record]) => record !== null).sort(([, a], [, b]) => a.order - b.order);
    kept.forEach(([key, record]) => this.documents.set(key, record));
    addEventListener("storage", ({ key }) => key?.startsWith(PREFIX) && this.#elsewhere(key.slice(PREFIX.length)));
  }

  /** Whether leaving the page would lose something: what did not fit, or what was decided after another tab. */
  get isUnsaved() {
    return this.#unsaved.size > 0;
  }

  isStale(key) {
    return this.#stale.has(key);
  }

  get canUndo() {
    return this.#undos.length > 0;
  }

  /** All is here already; a project reads a document now. */
  load() {}

  /** A project asks the service; here, ids that it does not know are those of the files that were read. */
  unknown() {
    return null;
  }

  /** The key of a document that is here; one that another tab has added since is from now on. */
  find(id, text) {
    const key = keyOf(id, text);
    if (this.#has(key)) return key;
    const alike = [...this.documents.values()].some((each) => each.id === id);
    if (alike) throw new Error("another document has this id: export and remove that one first, or rename this one");
    return null;
  }

  #has(key) {
    if (this.documents.has(key)) return true;
    const stored = read(PREFIX + key);
    if (stored) this.documents.set(key, stored);
    return stored !== null;
  }

  /** Keep a linked document, at the end, unless another tab has added it meanwhile; its key. */
  add(record) {
    const key = keyOf(record.id, record.text);
    if (this.#has(key)) return key;
    const orders = [...this.documents.values()].map(({ order }) => order);
    const order = Math.max(0, ...orders) + 1;
    this.documents.set(key, { ...record, order, version: 0 });
    this.#save(key);
    return key;
  }

  /** Give a document other mentions; the last change can be undone. */
  change(key, mentions, selected) {
    const before = this.documents.get(key);
    this.#undos.push({ key, mentions: before.mentions, selected });
    this.documents.set(key, { ...before, mentions });
    this.#save(key);
  }

  /** Take the last change back; returns where it was. */
  undo() {
    const last = this.#undos.pop();
    if (!last) return null;
    this.documents.set(last.key, { ...this.documents.get(last.key), mentions: last.mentions });
    this.#save(last.key);
    return last;
  }

  remove(key) {
    this.#forget(key);
    localStorage.removeItem(PREFIX + key);
  }

  /** After a conflict: what another tab saved; false where it removed the document. */
  takeTheirs(key) {
    const theirs = read(PREFIX + key);
    this.#forget(key);
    if (theirs) this.documents.set(key, theirs);
    return theirs !== null;
  }

  /** After a conflict: what is here, over what another tab saved. */
  keepMine(key) {
    this.#stale.delete(key);
    const version = read(PREFIX + key)?.version ?? 0;
    this.documents.set(key, { ...this.documents.get(key), version });
    this.#save(key);
  }

  #forget(key) {
    this.#undos = this.#undos.filter((undo) => undo.key !== key);
    this.#stale.delete(key);
    this.#unsaved.delete(key);
    this.documents.delete(key);
  }

  #elsewhere(key) {
    if (!this.documents.has(key)) return;
    this.#stale.add(key);
    this.#told(key);
  }

  #save(key) {
    const record = this.documents.get(key);
    this.#unsaved.add(key);
    if (this.#stale.has(key) || (read(PREFIX + key)?.version ?? 0) !== record.version) {
      this.#elsewhere(key);
      return;
    }
    const next = { ...record, version: record.version + 1 };
    try {
      localStorage.setItem(PREFIX + key, JSON.stringify(next));
    } catch {
      this.#failed(new Error("the browser's store is full: this is not saved. Export, then remove documents"));
      return;
    }
    this.documents.set(key, next);
    this.#unsaved.delete(key);
  }
}

function read(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null;
  }
}
