/** The approval prompt as text, and what a key means at it. Shows exactly what will run; asks and decides nothing itself. */
import type { ApprovalPrompt } from "./approval.ts";
import { diffView } from "./diff-view.ts";
import type { Key } from "./keys.ts";
import { type Colours, coloursOf } from "./render-colours.ts";
import { marksOf } from "./render-lines.ts";
import { escapeForApproval, sanitizeLine } from "./sanitize.ts";
import type { TerminalTraits } from "./terminal-traits.ts";
import { cutHead, cutMiddle, cutTail } from "./text.ts";
import { wrapWords } from "./text-wrap.ts";
import type { EscalationChoice } from "./tool.ts";

export type ApprovalKey =
  "once" | "always" | "deny" | "word" | "view" | "stop" | { choice: EscalationChoice["name"] } | null;

/** More lines than this, and the rest waits for `v`. */
const FOLD_LINES = 10;
const FOLD_CHARS = 2000;
const DIFF_LINES = 30;
/** The command stands above in full; here it is only told apart from the others. */
const ONCE_CHARS = 160;

/** `whole`: nothing folded, for `v`. `columns`: where the rule is wrapped; what will run never is. Ends in a line end. */
export function approvalBlock(
  prompt: ApprovalPrompt,
  traits: TerminalTraits,
  whole = false,
  columns = Number.POSITIVE_INFINITY,
): string {
  const colours = coloursOf(traits);
  return [
    `${colours.bold(colours.yellow(whatIsAsked(prompt, traits)))}\n`,
    // Its name stands above.
    ...(prompt.subject === prompt.tool && prompt.details ? [] : subjectLines(prompt, traits, whole, colours)),
    ...(prompt.details === undefined ? [] : quotedLines(prompt.details.split("\n"), traits, whole, colours)),
    prompt.diff ? approvalDiff(prompt.diff, traits, whole, colours) : "",
    prompt.rule === "" ? "" : `${wrapWords(`${ruleLabel(prompt)}${escapeInline(prompt.rule, colours)}`, columns)}\n`,
    ...(prompt.choices?.map((choice) => choiceLine(choice, columns, colours)) ?? grantLines(prompt, traits, colours)),
  ].join("");
}

function ruleLabel({ choices }: ApprovalPrompt): string {
  return choices === undefined ? "rule: " : "";
}

/** The path in it stands as exactly as what will run. */
function choiceLine({ key, text }: EscalationChoice, columns: number, colours: Colours): string {
  return `${wrapWords(`  ${key}  ${escapeInline(text, colours)}`, columns)}\n`;
}

function whatIsAsked({ tool, worker, agent, choices }: ApprovalPrompt, traits: TerminalTraits): string {
  const name = sanitizeLine(tool, traits);
  if (choices !== undefined) {
    const whose = agent === undefined ? "" : ` (subagent ${sanitizeLine(agent, traits)})`;
    return `the sandbox stopped ${name}${whose}: run it again?`;
  }
  if (!worker && agent === undefined) return `allow ${name}?`;
  const label = agent === undefined ? "" : ` (${sanitizeLine(agent, traits)})`;
  return `a ${worker ? "worker " : ""}subagent${label} wants to use ${name}`;
}

/** The keys that may be pressed. */
export function approvalKeys(prompt: ApprovalPrompt, traits: TerminalTraits): string {
  if (prompt.choices !== undefined) {
    const own = prompt.choices.map(({ key, label }) => `${key} ${label}`);
    return [...own, "n leave it", "f leave it with a word", "v view whole"].join(marksOf(traits).dot + " ");
  }
  const parts = ["y once", ...alwaysKey(prompt, traits), "n deny", "f deny with a word", "v view whole"];
  return parts.join(marksOf(traits).dot + " ");
}

function alwaysKey(prompt: ApprovalPrompt, traits: TerminalTraits): string[] {
  const patterns = [...new Set(prompt.grants.flatMap((grant) => (grant.pattern === null ? [] : [grant.pattern])))];
  const [only] = patterns;
  if (only === undefined) return [];
  return [patterns.length === 1 ? `a always ${escapeInline(only, coloursOf(traits))}` : "a always these"];
}

/** True when `a` has something to grant. */
export function grantable(prompt: ApprovalPrompt): boolean {
  return prompt.grants.some((grant) => grant.pattern !== null);
}

/**
 * A press of its own only: of a read that holds more, the first key counts if enter follows it, and anything
 * longer was pasted or typed ahead and denies. Null: not an answer, keep asking.
 */
export function readApprovalKeys(keys: readonly Key[], prompt: ApprovalPrompt): ApprovalKey {
  const [first, second] = keys;
  if (!first) return null;
  if (first.type === "paste") return "deny";
  if (first.type === "key") return keyMeaning(first.id);
  const alone = keys.length === 1 || (keys.length === 2 && second?.type === "key" && second.id === "enter");
  return alone ? readApprovalWord(first.text, prompt, 1) : "deny";
}

/** For plain mode too, where a letter or its word comes with enter. */
export function readApprovalWord(text: string, prompt: ApprovalPrompt, maxChars = 6): ApprovalKey {
  const word = text.trim().toLowerCase();
  if (word.length > maxChars) return "deny";
  if (prompt.choices !== undefined && word !== "f" && word !== "v") return choiceOf(word, prompt.choices);
  if (word === "y" || word === "yes") return "once";
  if (word === "a" || word === "always") return grantable(prompt) ? "always" : null;
  if (word === "f") return "word";
  if (word === "v" || word === "view") return "view";
  return word === "" || word === "n" || word === "no" ? "deny" : null;
}

/** No key of an ordinary approval takes one: what is pressed out of habit must not. */
function choiceOf(word: string, choices: readonly EscalationChoice[]): ApprovalKey {
  const chosen = choices.find(({ key, name }) => word === key || word === name);
  if (chosen) return { choice: chosen.name };
  return word === "" || word === "n" || word === "no" ? "deny" : null;
}

function keyMeaning(id: string): ApprovalKey {
  if (id === "enter" || id === "ctrl-d") return "deny";
  return id === "escape" || id === "ctrl-c" ? "stop" : null;
}

function subjectLines(prompt: ApprovalPrompt, traits: TerminalTraits, whole: boolean, colours: Colours): string[] {
  // Only a command's line ends mean something; in a name they are characters to be seen.
  return quotedLines(prompt.tool === "bash" ? prompt.subject.split("\n") : [prompt.subject], traits, whole, colours);
}

function quotedLines(lines: string[], traits: TerminalTraits, whole: boolean, colours: Colours): string[] {
  const shown = whole || lines.length <= FOLD_LINES ? lines : lines.slice(0, FOLD_LINES - 2);
  const { gutter, dots } = marksOf(traits);
  const text = shown.map((line) => `  ${gutter} ${exactly(line, whole, colours)}\n`);
  if (shown.length === lines.length) return text;
  return [...text, `  ${gutter} ${colours.dim(`${dots} ${lines.length - shown.length} more lines, v to view`)}\n`];
}

/** Both ends of a long line stay: what is appended far to the right must be seen. */
function exactly(line: string, whole: boolean, colours: Colours): string {
  if (whole || line.length <= FOLD_CHARS) return escapeInline(line, colours);
  const head = cutHead(line, FOLD_CHARS / 2).text;
  const tail = cutTail(line, FOLD_CHARS / 4).text;
  const left = line.length - head.length - tail.length;
  return `${escapeInline(head, colours)}${colours.inverse(`[${left} characters, v to view]`)}${escapeInline(tail, colours)}`;
}

function escapeInline(text: string, colours: Colours): string {
  const mark = (escaped: string) => colours.inverse(escaped);
  return text
    .split("\n")
    .map((line) => escapeForApproval(line, mark))
    .join(mark("\\n"));
}

function approvalDiff(diff: string, traits: TerminalTraits, whole: boolean, colours: Colours): string {
  return diffView(diff, {
    ...traits,
    maxLines: whole ? Number.POSITIVE_INFINITY : DIFF_LINES,
    rest: "v to view",
    escape: (line) => escapeInline(line, colours),
  });
}

/** A single pattern stands beside its key; several commands may share one. */
function grantLines(prompt: ApprovalPrompt, traits: TerminalTraits, colours: Colours): string[] {
  const gap = () => ` ${marksOf(traits).dots} `;
  const lines = prompt.grants.map((grant) =>
    grant.pattern === null
      ? `once only: ${escapeInline(cutMiddle(grant.text, ONCE_CHARS, gap).text, colours)}\n`
      : `always would allow: ${escapeInline(grant.pattern, colours)}\n`,
  );
  const unique = [...new Set(lines)];
  return unique.length === 1 && grantable(prompt) ? [] : unique;
}
