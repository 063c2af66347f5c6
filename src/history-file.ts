/** The prompts typed in one directory, for recall in the editor. Several processes may append at once. Knows no keys. */
import * as v from "valibot";
import { historyFile } from "./paths.ts";
import { withLock } from "./store-lock.ts";
import { readStore, setAside, writeStore, type StoreProblem } from "./store.ts";

export interface HistoryOptions {
  /** Null: kept for this process only. */
  home: string | null;
  /** Real path of the project. */
  project: string;
  now: () => Date;
  /** Applied before anything is stored; keys that were pasted must not reach the disk. */
  redact?: (text: string) => string;
}

// 200 prompts are what a person finds again by walking; a pasted file is not recalled by arrow keys.
const MAX_ENTRIES = 200;
const MAX_ENTRY_CHARS = 20_000;

/** Never throws and never rejects: `problem` says why nothing is saved, entries stay in memory and are tried again. */
export class PromptHistory {
  readonly #options: HistoryOptions;
  readonly #path: string | null;
  #entries: string[];
  /** Typed here and not on disk yet. */
  #unsaved: string[] = [];
  #saving: Promise<void> = Promise.resolve();
  problem: StoreProblem | null = null;
  /** Where a list that could not be read was moved to; null when it could. */
  movedTo: string | null = null;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#path = options.home === null ? null : historyFile(options.home, options.project);
    this.#entries = this.#path === null ? [] : this.#read(this.#path);
  }

  /** Oldest first. Entries of other processes are seen from their next start on, and after an own `add`. */
  get entries(): readonly string[] {
    return this.#entries;
  }

  /** Adds a prompt, unless it repeats the newest, is blank, or begins with a space. Resolves when it is saved or can't be. */
  add(text: string): Promise<void> {
    const entry = this.#storable(text);
    if (entry === null) return this.#saving;
    this.#entries = appended(this.#entries, [entry]);
    if (this.#path === null) return this.#saving;
    this.#unsaved.push(entry);
    const path = this.#path;
    this.#saving = this.#saving.then(() => this.#save(path));
    return this.#saving;
  }

  /** Resolves when nothing is being written any more. */
  settled(): Promise<void> {
    return this.#saving;
  }

  #read(path: string): string[] {
    const entries = readEntries(path);
    if (entries) return entries;
    // A damaged list is kept for its owner to look at; a new one begins.
    this.movedTo = setAside(path, this.#options.now()) ?? this.movedTo;
    return [];
  }

  #storable(text: string): string | null {
    const entry = clean(this.#options.redact?.(text) ?? text);
    if (entry.trim() === "" || entry.startsWith(" ") || entry.length > MAX_ENTRY_CHARS) return null;
    return entry === this.#entries.at(-1) ? null : entry;
  }

  async #save(path: string): Promise<void> {
    const unsaved = [...this.#unsaved];
    if (unsaved.length === 0) return;
    const done = await withLock(`${path}.lock`, async () => {
      const merged = appended(this.#read(path), unsaved);
      const problem = await writeStore(path, `${JSON.stringify({ version: 1, entries: merged }, null, 1)}\n`);
      return { merged, problem };
    });
    this.problem = "problem" in done ? done.problem : done.value.problem;
    if (this.problem || !("value" in done)) return;
    this.#unsaved = this.#unsaved.slice(unsaved.length);
    this.#entries = appended(done.value.merged, this.#unsaved);
  }
}

/** What is added to a list: no repeats of the one before, the oldest fall out. */
function appended(entries: readonly string[], added: readonly string[]): string[] {
  const all = [...entries];
  for (const entry of added) if (all.at(-1) !== entry) all.push(entry);
  return all.slice(-MAX_ENTRIES);
}

// Also the bare list that earlier versions wrote.
const fileSchema = v.union([
  v.array(v.string()),
  v.pipe(
    v.looseObject({ entries: v.array(v.string()) }),
    v.transform((file) => file.entries),
  ),
]);

/** Null for a file that is no list of prompts. */
function readEntries(path: string): string[] | null {
  const read = readStore(path);
  const parsed = read.state === "ok" ? v.safeParse(fileSchema, read.value) : null;
  if (parsed?.success)
    return appended(
      [],
      parsed.output.map(clean).filter((entry) => entry.trim() !== ""),
    );
  return read.state === "ok" || read.state === "corrupt" ? null : [];
}

/** Line breaks are `\n`; NUL and lone surrogates can't be typed and break what reads them. */
function clean(text: string): string {
  return text.replace(/\r\n?/g, "\n").replaceAll("\0", "").toWellFormed();
}
