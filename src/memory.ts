/** Project memory: durable one-line notes about a code base, shared by all sessions in it. Merging by a model is in memory-merge.ts. */
import * as v from "valibot";
import { randomHex } from "./digest.ts";
import { messageOf } from "./errors.ts";
import { conflictsWith, normalised } from "./memory-match.ts";
import { memoryFile } from "./paths.ts";
import { withLock } from "./store-lock.ts";
import { readStore, setAside, writeStore } from "./store.ts";
import { oneLine } from "./text.ts";

export const NOTE_KINDS = ["fact", "decision", "gotcha", "command"] as const;
export type NoteKind = (typeof NOTE_KINDS)[number];

export interface Note {
  id: string;
  kind: NoteKind;
  /** One line, at most `MAX_NOTE_CHARS`. */
  text: string;
  createdAt: string;
  /** When it was last recalled; `createdAt` before that. */
  usedAt: string;
  /** How often it was recalled. */
  hits: number;
  /** Id of an older note on the same subject that says something else. */
  supersedes?: string | undefined;
}

export type AddOutcome =
  | { state: "added"; note: Note; superseded: Note | null }
  | { state: "duplicate"; note: Note }
  | { state: "full"; leastUsed: Note[] }
  | { state: "refused"; reason: string };

export type ForgetOutcome =
  { state: "removed"; notes: Note[] } | { state: "several"; notes: Note[] } | { state: "none" };

export const MAX_NOTE_CHARS = 400;
const MAX_NOTES = 300;
const PROMPT_NOTES = 20;

export interface Memory {
  readonly path: string;
  /** Why notes are not being saved, one line; null while they are. */
  readonly problem: string | null;
  /** Oldest first. */
  list(): readonly Note[];
  /** For the prompt: by hits, then recency, superseded ones last. */
  top(limit?: number): Note[];
  add(note: { kind: NoteKind; text: string }): Promise<AddOutcome>;
  /** Notes in which every word of the query appears; their hits rise. */
  recall(query: string): Promise<Note[]>;
  /** By substring; several matches are removed only with `all`. */
  forget(text: string, all?: boolean): Promise<ForgetOutcome>;
  /** Puts `merged` in place of the notes with the given ids, except those recalled meanwhile; keeps a backup. False when it could not. */
  replace(ids: readonly string[], merged: readonly { kind: NoteKind; text: string }[]): Promise<boolean>;
}

export interface MemoryOptions {
  home: string;
  /** Real path of the project. */
  project: string;
  now: () => Date;
  /** Told each time a change can't be saved that came after one that could. */
  onUnsaved?: (reason: string) => void;
}

/** Opens the notes of a project. Never throws; a file that can't be understood is set aside and named in `problem`. */
export function openMemory(options: MemoryOptions): Memory {
  return new FileMemory(options);
}

/** Changes whose file could not be written are kept and replayed on the next read, so that nothing is lost. */
type Change = (notes: Note[]) => Note[];

class FileMemory implements Memory {
  readonly path: string;
  problem: string | null = null;
  readonly #now: () => Date;
  readonly #onUnsaved: (reason: string) => void;
  #notes: Note[] = [];
  #fields: Record<string, unknown> = {};
  #unsaved: Change[] = [];

  constructor(options: MemoryOptions) {
    this.path = memoryFile(options.home, options.project);
    this.#now = options.now;
    this.#onUnsaved = options.onUnsaved ?? (() => {});
    this.#notes = this.#read() ?? [];
  }

  list(): readonly Note[] {
    return this.#notes;
  }

  top(limit = PROMPT_NOTES): Note[] {
    const old = supersededIds(this.#notes);
    const rank = (note: Note) => (old.has(note.id) ? 1 : 0);
    const sorted = this.#notes.toSorted((left, right) => {
      return rank(left) - rank(right) || right.hits - left.hits || (left.usedAt < right.usedAt ? 1 : -1);
    });
    return sorted.slice(0, limit);
  }

  async add(given: { kind: NoteKind; text: string }): Promise<AddOutcome> {
    const text = oneLine(given.text.toWellFormed());
    const reason = unfit(text);
    if (reason) return { state: "refused", reason };
    const stamp = this.#now().toISOString();
    const note: Note = {
      id: randomHex(6),
      kind: given.kind,
      text,
      createdAt: stamp,
      usedAt: stamp,
      hits: 0,
    };
    let outcome: AddOutcome = { state: "refused", reason: "" };
    await this.#update((notes) => {
      outcome = judge(notes, note);
      return outcome.state === "added" ? [...notes, outcome.note] : notes;
    });
    return outcome;
  }

  async recall(query: string): Promise<Note[]> {
    const terms = query
      .toLowerCase()
      .split(/\s+/)
      .filter((term) => term !== "");
    if (terms.length === 0) return [];
    const stamp = this.#now().toISOString();
    let found: Note[] = [];
    await this.#update((notes) => {
      const changed = notes.map((note) => {
        return matches(note, terms) ? { ...note, hits: note.hits + 1, usedAt: stamp } : note;
      });
      found = changed.filter((note, index) => note !== notes[index]);
      return found.length > 0 ? changed : notes;
    });
    return found;
  }

  async forget(text: string, all = false): Promise<ForgetOutcome> {
    const wanted = text.trim().toLowerCase();
    if (wanted === "") return { state: "none" };
    let outcome: ForgetOutcome = { state: "none" };
    await this.#update((notes) => {
      const found = notes.filter((note) => note.text.toLowerCase().includes(wanted));
      if (found.length === 0) outcome = { state: "none" };
      else if (found.length > 1 && !all) outcome = { state: "several", notes: found };
      else outcome = { state: "removed", notes: found };
      return outcome.state === "removed" ? notes.filter((note) => !found.includes(note)) : notes;
    });
    return outcome;
  }

  async replace(ids: readonly string[], merged: readonly { kind: NoteKind; text: string }[]): Promise<boolean> {
    const stamp = this.#now().toISOString();
    const gone = new Set(ids);
    const fresh = merged.map(({ kind, text }): Note => {
      return {
        id: randomHex(6),
        kind,
        text: oneLine(text),
        createdAt: stamp,
        usedAt: stamp,
        hits: 0,
      };
    });
    if (fresh.length === 0 || fresh.some((note) => unfit(note.text))) return false;
    const backup = await writeStore(`${this.path}.backup`, this.#format(this.#notes));
    if (backup) {
      this.problem = backup.reason;
      return false;
    }
    await this.#update((notes) => [...notes.filter((note) => note.hits > 0 || !gone.has(note.id)), ...fresh]);
    return this.problem === null;
  }

  /** Read, change, write under the lock, so that what other processes added stays. */
  async #update(change: Change): Promise<void> {
    const saved = this.#unsaved.length === 0;
    await this.#save(change);
    if (saved && this.problem !== null && this.#unsaved.length > 0) this.#onUnsaved(this.problem);
  }

  async #save(change: Change): Promise<void> {
    const done = await withLock(`${this.path}.lock`, async () => {
      const saved = this.#read();
      if (saved === null) return { applied: false, reason: this.problem };
      const before = this.#unsaved.reduce((notes, earlier) => earlier(notes), saved);
      const after = change(before);
      const same = after === before && this.#unsaved.length === 0;
      const problem = same ? null : await writeStore(this.path, this.#format(after));
      this.#notes = after;
      if (!problem) this.#unsaved = [];
      else this.#unsaved.push(change);
      return { applied: true, reason: problem?.reason ?? null };
    });
    if ("problem" in done) this.#keep(change, done.problem.reason);
    else if (!done.value.applied) this.#keep(change, done.value.reason ?? this.path);
    else this.problem = done.value.reason;
  }

  #keep(change: Change, reason: string): void {
    this.#notes = change([...this.#notes]);
    this.#unsaved.push(change);
    this.problem = reason;
  }

  /** Null when the file is there and may not be read: then it must not be written either. */
  #read(): Note[] | null {
    const read = readStore(this.path);
    if (read.state === "missing") return [];
    if (read.state === "unreadable") {
      this.problem = `${this.path}: ${read.reason}`;
      return null;
    }
    const parsed = read.state === "ok" ? v.safeParse(fileSchema, read.value) : null;
    if (parsed?.success) {
      const { entries, ...fields } = parsed.output;
      this.#fields = fields;
      return entries;
    }
    const reason = read.state === "corrupt" ? read.reason : "not a list of notes";
    const aside = setAside(this.path, this.#now());
    this.problem = `${this.path}: ${messageOf(reason)}${aside ? `; moved to ${aside}` : ""}`;
    return aside ? [] : null;
  }

  #format(notes: readonly Note[]): string {
    return `${JSON.stringify({ version: 1, ...this.#fields, entries: notes }, null, 1)}\n`;
  }
}

const noteSchema = v.looseObject({
  id: v.string(),
  kind: v.picklist(NOTE_KINDS),
  text: v.string(),
  createdAt: v.string(),
  usedAt: v.string(),
  hits: v.number(),
  supersedes: v.optional(v.string()),
});
const fileSchema = v.looseObject({ entries: v.array(noteSchema) });

function judge(notes: readonly Note[], note: Note): AddOutcome {
  const known = normalised(note.text);
  const duplicate = notes.find((other) => normalised(other.text) === known);
  if (duplicate) return { state: "duplicate", note: duplicate };
  if (notes.length >= MAX_NOTES) return { state: "full", leastUsed: leastUsed(notes) };
  const old = supersededIds(notes);
  const superseded = notes.findLast((other) => {
    return other.kind === note.kind && !old.has(other.id) && conflictsWith(other.text, note.text);
  });
  if (!superseded) return { state: "added", note, superseded: null };
  return { state: "added", note: { ...note, supersedes: superseded.id }, superseded };
}

/** Ids of notes that a newer one speaks against. */
export function supersededIds(notes: readonly Note[]): Set<string> {
  return new Set(notes.flatMap((note) => (note.supersedes === undefined ? [] : [note.supersedes])));
}

function leastUsed(notes: readonly Note[]): Note[] {
  const sorted = notes.toSorted((left, right) => left.hits - right.hits || (left.usedAt < right.usedAt ? -1 : 1));
  return sorted.slice(0, 3);
}

function unfit(text: string): string | null {
  if (text === "") return "The note is empty.";
  if (text.length <= MAX_NOTE_CHARS) return null;
  return `The note has ${text.length} characters; the limit is ${MAX_NOTE_CHARS}. Say it in one short line.`;
}

function matches(note: Note, terms: readonly string[]): boolean {
  const text = `${note.kind} ${note.text}`.toLowerCase();
  return terms.every((term) => text.includes(term));
}
