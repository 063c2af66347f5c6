/** Completion of the word before the cursor: slash commands, their arguments, `@` paths. As in bash: the longest common prefix first, a list on the second tab. */
import type { PathIndex } from "./complete-paths.ts";

export interface Completion {
  /** Where the word begins in the text before the cursor. */
  start: number;
  /** Whole words that may stand there, sorted unless their command gives them an order. */
  candidates: readonly string[];
}

export interface CompletionSources {
  /** Names without the slash. */
  commandNames(): readonly string[];
  /** Values the argument of a command may take, in the order to show. */
  commandValues(name: string): Promise<readonly string[]>;
  paths: PathIndex;
}

/** Null where nothing can be completed. Never throws for an unknown command. */
export async function findCompletions(before: string, sources: CompletionSources): Promise<Completion | null> {
  const command = /^\/(\S*)$/.exec(before);
  if (command) return { start: 0, candidates: commandCandidates(command[1] ?? "", sources) };
  const mention = /(?:^|\s)@(\S*)$/.exec(before);
  if (mention) {
    const typed = mention[1] ?? "";
    const found = await sources.paths.find(typed);
    return { start: before.length - typed.length - 1, candidates: found.map((path) => `@${path}`) };
  }
  const argument = /^\/(\S+)\s+(.*)$/.exec(before);
  return argument ? argumentCandidates(before, argument[1] ?? "", argument[2] ?? "", sources) : null;
}

function commandCandidates(typed: string, sources: CompletionSources): string[] {
  const names = sources.commandNames().filter((name) => name.startsWith(typed));
  return names.map((name) => `/${name}`).sort();
}

async function argumentCandidates(
  before: string,
  name: string,
  typed: string,
  sources: CompletionSources,
): Promise<Completion> {
  const values = await sources.commandValues(name);
  const lower = typed.toLowerCase();
  const begins = values.filter((value) => value.toLowerCase().startsWith(lower));
  const candidates = begins.length > 0 ? begins : values.filter((value) => value.toLowerCase().includes(lower));
  return { start: before.length - typed.length, candidates };
}

export interface Step {
  /** What to put in place of the typed word; equal to it when nothing can be added. */
  word: string;
  /** Nothing more can be added: show these on the next tab. */
  list: readonly string[];
}

/** One tab's worth of progress. A finished word gets a blank, a directory none. */
export function completeStep(typed: string, candidates: readonly string[]): Step {
  const [only] = candidates;
  if (only === undefined) return { word: typed, list: [] };
  if (candidates.length === 1) return { word: only.endsWith("/") ? only : `${only} `, list: [] };
  const prefix = commonPrefix(candidates);
  // Matches by substring may have a common prefix that isn't what was typed.
  const extends_ = prefix.length > typed.length && prefix.toLowerCase().startsWith(typed.toLowerCase());
  return { word: extends_ ? prefix : typed, list: candidates };
}

/** Longest text all begin with; never ends within a surrogate pair. */
export function commonPrefix(words: readonly string[]): string {
  const [first = ""] = words;
  let length = first.length;
  for (const word of words) {
    let same = 0;
    while (same < length && word[same] === first[same]) same++;
    length = same;
  }
  const prefix = first.slice(0, length);
  return prefix.isWellFormed() ? prefix : prefix.slice(0, -1);
}
