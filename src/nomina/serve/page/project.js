// The documents of the service's project: read when they are opened, each decision sent as soon as it is made.
import * as client from "./client.js";
import { changesOf, keyed, marked, merged } from "./changes.js";

const AGAIN = 2000; // milliseconds until what could not be sent is sent again
const IN_VAIN = new Set([400, 413, 415, 422]); // refusals that the same thing sent again would meet again
const TRIES = 20; // looks in that time whether all is saved

/** A number that no other save has, so that one that is sent twice is saved once. */
function freshNumber() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class ProjectStore {
  isProject = true;
  documents = new Map(); // those that were not opened yet have no mentions
  #states = new Map(); // of those that were: the revision, the mentions that are saved, the save that is under way
  #undos = [];
  #failing = new Map(); // why a document is not saved
  #annotator;
  #blind;
  #told;

  /** told: conflict (a key and who saved), failed (an error, or null, and the one that is over), saved (words). */
  constructor(annotator, blind, told) {
    this.#annotator = annotator;
    this.#blind = blind;
    this.#told = told;
  }

  get #whose() {
    return this.#blind ? [this.#annotator] : [];
  }

  isStale(key) {
    return Boolean(this.#states.get(key)?.conflict);
  }

  conflictOf(key) {
    return this.#states.get(key)?.conflict ?? null;
  }

  get canUndo() {
    return this.#undos.length > 0;
  }

  #isUnsaved(key) {
    const { busy, save, conflict } = this.#states.get(key) ?? {};
    return Boolean(busy || save || conflict);
  }

  get isUnsaved() {
    return [...this.#states.keys()].some((key) => this.#isUnsaved(key));
  }

  /** The documents as they are listed now: id, how much is undecided, how uncertain that is. */
  async list() {
    const { documents } = await client.projectList(this.#whose);
    const rows = documents.map((row) => [String(row.number), stub(row)]);
    this.documents = new Map([...rows, ...this.documents]); // one that was added while they were asked for stays
    return documents;
  }

  /** The document that is most uncertain, but for one; null where nothing is undecided. */
  async mostUncertain(but) {
    const rows = (await this.list()).filter(({ number, open }) => open && String(number) !== but);
    const best = rows.sort((a, b) => b.uncertainty - a.uncertainty || a.number - b.number)[0];
    return best ? String(best.number) : null;
  }

  /** Decided ids that the service's KB does not have: how many, and the first of them with their mentions. */
  unknown() {
    return client.projectUnknown(this.#whose);
  }

  /** Read a document, unless something of it is not saved yet; what was read too early, or isn't wanted, is not taken. */
  async load(key, isWanted) {
    if (this.#isUnsaved(key)) return;
    const found = await this.#read(key);
    const known = this.#states.get(key)?.revision ?? found.revision;
    if (!isWanted() || this.#isUnsaved(key) || found.revision < known) return;
    if (found.revision > known) this.#forget(key);
    this.#take(key, found);
  }

  #read(key) {
    return client.projectDocument(key, this.#whose);
  }

  #take(key, found) {
    const state = { revision: found.revision, saved: found.mentions, save: null, busy: false, conflict: null };
    Object.assign(state, { isRefused: false, timer: null });
    this.#states.set(key, state);
    this.documents.set(key, found);
  }

  /** The key of a document that is there already; null where it is not. */
  async find(id, text) {
    const key = [...this.documents].find(([, each]) => each.id === id)?.[0];
    if (key === undefined) return null;
    const isNew = () => this.documents.get(key).mentions === null;
    if (isNew()) await this.load(key, isNew);
    if (this.documents.get(key).text !== text) throw new Error("another document has this id: rename this one");
    return key;
  }

  async add({ id, text, sections, mentions, kb }) {
    const document = { id, text, sections, mentions: mentions.map(marked), kb };
    const { number } = await client.projectAdd({ annotator: this.#annotator, save: freshNumber(), document });
    const key = String(number);
    if (!this.documents.has(key)) this.documents.set(key, stub({ id }));
    return key;
  }

  change(key, mentions, selected) {
    const before = this.documents.get(key).mentions;
    this.#undos.push({ key, mentions: before, selected });
    const kept = new Set(before);
    const own = mentions.map((each) => (kept.has(each) ? each : { ...each, annotator: this.#annotator, time: null }));
    this.#put(key, keyed(own));
  }

  undo() {
    const last = this.#undos.pop();
    if (!last) return null;
    this.#put(last.key, last.mentions);
    return last;
  }

  /** After a conflict: what is saved; what was here can be had again by undoing that. */
  async takeTheirs(key) {
    const both = await this.#both(key);
    if (both === null) return true;
    const [mine, theirs] = both;
    this.#undos.push({ key, mentions: mine, selected: 0 });
    this.documents.get(key).mentions = theirs;
    this.#settled(key);
    return true;
  }

  /** After a conflict: what was decided here, over what is saved. */
  async keepMine(key) {
    const both = await this.#both(key);
    if (both === null) return;
    const [mine, theirs] = both;
    this.#undos.push({ key, mentions: theirs, selected: 0 });
    this.#put(key, mine);
  }

  /** What was decided here, over what is saved, and what is saved; null where the conflict is over by then. */
  async #both(key) {
    const before = this.conflictOf(key);
    const found = await this.#read(key);
    const { saved, conflict } = this.#states.get(key);
    if (conflict === null || conflict !== before) return null;
    const { mentions } = this.documents.get(key);
    this.#forget(key);
    this.#take(key, found);
    return [merged(saved, mentions, found.mentions), found.mentions];
  }

  #forget(key) {
    this.#undos = this.#undos.filter((undo) => undo.key !== key);
  }

  #put(key, mentions) {
    this.documents.set(key, { ...this.documents.get(key), mentions });
    this.#send(key);
  }

  /** Send all that is not sent yet. */
  retry() {
    for (const key of this.#states.keys()) this.#send(key);
  }

  async #send(key) {
    const state = this.#states.get(key);
    if (state.busy || state.conflict) return;
    state.busy = true;
    try {
      while (this.#hasMore(key, state)) {
        this.#told.saved("Saving …");
        const { id, changes, mentions } = state.save;
        const sent = { annotator: this.#annotator, save: id, revision: state.revision, changes };
        state.revision = (await client.projectChange(key, sent)).revision;
        Object.assign(state, { saved: mentions, save: null });
      }
      this.#settled(key);
    } catch (error) {
      this.#failed(key, state, error);
    } finally {
      state.busy = false;
    }
    if (state.isRefused && state.save.mentions !== this.documents.get(key).mentions) this.#send(key); // decided since
  }

  /** Whether there is a save to send: one that was not taken, or what was decided since. */
  #hasMore(key, state) {
    const { mentions } = this.documents.get(key);
    if (state.isRefused && state.save?.mentions !== mentions) state.save = null;
    state.isRefused = false;
    const changes = changesOf(state.saved, mentions);
    if (!state.save && changes.length) state.save = { id: freshNumber(), changes, mentions };
    return state.save !== null;
  }

  /** All of a document is saved; what is said now is of the others. */
  #settled(key) {
    const over = this.#failing.get(key);
    if (this.#failing.delete(key)) this.#told.failed([...this.#failing.values()].at(-1) ?? null, over);
    const others = [...this.#states.keys()].filter((each) => each !== key && this.#isUnsaved(each));
    const isFailing = others.some((each) => this.isStale(each) || this.#failing.has(each));
    this.#told.saved(isFailing ? "Not saved" : others.length ? "Saving …" : "Saved");
  }

  /** What is not saved stays so until it is, whatever the reason: it is asked about before it can be lost. */
  #failed(key, state, error) {
    this.#told.saved("Not saved");
    if (error instanceof client.Conflict) {
      Object.assign(state, { save: null, conflict: error });
      this.#told.conflict(key);
      return;
    }
    let why = error;
    if (IN_VAIN.has(error.status)) {
      state.isRefused = true;
      this.#told.saved(`Not saved: ${error.message}`);
      why = new Error(`not saved, undo it or decide otherwise: ${error.message}`);
    } else if (!(error instanceof client.TokenNeeded)) {
      why = new Error(`not saved yet, it is tried again: ${error.message}`);
      clearTimeout(state.timer);
      state.timer = setTimeout(() => this.#send(key), AGAIN);
    }
    this.#failing.set(key, why);
    this.#told.failed(why);
  }

  #unsavedIds() {
    const ids = [...this.#states.keys()].filter((key) => this.#isUnsaved(key)).map((key) => this.documents.get(key).id);
    return `Not all is saved of ${ids.slice(0, 3).join(", ")}${ids.length > 3 ? ` and ${ids.length - 3} more` : ""}`;
  }

  /** The documents as a file of the project's own making. */
  async exported(format) {
    for (let tries = 0; this.isUnsaved && tries < TRIES; tries += 1) {
      await new Promise((done) => setTimeout(done, AGAIN / TRIES));
    }
    if (this.isUnsaved && !confirm(`${this.#unsavedIds()}: export the project without what is not saved?`)) {
      throw new Error("not all is saved yet, and nothing is exported");
    }
    return client.projectExport(format, this.#whose);
  }
}

const stub = ({ id }) => ({ id, mentions: null });
