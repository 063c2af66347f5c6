/** Finding, listing, opening and making sessions. What one session does is in session-file.ts. */
import { closeSync, openSync, readdirSync, readSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { errnoOf, messageOf } from "./errors.ts";
import { readJournal, type JournalRead } from "./journal.ts";
import { sessionFiles, sessionsDir } from "./paths.ts";
import { applyEntry, parseLine } from "./session-entry.ts";
import { SessionFile } from "./session-file.ts";
import {
  parseHeader,
  parseRecord,
  RECORD_END,
  RECORD_VERSION,
  type SessionHeader,
  type SessionRecord,
} from "./session-record.ts";
import { tryLock, type Lock } from "./store-lock.ts";
import { isTemporary, readStore } from "./store.ts";

export interface SessionDeps {
  now: () => Date;
  /** One line for a person: saving fails, a journal was damaged, a copy was made. */
  onNotice: (message: string) => void;
  /** Told the reason, once, instead of `onNotice` when saving fails. */
  onUnsaved?: (reason: string) => void;
}

export interface NewSession {
  /** Null: nothing is saved. */
  home: string | null;
  /** Absolute real path of the project. */
  cwd: string;
  provider: string;
  model: string;
}

/** A session without files yet; they come with the first message. */
export function createSession(session: NewSession, deps: SessionDeps): SessionFile {
  const now = deps.now();
  return start(session.home, { ...emptyRecord(session, now) }, deps);
}

/**
 * Opens a session to go on with it. When another live process has it, a copy is opened and `copyOf` names that one's pid.
 * `problem` is one line: missing, unreadable, corrupt; the file is left as it is.
 */
export function openSession(
  home: string,
  id: string,
  deps: SessionDeps,
): { file: SessionFile; copyOf: { pid: number | null } | null } | { problem: string } {
  if (!SESSION_ID.test(id)) return { problem: `${id}: no such session` };
  const attempt = tryLock(sessionFiles(home, id).lock);
  const loaded = loadSession(home, id);
  if ("problem" in loaded) {
    if (attempt.state === "taken") attempt.lock.release();
    return loaded;
  }
  if (loaded.damaged > 0) {
    deps.onNotice(`Session ${id}: ${loaded.damaged} damaged journal line(s) were left out.`);
  }
  if (attempt.state === "held") {
    const file = forkRecord(home, loaded.record, deps);
    return { file, copyOf: { pid: attempt.pid } };
  }
  const lock = attempt.state === "taken" ? attempt.lock : null;
  if (lock) removeLeftovers(home, id);
  const { damaged: _, ...saved } = loaded;
  const file = new SessionFile({ home, ...saved, ...deps, lock: () => lock ?? lockOf(home, id) });
  return { file, copyOf: null };
}

/** A new session from the first `turns` turns of another (all by default). Its spend starts at zero. */
export function forkSession(file: SessionFile, home: string | null, deps: SessionDeps, turns?: number): SessionFile {
  const fork = forkRecord(home, file.record, deps);
  if (turns !== undefined) fork.truncateTo(fork.messagesOfTurns(turns));
  return fork;
}

export interface LoadedSession {
  record: SessionRecord;
  journalBytes: number;
  recordBytes: number;
  /** Number of the last change in the record file; later ones come from the journal. */
  foldedSeq: number;
  damaged: number;
}

/** Reads a session whole: its record and the journal on top. Never throws, never writes. */
export function loadSession(home: string, id: string): LoadedSession | { problem: string } {
  // The id becomes a file name, and it may come from a command line.
  if (!SESSION_ID.test(id)) return { problem: `${id}: no such session` };
  const paths = sessionFiles(home, id);
  let journal: JournalRead;
  try {
    // The journal first: a fold in between moves lines into the record, where their numbers tell that they are there.
    journal = readJournal(paths.journal);
  } catch (error) {
    return { problem: `${paths.journal}: ${messageOf(error)}` };
  }
  const base = loadBase(paths.record, journal);
  if ("problem" in base) return base;
  const foldedSeq = base.record.journalSeq;
  const damaged = replay(base.record, journal.entries) + journal.damaged;
  // A copied file would be saved over the session it was copied from.
  if (base.record.id !== id)
    return { problem: `${paths.record}: holds session ${base.record.id}, not the one it is named after` };
  return { record: base.record, recordBytes: base.bytes, journalBytes: journal.goodBytes, foldedSeq, damaged };
}

export interface SessionList {
  /** Newest first. */
  sessions: SessionHeader[];
  /** Files that are no session this version can read; never touched. */
  unreadable: { path: string; reason: string }[];
}

/** Lists sessions, newest first; of one directory, or of all. Transcripts are read only where a process was killed. */
export function listSessions(home: string, query: { cwd?: string; limit?: number } = {}): SessionList {
  const list: SessionList = { sessions: [], unreadable: [] };
  for (const { id } of idsByAge(home)) {
    if (list.sessions.length >= (query.limit ?? Number.POSITIVE_INFINITY)) break;
    const header = headerOf(home, id);
    if ("problem" in header) list.unreadable.push({ path: sessionFiles(home, id).record, reason: header.problem });
    else if (query.cwd === undefined || header.cwd === query.cwd) list.sessions.push(header);
  }
  list.sessions.sort((left, right) => (left.updatedAt < right.updatedAt ? 1 : -1));
  return list;
}

/** Id of the newest session of a directory, or null; unreadable ones on the way are named. */
export function newestSession(home: string, cwd: string): { id: string | null; unreadable: SessionList["unreadable"] } {
  const list = listSessions(home, { cwd, limit: 1 });
  return { id: list.sessions[0]?.id ?? null, unreadable: list.unreadable };
}

/** Ids that begin with a prefix, newest first: none, the one, or the candidates. A whole id matches itself alone. */
export function findSessions(home: string, prefix: string): string[] {
  const ids = idsByAge(home).map((entry) => entry.id);
  const wanted = prefix.toLowerCase();
  return ids.includes(wanted) ? [wanted] : wanted === "" ? [] : ids.filter((id) => id.startsWith(wanted));
}

function start(home: string | null, record: SessionRecord, deps: SessionDeps): SessionFile {
  const lock = () => (home === null ? null : lockOf(home, record.id));
  return new SessionFile({ home, record, ...deps, lock, journalBytes: null, recordBytes: 0, foldedSeq: 0 });
}

function lockOf(home: string, id: string): Lock | null {
  const attempt = tryLock(sessionFiles(home, id).lock);
  return attempt.state === "taken" ? attempt.lock : null;
}

function emptyRecord(session: Omit<NewSession, "home">, now: Date): SessionRecord {
  const stamp = now.toISOString();
  return {
    version: RECORD_VERSION,
    id: Bun.randomUUIDv7("hex", now.getTime()),
    createdAt: stamp,
    updatedAt: stamp,
    cwd: session.cwd,
    provider: session.provider,
    model: session.model,
    title: "",
    turns: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    costUsd: null,
    spend: [],
    journalSeq: 0,
    notebook: { todos: [] },
    started: [],
    results: [],
    views: [],
    compactions: [],
    messages: [],
    extra: {},
  };
}

function forkRecord(home: string | null, record: SessionRecord, deps: SessionDeps): SessionFile {
  const { cwd, provider, model, title, notebook, messages, views, started, results, extra } = record;
  const fork = start(home, { ...emptyRecord({ cwd, provider, model }, deps.now()), title, extra }, deps);
  for (const message of messages) fork.appendMessage(message);
  for (const call of started) fork.startCall(call);
  for (const result of results) fork.recordResult(result);
  for (const view of views) fork.recordView(view);
  if (notebook.todos.length > 0) fork.setTodos(notebook.todos);
  return fork;
}

function loadBase(path: string, journal: JournalRead): { record: SessionRecord; bytes: number } | { problem: string } {
  const read = readStore(path);
  if (read.state === "missing") return baseFromJournal(path, journal);
  if (read.state !== "ok") return { problem: `${path}: ${read.reason}` };
  const parsed = parseRecord(read.value);
  if ("reason" in parsed) return { problem: `${path}: ${parsed.reason}` };
  return { record: parsed.record, bytes: Buffer.byteLength(read.text) };
}

// Killed before its first fold: the journal begins with the empty record.
function baseFromJournal(path: string, journal: JournalRead): ReturnType<typeof loadBase> {
  const first = parseLine(journal.entries[0]);
  if (first?.t === "open") return { record: { ...first.record, journalSeq: 0 }, bytes: 0 };
  return { problem: journal.goodBytes === 0 ? `${path}: no such session` : `${path}: the journal lacks its beginning` };
}

/** Applies what the record does not contain yet. Returns how many lines could not be used. */
function replay(record: SessionRecord, entries: readonly unknown[]): number {
  let unusable = 0;
  for (const entry of entries) {
    const line = parseLine(entry);
    if (!line) unusable++;
    else if (line.n > record.journalSeq) applyEntry(record, line);
  }
  return unusable;
}

function headerOf(home: string, id: string): SessionHeader | { problem: string } {
  const paths = sessionFiles(home, id);
  const journalSize = statSync(paths.journal, { throwIfNoEntry: false })?.size ?? 0;
  const header = journalSize === 0 ? readHeader(paths.record) : null;
  if (header?.id === id) return header;
  const loaded = loadSession(home, id);
  return "problem" in loaded ? loaded : loaded.record;
}

// Room for the fixed fields and some dozens of models; a longer header is read with the whole file.
const HEADER_BYTES = 16 * 1024;

/** The header alone, where the file is whole and in our layout; else null. */
function readHeader(path: string): SessionHeader | null {
  let file: number | null = null;
  try {
    file = openSync(path, "r");
    const head = Buffer.alloc(HEADER_BYTES);
    const length = readSync(file, head, 0, HEADER_BYTES, 0);
    const end = Buffer.alloc(RECORD_END.length);
    const size = statSync(path).size;
    readSync(file, end, 0, end.length, Math.max(0, size - end.length));
    const lineEnd = head.indexOf(0x0a);
    if (lineEnd < 0 || lineEnd >= length || end.toString() !== RECORD_END) return null;
    return parseHeader(head.toString("utf8", 0, lineEnd));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    // The full load says what is wrong with it.
    return null;
  } finally {
    if (file !== null) closeSync(file);
  }
}

const SESSION_NAME = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(json|journal)$/;
const SESSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function idsByAge(home: string): { id: string; changedMs: number }[] {
  const newest = new Map<string, number>();
  for (const name of namesIn(sessionsDir(home))) {
    const id = SESSION_NAME.exec(name)?.[1];
    if (!id) continue;
    const changedMs = statSync(join(sessionsDir(home), name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    newest.set(id, Math.max(changedMs, newest.get(id) ?? 0));
  }
  const entries = Array.from(newest, ([id, changedMs]) => ({ id, changedMs }));
  return entries.sort((left, right) => right.changedMs - left.changedMs || (left.id < right.id ? 1 : -1));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    // No directory yet, or none that may be read: no sessions.
    return [];
  }
}

/** Unfinished files that a killed process left beside its record. */
function removeLeftovers(home: string, id: string): void {
  for (const name of namesIn(sessionsDir(home))) {
    if (!name.startsWith(`.${id}.`) || !isTemporary(name)) continue;
    try {
      unlinkSync(join(sessionsDir(home), name));
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      // It stays; it does no harm.
    }
  }
}
