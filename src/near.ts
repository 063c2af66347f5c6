/** What a model probably meant: close file names, and the lines nearest to a text that was not found. Pure; never used to decide an edit. */
import { nearestName } from "./nearest.ts";

/** Up to three of `names` that resemble `wanted`, best first. */
export function closeNames(wanted: string, names: readonly string[]): string[] {
  const left = new Set(names.slice(0, MAX_NAMES));
  const found: string[] = [];
  while (found.length < 3) {
    const name = nearestName(wanted, left) ?? sharedStem(wanted, left);
    if (name === null) break;
    found.push(name);
    left.delete(name);
  }
  return found;
}

// Directories beyond this are compared in part: a suggestion must not cost more than the read that failed.
const MAX_NAMES = 5_000;

function sharedStem(wanted: string, names: Iterable<string>): string | null {
  const stem = wanted.toLowerCase().replace(/\.[^.]*$/, "");
  if (stem.length < 3) return null;
  for (const name of names) if (name.toLowerCase().includes(stem)) return name;
  return null;
}

const MAX_SHOWN_LINES = 40;
const MAX_SHOWN_CHARS = 300;

/** Why a text was not found, with the lines that were probably meant, numbered; null when nothing comes near. */
export function describeNear(text: string, wanted: string): string | null {
  const near = nearestLines(text, wanted);
  if (near === null) return null;
  const why = near.sameButForm ? "These lines differ in white space or punctuation only" : "The nearest lines are";
  const lines = text.split("\n").slice(near.first - 1, Math.min(near.last, near.first + MAX_SHOWN_LINES - 1));
  const shown = lines.map((line, index) => `${near.first + index}\t${line.slice(0, MAX_SHOWN_CHARS)}`);
  return `${why}:\n${shown.join("\n")}`;
}

export interface NearLines {
  /** 1-based. */
  first: number;
  last: number;
  /** True when only white space, line endings, quotes or dashes differ. */
  sameButForm: boolean;
}

/**
 * The lines of `text` nearest to `wanted`: a unique place that differs in form only, else the block
 * with the most lines in common, else the most similar single line. Null when nothing is worth showing.
 */
export function nearestLines(text: string, wanted: string): NearLines | null {
  const lines = text.split("\n").map(normalise);
  const block = trimBlank(wanted.split("\n").map(normalise));
  if (block.length === 0 || lines.length > MAX_LINES) return null;
  const places = placesOf(lines, block);
  if (places.length === 1) return span(places[0] ?? 0, block, true);
  if (places.length > 1) return null;
  const shared = mostShared(lines, block);
  if (shared !== null) return span(Math.max(0, shared), block, false);
  const similar = block.length === 1 ? mostSimilar(lines, block[0] ?? "") : null;
  return similar === null ? null : span(similar, block, false);
}

// A miss in a longer file is answered without a hint.
const MAX_LINES = 200_000;

function span(start: number, block: readonly string[], sameButForm: boolean): NearLines {
  return { first: start + 1, last: start + block.length, sameButForm };
}

/** A line without the differences that models make unknowingly. */
function normalise(line: string): string {
  if (PLAIN.test(line)) return line.replace(/\s+/g, " ").trim();
  const form = line
    .normalize("NFKC")
    .replace(/[‘’‚‛′]/g, "'")
    .replace(/[“”„‟″«»]/g, '"');
  return form
    .replace(/[‐‑‒–—―−]/g, "-")
    .replace(/\s+/g, " ")
    .trim();
}

const PLAIN = /^[\x00-\x7f]*$/;

function trimBlank(lines: string[]): string[] {
  const first = lines.findIndex((line) => line !== "");
  if (first < 0) return [];
  return lines.slice(first, lines.findLastIndex((line) => line !== "") + 1);
}

/** Where the block stands: its first line may begin, and its last line may end, in the middle of a line. */
function placesOf(lines: readonly string[], block: readonly string[]): number[] {
  const places: number[] = [];
  for (let start = 0; start + block.length <= lines.length && places.length < 2; start++)
    if (standsAt(lines, block, start)) places.push(start);
  return places;
}

function standsAt(lines: readonly string[], block: readonly string[], start: number): boolean {
  const first = block[0] ?? "";
  if (block.length === 1) return (lines[start] ?? "").includes(first);
  if (!(lines[start] ?? "").endsWith(first)) return false;
  if (!(lines[start + block.length - 1] ?? "").startsWith(block.at(-1) ?? "")) return false;
  for (let at = 1; at < block.length - 1; at++) if (lines[start + at] !== block[at]) return false;
  return true;
}

/** Each line that both have votes for where the block would begin; half of the lines must agree. */
function mostShared(lines: readonly string[], block: readonly string[]): number | null {
  if (block.length < 2) return null;
  const offsets = offsetsOf(block);
  const votes = new Map<number, number>();
  let best: number | null = null;
  lines.forEach((line, index) => {
    for (const offset of offsets.get(line) ?? []) {
      const start = index - offset;
      votes.set(start, (votes.get(start) ?? 0) + 1);
      if (best === null || (votes.get(start) ?? 0) > (votes.get(best) ?? 0)) best = start;
    }
  });
  return best !== null && (votes.get(best) ?? 0) * 2 >= block.filter((line) => line.length > 2).length ? best : null;
}

/** Blank lines and lone brackets stand everywhere, and so do lines repeated often: they would cost much and say nothing. */
function offsetsOf(block: readonly string[]): Map<string, number[]> {
  const offsets = new Map<string, number[]>();
  block.forEach((line, offset) => {
    const known = offsets.get(line) ?? [];
    if (line.length > 2 && known.length < 8) offsets.set(line, [...known, offset]);
  });
  return offsets;
}

function mostSimilar(lines: readonly string[], wanted: string): number | null {
  if (wanted.length < 4 || lines.length > 20_000) return null;
  const grams = pairsOf(wanted);
  let best = { index: -1, score: 0.6 };
  lines.forEach((line, index) => {
    if (line.length > wanted.length * 3) return;
    const score = similarity(grams, pairsOf(line));
    if (score > best.score) best = { index, score };
  });
  return best.index < 0 ? null : best.index;
}

function pairsOf(text: string): Set<string> {
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < text.length && at < 400; at++) pairs.add(text.slice(at, at + 2));
  return pairs;
}

/** Dice coefficient. */
function similarity(a: Set<string>, b: Set<string>): number {
  let shared = 0;
  for (const pair of a) if (b.has(pair)) shared++;
  return a.size + b.size === 0 ? 0 : (2 * shared) / (a.size + b.size);
}
