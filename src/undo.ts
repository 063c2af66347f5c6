/** Undo of the file tools' work, prompt by prompt: what was there before, and putting it back. Covers no effects of commands; needs no git. */
import { dirname } from "node:path";
import { errnoOf, messageOf } from "./errors.ts";
import { removeLeftovers } from "./text-file-write.ts";
import { missingParents, type PathState, putState, removeEmpty, sameState, takeState } from "./undo-state.ts";
import { type LogLine, openUndoStore, type StoredPrompt, type UndoStore } from "./undo-store.ts";

export interface UndoOptions {
  /** `<home>/undo/<session>`; created with the first file saved. */
  dir: string;
  /** Told once when older prompts were dropped for space, and when saving fails. */
  notice?: (message: string) => void;
  /** Told the reason instead, when saving fails. */
  unsaved?: (reason: string) => void;
  /** Prompts kept (100). */
  maxPrompts?: number;
  /** Bytes of contents kept (200 MB). */
  maxBytes?: number;
}

export interface UndoResult {
  /** The session's number of the prompt, as given to `beginPrompt`. */
  index: number;
  title: string;
  /** Absolute paths. */
  restored: string[];
  skipped: { path: string; reason: string }[];
  /** Commands that ran; their effects stay. */
  commands: string[];
}

export interface Undo {
  /** False while nothing can be saved; `reason` says why. */
  readonly available: boolean;
  readonly reason: string | null;
  /** What ran before can't be redone any more. */
  beginPrompt(index: number, title: string): void;
  /** What follows belongs to a prompt that began before: a resumed session finishes its calls. */
  resumePrompt(index: number, title: string): void;
  /**
   * Saves a path's state before its first change in this prompt. Call what it returns once the change is on disk:
   * that notes the new state, by which somebody else's later change is recognised. Neither throws for a disk that fails.
   */
  before(path: string): () => void;
  recordCommand(text: string): void;
  /** The prompt that `undo` would take, null when there is none. */
  last(): { index: number; title: string; files: string[]; commands: string[] } | null;
  /** The files this session changed that are not taken back, with the content before the first change; null for none. */
  origins(): { path: string; before: Uint8Array | null }[];
  /**
   * Takes the newest prompt back; null when there is none, or when it is not `prompt`: indexes alone may mean another
   * one after the transcript was shortened.
   * With `force`, files changed since as well, those skipped last time first.
   */
  undo(options?: { force?: boolean; prompt?: { index: number; title: string } }): UndoResult | null;
  /** Reverses the last `undo`; null when there is none. */
  redo(options?: { force?: boolean }): UndoResult | null;
}

const MAX_PROMPTS = 100;
const MAX_BYTES = 200 * 1024 * 1024;

export function openUndo(options: UndoOptions): Undo {
  return new UndoHistory(options, openUndoStore(options.dir));
}

interface Entry {
  before: PathState;
  /** Null until a change was seen to succeed. */
  after: PathState | null;
  madeDirs: string[];
  undone: boolean;
}

interface Prompt {
  sequence: number;
  index: number;
  title: string;
  entries: Map<string, Entry>;
  commands: string[];
  undone: boolean;
}

class UndoHistory implements Undo {
  reason: string | null;
  readonly #options: UndoOptions;
  readonly #store: UndoStore;
  #prompts: Prompt[];
  #begun: { index: number; title: string } | null = null;
  #current: Prompt | null = null;

  constructor(options: UndoOptions, store: UndoStore) {
    this.#options = options;
    this.#store = store;
    this.reason = store.problem();
    this.#prompts = store.load().flatMap(replay);
    // The session's last process may have been killed in the middle of a write.
    const touched = [...(this.#prompts.at(-1)?.entries.keys() ?? [])];
    for (const directory of new Set(touched.map((path) => dirname(path)))) removeLeftovers(directory);
  }

  get available(): boolean {
    return this.reason === null;
  }

  beginPrompt(index: number, title: string): void {
    this.#begun = { index, title };
    this.#current = null;
    this.#drop(this.#prompts.filter((prompt) => prompt.undone));
  }

  resumePrompt(index: number, title: string): void {
    this.beginPrompt(index, title);
    const newest = this.#prompts.at(-1);
    if (newest?.index === index && newest.title === title) this.#current = newest;
  }

  before(path: string): () => void {
    const prompt = this.#open();
    if (prompt === null) return () => {};
    const entry = prompt.entries.get(path) ?? this.#add(prompt, path);
    return () => this.#note(prompt, path, entry);
  }

  #add(prompt: Prompt, path: string): Entry {
    const entry: Entry = { before: { kind: "lost" }, after: null, madeDirs: [], undone: false };
    prompt.entries.set(path, entry);
    this.#guarded(() => {
      entry.madeDirs = missingParents(path);
      entry.before = takeState(path, this.#store.save);
      const { before: state, madeDirs } = entry;
      this.#store.append(prompt.sequence, { type: "before", path, state, madeDirs });
      this.#makeRoom();
    });
    return entry;
  }

  #note(prompt: Prompt, path: string, entry: Entry): void {
    this.#guarded(() => {
      entry.after = takeState(path);
      this.#store.append(prompt.sequence, { type: "after", path, state: entry.after });
    });
  }

  recordCommand(text: string): void {
    const prompt = this.#open();
    if (prompt === null) return;
    prompt.commands.push(text);
    this.#guarded(() => this.#store.append(prompt.sequence, { type: "command", text }));
  }

  last(): ReturnType<Undo["last"]> {
    const prompt = this.#prompts.findLast((one) => !one.undone);
    if (!prompt) return null;
    const { index, title, entries, commands } = prompt;
    return { index, title, files: [...entries.keys()], commands };
  }

  origins(): { path: string; before: Uint8Array | null }[] {
    const first = new Map<string, PathState>();
    for (const { entries } of this.#prompts)
      for (const [path, { before, undone }] of entries) if (!undone && !first.has(path)) first.set(path, before);
    return [...first].flatMap(([path, state]): ReturnType<Undo["origins"]> => {
      if (state.kind === "absent") return [{ path, before: null }];
      return state.kind === "file" ? [{ path, before: this.#store.read(state.hash) }] : [];
    });
  }

  undo({ force = false, prompt: wanted }: Parameters<Undo["undo"]>[0] = {}): UndoResult | null {
    const partly = this.#prompts.find((one) => one.undone && [...one.entries.values()].some((entry) => !entry.undone));
    const prompt = (force ? partly : undefined) ?? this.#prompts.findLast((one) => !one.undone);
    if (!prompt || (wanted && (prompt.index !== wanted.index || prompt.title !== wanted.title))) return null;
    const result = this.#move(prompt, "undone", force);
    prompt.undone = true;
    this.#current = null;
    return result;
  }

  redo({ force = false }: { force?: boolean } = {}): UndoResult | null {
    const prompt = this.#prompts.find((one) => one.undone);
    if (!prompt) return null;
    const result = this.#move(prompt, "redone", force);
    prompt.undone = false;
    return result;
  }

  /** Takes back, or brings back, every file of a prompt that is not there yet. */
  #move(prompt: Prompt, type: "undone" | "redone", force: boolean): UndoResult {
    const { index, title, commands } = prompt;
    const result: UndoResult = { index, title, restored: [], skipped: [], commands: [...commands] };
    const moved: Record<string, PathState> = {};
    for (const [path, entry] of [...prompt.entries].toReversed()) {
      if (entry.undone === (type === "undone")) continue;
      const outcome = this.#restore(path, entry, type, force);
      if (outcome.restored) result.restored.push(path);
      if (outcome.skipped !== null) result.skipped.push({ path, reason: outcome.skipped });
      else moved[path] = entry.after ?? { kind: "absent" };
    }
    this.#guarded(() => this.#store.append(prompt.sequence, { type, files: moved }));
    return result;
  }

  #restore(path: string, entry: Entry, type: "undone" | "redone", force: boolean) {
    const back = type === "undone";
    const [expected, wanted] = back ? [entry.after, entry.before] : [entry.before, entry.after];
    if (wanted?.kind === "lost") return { restored: false, skipped: "its earlier content could not be saved" };
    try {
      const now = takeState(path);
      const there = wanted === null || sameState(now, wanted);
      if (!there && !force && (expected === null || !sameState(now, expected)))
        return { restored: false, skipped: "changed since" };
      const leaving = back && !there ? takeState(path, this.#store.save) : entry.after;
      if (!there) putState(path, keepingMode(wanted, expected, now), this.#store.read);
      if (back && wanted?.kind === "absent") removeEmpty(entry.madeDirs);
      entry.after = leaving;
      entry.undone = back;
      return { restored: !there, skipped: null };
    } catch (error) {
      return { restored: false, skipped: messageOf(error) };
    }
  }

  /** The record of the current prompt, made when there is something to record. */
  #open(): Prompt | null {
    if (this.#current !== null || this.#begun === null) return this.#current;
    const sequence = (this.#prompts.at(-1)?.sequence ?? 0) + 1;
    const { index, title } = this.#begun;
    const prompt = { sequence, index, title, entries: new Map<string, Entry>(), commands: [], undone: false };
    this.#current = prompt;
    this.#prompts.push(prompt);
    this.#guarded(() => this.#store.append(sequence, { type: "prompt", index, title }));
    this.#drop(this.#prompts.slice(0, -(this.#options.maxPrompts ?? MAX_PROMPTS)));
    return prompt;
  }

  /** Contents of the current prompt stay whatever their size: they are the ones that will be asked for. */
  #makeRoom(): void {
    const limit = this.#options.maxBytes ?? MAX_BYTES;
    let dropped = 0;
    while (this.#store.size() > limit && this.#prompts.length > 1) {
      this.#drop(this.#prompts.slice(0, 1));
      dropped++;
    }
    if (dropped > 0) this.#options.notice?.(`undo: ${dropped} old prompts were dropped to stay within the limit.`);
  }

  #drop(prompts: readonly Prompt[]): void {
    if (prompts.length === 0) return;
    this.#prompts = this.#prompts.filter((prompt) => !prompts.includes(prompt));
    this.#guarded(() => {
      for (const prompt of prompts) this.#store.drop(prompt.sequence);
      this.#store.keepOnly(hashesOf(this.#prompts));
    });
  }

  #sayUnsaved(reason: string): void {
    const { unsaved, notice } = this.#options;
    if (unsaved) unsaved(reason);
    else notice?.(`undo is unavailable: ${reason}`);
  }

  /** A disk that fails costs undo, never the turn. The next success makes it available again. */
  #guarded(work: () => void): void {
    try {
      work();
      this.reason = null;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      if (this.reason === null) this.#sayUnsaved(messageOf(error));
      this.reason = messageOf(error);
    }
  }
}

/** Somebody's chmod since stays. */
function keepingMode(wanted: PathState, expected: PathState | null, now: PathState): PathState {
  if (wanted.kind !== "file" || expected?.kind !== "file" || now.kind !== "file") return wanted;
  return now.mode === expected.mode ? wanted : { ...wanted, mode: now.mode };
}

function hashesOf(prompts: readonly Prompt[]): Set<string> {
  const states = prompts.flatMap((prompt) =>
    [...prompt.entries.values()].flatMap(({ before, after }) => [before, after]),
  );
  return new Set(states.flatMap((state) => (state?.kind === "file" ? [state.hash] : [])));
}

function replay({ sequence, lines }: StoredPrompt): Prompt[] {
  const [first, ...rest] = lines;
  if (first?.type !== "prompt") return [];
  const { index, title } = first;
  const prompt: Prompt = { sequence, index, title, entries: new Map(), commands: [], undone: false };
  for (const line of rest) replayLine(prompt, line);
  return [prompt];
}

function replayLine(prompt: Prompt, line: LogLine): void {
  switch (line.type) {
    case "prompt":
      return;
    case "before":
      prompt.entries.set(line.path, { before: line.state, after: null, madeDirs: line.madeDirs, undone: false });
      return;
    case "after":
      return setEntries(prompt, { [line.path]: line.state }, false);
    case "command":
      prompt.commands.push(line.text);
      return;
    case "undone":
    case "redone":
      prompt.undone = line.type === "undone";
      return setEntries(prompt, line.files, prompt.undone);
    default:
      line satisfies never;
  }
}

function setEntries(prompt: Prompt, files: Record<string, PathState>, undone: boolean): void {
  for (const [path, state] of Object.entries(files)) {
    const entry = prompt.entries.get(path);
    if (entry) Object.assign(entry, { after: state, undone });
  }
}
