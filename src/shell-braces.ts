/** Brace expansion (bash(1) "Brace Expansion"), which comes before every other. Works on parts of words; the rest of expansion is in shell-words.ts. */
import type { Part } from "./shell-tree.ts";

/** More words than this from one are as good as unknown. */
const MAX_WORDS = 64;

/** A character that may be part of a brace expression, or anything that can't be. */
type Atom = string | Part;

/** Each brace is looked at by itself: a word with more of them isn't a list of names. */
const MAX_BRACES = 100;

/** The words a word becomes; null when they are too many to follow. */
export function expandBraces(parts: readonly Part[]): Part[][] | null {
  if (!parts.some((part) => part.kind === "text" && !part.quoted && part.value.includes("{"))) return [[...parts]];
  const atoms = parts.flatMap((part): Atom[] => (part.kind === "text" && !part.quoted ? [...part.value] : [part]));
  if (atoms.filter((atom) => atom === "{").length > MAX_BRACES) return null;
  const words = expandRange(atoms, 0, atoms.length);
  return words && words.map(toParts);
}

interface Brace {
  close: number;
  commas: number[];
}

/** What closes the brace at `open`. A `}` before the first comma or `..` is a character like others, as in bash. */
function closeOf(atoms: readonly Atom[], open: number, to: number): Brace | null {
  const commas: number[] = [];
  let depth = 0;
  let range = false;
  for (let at = open + 1; at < to; at++) {
    const atom = atoms[at];
    if (atom === "{") depth++;
    else if (atom === "}" && depth > 0) depth--;
    else if (atom === "}" && (commas.length > 0 || range)) return { close: at, commas };
    else if (atom === "," && depth === 0) commas.push(at);
    else if (atom === "." && atoms[at + 1] === "." && depth === 0) range = true;
  }
  return null;
}

function expandRange(atoms: readonly Atom[], from: number, to: number): Atom[][] | null {
  let words: Atom[][] = [[]];
  for (let at = from; at < to; at++) {
    const brace = atoms[at] === "{" && !(at === 0 && atoms[1] === "}") ? closeOf(atoms, at, to) : null;
    const end = brace?.close ?? at;
    const choices = brace ? expandBrace(atoms, at, brace) : [atoms.slice(at, at + 1)];
    if (choices === null || words.length * choices.length > MAX_WORDS) return null;
    if (choices.length === 1) appendAll(words, choices[0] ?? []);
    else words = words.flatMap((word) => choices.map((choice) => [...word, ...choice]));
    at = end;
  }
  return words;
}

function appendAll(words: Atom[][], atoms: readonly Atom[]): void {
  for (const word of words) for (const atom of atoms) word.push(atom);
}

/** What a pair stands for; null for a sequence that is none, of which bash makes various things. */
function expandBrace(atoms: readonly Atom[], open: number, { close, commas }: Brace): Atom[][] | null {
  if (commas.length === 0) return expandSequence(atoms.slice(open + 1, Math.min(close, open + 60)));
  if (commas.length >= MAX_WORDS) return null;
  const edges = [open, ...commas, close];
  const choices: Atom[][] = [];
  for (let index = 1; index < edges.length; index++) {
    const inner = expandRange(atoms, (edges[index - 1] ?? 0) + 1, edges[index] ?? 0);
    if (inner === null) return null;
    choices.push(...inner);
  }
  return choices.length > MAX_WORDS ? null : choices;
}

function expandSequence(atoms: readonly Atom[]): Atom[][] | null {
  const text = atoms.every((atom) => typeof atom === "string") ? atoms.join("") : "";
  const [, from, to, step] = /^(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?$/.exec(text) ?? [];
  if (from === undefined || to === undefined) return null;
  const letters = /[A-Za-z]/.test(from);
  if (letters !== /[A-Za-z]/.test(to)) return null;
  const [first, last] = letters ? [from.charCodeAt(0), to.charCodeAt(0)] : [Number(from), Number(to)];
  const numbers = countUp(first, last, Math.abs(Number(step ?? 1)) || 1);
  // Leading zeros pad every number to one width.
  const width = /^-?0\d/.test(from) || /^-?0\d/.test(to) ? Math.max(from.length, to.length) : 0;
  return numbers && numbers.map((number) => [letters ? String.fromCharCode(number) : padded(number, width)]);
}

function countUp(first: number, last: number, step: number): number[] | null {
  const count = Math.floor(Math.abs(last - first) / step) + 1;
  if (!(count <= MAX_WORDS)) return null;
  return Array.from({ length: count }, (_, index) => first + index * (last < first ? -step : step));
}

function padded(number: number, width: number): string {
  const digits = String(Math.abs(number));
  return number < 0 ? `-${digits.padStart(width - 1, "0")}` : digits.padStart(width, "0");
}

function toParts(atoms: readonly Atom[]): Part[] {
  const parts: Part[] = [];
  for (const atom of atoms) {
    const last = parts.at(-1);
    if (typeof atom !== "string") parts.push(atom);
    else if (last?.kind === "text" && !last.quoted) parts[parts.length - 1] = { ...last, value: last.value + atom };
    else parts.push({ kind: "text", value: atom, quoted: false });
  }
  return parts;
}
