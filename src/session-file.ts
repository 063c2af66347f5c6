/** One session on disk: every change is journaled before it is announced and folded into the record now and then. Knows no model and no screen. */
import { Journal } from "./journal.ts";
import { isPrompt } from "./message.ts";
import { sessionFiles } from "./paths.ts";
import { applyEntry, type JournalLine, type SessionEntry, type SpendDelta } from "./session-entry.ts";
import {
  formatRecord,
  interruptedCalls,
  pendingCalls,
  type SessionRecord,
  type StartedCall,
  type ViewState,
} from "./session-record.ts";
import type { Lock } from "./store-lock.ts";
import { writeStore, writeStoreNow, type StoreProblem } from "./store.ts";
import type { Message, Todo, ToolResult, UserMessage } from "./types.ts";

export interface SessionFileOptions {
  /** Null: nothing is ever saved (`--ephemeral`). */
  home: string | null;
  record: SessionRecord;
  now: () => Date;
  /** Told once when saving fails, in one line. */
  onNotice: (message: string) => void;
  /** Told the reason instead, where one warning stands for all that can't be saved. */
  onUnsaved?: (reason: string) => void;
  /** Takes the lock when the first line is written, and again after each save as long as it gave null. */
  lock: () => Lock | null;
  /** Bytes of the journal that belong to `record`; null for a session that is not on disk yet. */
  journalBytes: number | null;
  /** Size of the record file. */
  recordBytes: number;
  /** Number of the last change that the record file contains. */
  foldedSeq: number;
}

const FOLD_AFTER_MS = 400;
const LONGEST_RETRY_MS = 60_000;
// Below this a fold saves nothing worth a rename.
const SMALLEST_FOLD_BYTES = 128 * 1024;

/**
 * Rules: a change is in memory and in the journal when the method returns. No method throws or rejects because of the
 * disk: `degraded` says why, the state stays in memory, and saving is tried again. The record is rewritten only when the
 * journal has outgrown it, so that all bytes written stay within a small multiple of the final record.
 */
export class SessionFile {
  readonly id: string;
  readonly record: SessionRecord;
  readonly #options: SessionFileOptions;
  readonly #journal: Journal | null;
  #lock: Lock | null = null;
  /** False until the first message: a session in which nothing was said leaves no file. */
  #begun: boolean;
  #recordBytes: number;
  #foldedSeq: number;
  #foldProblem: StoreProblem | null = null;
  #noticed = false;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #retryMs = FOLD_AFTER_MS;
  /** Raised by every fold; an older one that is still writing must not come out on top. */
  #generation = 0;
  #folding: Promise<void> | null = null;

  constructor(options: SessionFileOptions) {
    const { home, record, journalBytes } = options;
    this.#options = options;
    this.record = record;
    this.id = record.id;
    this.#recordBytes = options.recordBytes;
    this.#begun = journalBytes !== null;
    this.#foldedSeq = options.foldedSeq;
    this.#journal =
      home === null
        ? null
        : new Journal(sessionFiles(home, record.id).journal, { goodBytes: journalBytes ?? 0, held: !this.#begun });
    if (this.#begun) this.#lock = options.lock();
    else this.#commit({ t: "open", record: { ...record, messages: [], views: [], compactions: [] } });
  }

  /** Why nothing is being saved at the moment, else null. */
  get degraded(): string | null {
    return (this.#journal?.problem ?? this.#foldProblem)?.reason ?? null;
  }

  /** Dispatched before the program ended, no result: their effects are unknown. */
  get interruptedCalls(): StartedCall[] {
    return interruptedCalls(this.record);
  }

  /** Asked for by the model, never dispatched. */
  get pendingCalls(): StartedCall[] {
    return pendingCalls(this.record);
  }

  appendMessage(message: Message): void {
    this.#commit({ t: "message", message });
    this.#begin();
  }

  /** Before a mutating call runs. */
  startCall(call: StartedCall): void {
    this.#commit({ t: "start", call: { id: call.id, name: call.name, input: call.input } });
  }

  /** What a call came to, before the message with all results of its answer can be written. */
  recordResult(result: ToolResult): void {
    this.#commit({ t: "result", result });
  }

  setTodos(todos: Todo[]): void {
    this.#commit({ t: "todos", todos });
  }

  addSpend(spend: SpendDelta): void {
    this.#commit({ t: "spend", spend });
  }

  setModel(provider: string, model: string): void {
    if (this.record.provider === provider && this.record.model === model) return;
    this.#commit({ t: "model", provider, model });
  }

  setTitle(title: string): void {
    this.#commit({ t: "title", title });
  }

  /** Keeps what compaction decided, so that a resumed session sends the same bytes. */
  recordView(view: ViewState): void {
    this.#commit({ t: "view", view });
  }

  /** `/compact`: the transcript moves to `compactions`, a summary takes its place. */
  replaceTranscript(message: UserMessage): void {
    this.#commit({ t: "replace", message });
  }

  /** Takes the last `replaceTranscript` back, and what was said since with it. False when there was none. */
  restoreTranscript(): boolean {
    if (this.record.compactions.length === 0) return false;
    this.#commit({ t: "restore" });
    return true;
  }

  /** Keeps the first `count` messages and returns the others, newest last; appending them again undoes it. */
  truncateTo(count: number): Message[] {
    const removed = this.record.messages.slice(count);
    if (removed.length > 0) this.#commit({ t: "cut", count });
    return removed;
  }

  /** Index of the message with which turn `turns + 1` begins: what `truncateTo` takes to keep that many turns. */
  messagesOfTurns(turns: number): number {
    let seen = 0;
    const index = this.record.messages.findIndex((message) => isPrompt(message) && ++seen > turns);
    return index === -1 ? this.record.messages.length : index;
  }

  /** Waits until what was changed is on the disk itself. The problem is returned, never thrown. */
  async flush(): Promise<StoreProblem | null> {
    if (!this.#begun || !this.#journal) return null;
    this.#cancelTimer();
    const written = this.#journal.retry();
    if (!written || this.#foldProblem || this.#foldDue()) await this.#fold();
    else await this.#journal.sync();
    const problem = this.#settle();
    // A home that could not be written at first had no lock either.
    if (!problem) this.#lock ??= this.#options.lock();
    return problem;
  }

  /** Rewrites the record now (`/save`). */
  async save(): Promise<StoreProblem | null> {
    if (!this.#begun || !this.#journal) return null;
    this.#cancelTimer();
    await this.#fold();
    return this.#settle();
  }

  /** Folds and lets go of the lock. The object must not be used afterwards. */
  async close(): Promise<StoreProblem | null> {
    const problem = this.#unfolded() ? await this.save() : null;
    this.#letGo();
    return problem;
  }

  /** `save` without awaiting, for signal handlers. */
  flushNow(): StoreProblem | null {
    if (!this.#begun || !this.#journal || !this.#unfolded()) return null;
    this.#cancelTimer();
    this.#generation++;
    const text = formatRecord(this.record);
    this.#journal.retry();
    this.#journal.mark();
    this.#foldProblem = writeStoreNow(this.#recordPath(), text);
    if (!this.#foldProblem) this.#folded(this.record.journalSeq, text);
    return this.#settle();
  }

  /** `close` without awaiting. */
  closeNow(): StoreProblem | null {
    const problem = this.flushNow();
    this.#letGo();
    return problem;
  }

  #commit(entry: SessionEntry): void {
    const line: JournalLine = { ...entry, n: this.record.journalSeq + 1, at: this.#options.now().toISOString() };
    const text = this.#journal ? JSON.stringify(line) : "";
    applyEntry(this.record, line);
    if (!this.#journal) return;
    this.#journal.append(text);
    if (this.#begun) this.#afterWrite();
  }

  #begin(): void {
    if (this.#begun || !this.#journal) return;
    this.#begun = true;
    this.#lock = this.#options.lock();
    this.#journal.release();
    this.#afterWrite();
  }

  #afterWrite(): void {
    this.#settle();
    this.#timer ??= this.#schedule();
  }

  #schedule(): ReturnType<typeof setTimeout> {
    const delay = this.degraded ? this.#retryMs : FOLD_AFTER_MS;
    const timer = setTimeout(() => {
      this.#timer = null;
      void this.#tick();
    }, delay);
    // A pending save must not keep a finished program alive: exits flush by themselves.
    timer.unref();
    return timer;
  }

  async #tick(): Promise<void> {
    const wasDegraded = this.degraded !== null;
    await this.flush();
    this.#lock?.touch();
    if (this.degraded === null) this.#retryMs = FOLD_AFTER_MS;
    else if (wasDegraded) this.#retryMs = Math.min(LONGEST_RETRY_MS, this.#retryMs * 2);
  }

  #foldDue(): boolean {
    return (this.#journal?.bytes ?? 0) >= Math.max(SMALLEST_FOLD_BYTES, this.#recordBytes);
  }

  #unfolded(): boolean {
    return this.#begun && this.record.journalSeq > this.#foldedSeq;
  }

  async #fold(): Promise<void> {
    await this.#folding;
    if (!this.#unfolded()) return;
    this.#folding = this.#writeRecord();
    await this.#folding;
    this.#folding = null;
  }

  async #writeRecord(): Promise<void> {
    const generation = ++this.#generation;
    const seq = this.record.journalSeq;
    const text = formatRecord(this.record);
    this.#journal?.mark();
    const problem = await writeStore(this.#recordPath(), text, () => generation === this.#generation);
    if (generation !== this.#generation) return;
    this.#foldProblem = problem;
    if (!problem) this.#folded(seq, text);
  }

  #folded(seq: number, text: string): void {
    this.#foldedSeq = seq;
    this.#recordBytes = Buffer.byteLength(text);
    this.#journal?.dropToMark();
  }

  /** Says once that saving fails. */
  #settle(): StoreProblem | null {
    const problem = this.#journal?.problem ?? this.#foldProblem;
    if (problem && !this.#noticed) {
      this.#noticed = true;
      const { onUnsaved, onNotice } = this.#options;
      if (onUnsaved) onUnsaved(problem.reason);
      else onNotice(`This session is not being saved (${problem.reason}). Work goes on; saving is tried again.`);
    }
    return problem;
  }

  #recordPath(): string {
    return sessionFiles(this.#options.home ?? "", this.id).record;
  }

  #cancelTimer(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #letGo(): void {
    this.#cancelTimer();
    this.#journal?.close();
    this.#lock?.release();
    this.#lock = null;
  }
}
