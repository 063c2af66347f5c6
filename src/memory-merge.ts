/** Tidying project memory with a model's help: what to ask and what to accept of the answer. Calls nobody. */
import * as v from "valibot";
import { MAX_NOTE_CHARS, NOTE_KINDS, type Memory, type Note, type NoteKind } from "./memory.ts";
import { oneLine } from "./text.ts";

export interface MergeRequest {
  system: string;
  prompt: string;
  /** Ids of the notes in the prompt: notes that were ever recalled are not among them and stay as they are. */
  ids: string[];
}

export type MergeOutcome = { state: "merged"; before: number; after: number } | { state: "untouched"; reason: string };

const SYSTEM = `You tidy the notes a coding agent keeps about a project. Merge notes that say the same, drop those that another contradicts and is newer, shorten what is wordy. Keep every fact that stands alone; add none. Each note is one self-contained line of at most ${MAX_NOTE_CHARS} characters. Answer with JSON alone: [{"kind":"${NOTE_KINDS.join('"|"')}","text":"…"}]`;

/** The request, or null when there are fewer than two notes that may be merged. */
export function mergeRequest(notes: readonly Note[]): MergeRequest | null {
  const open = notes.filter((note) => note.hits === 0);
  if (open.length < 2) return null;
  const lines = open.map(({ kind, text, createdAt }) => JSON.stringify({ kind, text, noted: createdAt.slice(0, 10) }));
  return { system: SYSTEM, prompt: `Notes, oldest first:\n${lines.join("\n")}`, ids: open.map((note) => note.id) };
}

/** Accepts an answer or leaves the store untouched: no JSON, nothing in it, more notes than before, a note that is none. */
export async function applyMerge(memory: Memory, request: MergeRequest, answer: string): Promise<MergeOutcome> {
  const merged = parseMerged(answer);
  if (!merged) return { state: "untouched", reason: "the model's answer holds no usable list of notes" };
  if (merged.length > request.ids.length)
    return { state: "untouched", reason: "the model's list is longer than before" };
  const before = memory.list().length;
  const done = await memory.replace(request.ids, merged);
  if (!done) return { state: "untouched", reason: memory.problem ?? "the notes could not be saved" };
  return { state: "merged", before, after: memory.list().length };
}

const answerSchema = v.pipe(
  v.array(
    v.object({
      kind: v.picklist(NOTE_KINDS),
      text: v.pipe(v.string(), v.transform(oneLineOf), v.minLength(1), v.maxLength(MAX_NOTE_CHARS)),
    }),
  ),
  v.minLength(1),
);

function parseMerged(answer: string): { kind: NoteKind; text: string }[] | null {
  const start = answer.indexOf("[");
  const end = answer.lastIndexOf("]");
  if (start < 0 || end < start) return null;
  try {
    const parsed = v.safeParse(answerSchema, JSON.parse(answer.slice(start, end + 1)));
    return parsed.success ? parsed.output : null;
  } catch {
    // Not JSON: unusable, as the caller says.
    return null;
  }
}

function oneLineOf(text: string): string {
  return oneLine(text);
}
