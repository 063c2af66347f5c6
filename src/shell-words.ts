/** Words expanded as far as the line tells: quote removal, known variables, braces, splitting (bash(1) "EXPANSION"). No files, no environment. */
import { expandBraces } from "./shell-braces.ts";
import { lookUp, MAX_VALUES, type Variables } from "./shell-state.ts";
import { shapeOf, type Part, type RawWord } from "./shell-tree.ts";
import type { Field, Known, SimpleCommand, Word } from "./shell-types.ts";

/** Text of one reading of a word. */
interface Piece {
  text: string;
  /** Wildcards in it are literal. */
  quoted: boolean;
  /** Comes from an unquoted variable: blanks end the argument. */
  splits: boolean;
}

export interface Expansion {
  variables: Variables;
  /** False once the line sets IFS: nobody knows where unquoted values are split. */
  splits: boolean;
  /** Characters of variables' values that may still be filled in. */
  budget: number;
  /** What substitutions print as far as the line tells; a candidate, never certain. */
  outputs: Map<Part, string>;
}

/** A bracket that isn't closed is a character, as in the command `[`. */
const WILDCARD = /[*?]|\[[^]*\]/;

const UNKNOWN: Known = { values: [], exact: false };

/** How a word's place treats it: an argument may become several, an assigned value or a target stays one. */
export type Place = "argument" | "value";

/** Expands one word. `substitutions` are the commands found in its parts. */
export function expandWord(raw: RawWord, place: Place, known: Expansion, substitutions: SimpleCommand[]): Word {
  const { alternatives, complete } = expandAll(raw.parts, place, known);
  const only = alternatives.length === 1 && complete ? alternatives[0] : undefined;
  const value = only?.length === 1 ? (only[0]?.value ?? null) : null;
  return {
    text: raw.text,
    value,
    shape: value ?? shapeOf(raw.parts),
    dynamic: !complete,
    quoted: raw.parts.some((part) => part.quoted) || /["'\\]/.test(raw.text),
    glob: raw.parts.some((part) => part.kind === "text" && !part.quoted && WILDCARD.test(part.value)),
    alternatives,
    substitutions,
    start: raw.start,
    end: raw.end,
  };
}

/** The texts that quoted parts (a here-document's body) may stand for. */
export function expandText(parts: readonly Part[], known: Expansion): Known {
  const readings = combine(parts, known);
  return {
    values: readings.pieces.map((pieces) => pieces.map((piece) => piece.text).join("")),
    exact: readings.complete,
  };
}

/** Every value the words may give a variable. `matched`: wildcards in them stand for files, as they do in a list but not in an assignment. */
export function valuesOf(words: readonly Word[], matched: boolean): Known {
  const fields = words.flatMap((word) => word.alternatives.flat());
  const values = [...new Set(fields.map((field) => field.value))];
  const globs = matched && fields.some((field) => field.pattern !== null);
  const exact = !globs && values.length <= MAX_VALUES && words.every((word) => !word.dynamic);
  return { values: values.slice(0, MAX_VALUES), exact, globs };
}

interface Expanded {
  alternatives: Field[][];
  complete: boolean;
}

function expandAll(parts: readonly Part[], place: Place, known: Expansion): Expanded {
  const words = place === "argument" ? expandBraces(parts) : [[...parts]];
  if (words === null || words.some(joinsName)) return { alternatives: [], complete: false };
  let result: Expanded = { alternatives: [[]], complete: true };
  for (const word of words) result = append(result, expandReadings(word, place, known));
  return result;
}

/** `$X{a,b}`: bash opens the braces first, so that the variables are `Xa` and `Xb`. */
function joinsName(parts: readonly Part[]): boolean {
  return parts.some((part, at) => {
    const next = parts[at + 1];
    if (part.kind !== "variable" || !/^\$[A-Za-z_]\w*$/.test(part.source)) return false;
    return next?.kind === "text" && next.quoted === part.quoted && /^\w/.test(next.value);
  });
}

function append(before: Expanded, { alternatives, complete }: Expanded): Expanded {
  const all = before.alternatives.length * alternatives.length <= MAX_VALUES;
  const joined = before.alternatives.flatMap((fields) => alternatives.map((more) => [...fields, ...more]));
  return { alternatives: all ? joined : joined.slice(0, MAX_VALUES), complete: before.complete && complete && all };
}

function expandReadings(parts: readonly Part[], place: Place, known: Expansion): Expanded {
  const { pieces, complete } = combine(parts, known);
  const tilde = parts[0]?.kind === "text" && !parts[0].quoted && parts[0].value.startsWith("~");
  const alternatives = pieces.map((reading) =>
    place === "value" ? [asField(reading, tilde)] : splitFields(reading, tilde),
  );
  return { alternatives, complete: complete && (known.splits || place === "value" || !parts.some(isUnquotedVariable)) };
}

function isUnquotedVariable(part: Part): boolean {
  return part.kind === "variable" && !part.quoted;
}

/** Every combination of what the parts may stand for; none when one of them is unknown. */
function combine(parts: readonly Part[], known: Expansion): { pieces: Piece[][]; complete: boolean } {
  let pieces: Piece[][] = [[]];
  let complete = true;
  for (const part of parts) {
    const { values, exact, globs } = partValues(part, known);
    const splits = part.kind !== "text" && !part.quoted;
    complete &&= exact && pieces.length * values.length <= MAX_VALUES;
    if (values.length === 1) pushAll(pieces, { text: values[0] ?? "", quoted: part.quoted && globs !== true, splits });
    else pieces = multiply(pieces, values, { quoted: part.quoted && globs !== true, splits });
  }
  return { pieces, complete };
}

function pushAll(readings: Piece[][], piece: Piece): void {
  for (const reading of readings) reading.push(piece);
}

function multiply(readings: Piece[][], values: readonly string[], how: Omit<Piece, "text">): Piece[][] {
  const kept = readings.slice(0, Math.max(1, Math.floor(MAX_VALUES / Math.max(1, values.length))));
  return kept.flatMap((reading) => values.map((text) => [...reading, { text, ...how }]));
}

function partValues(part: Part, known: Expansion): Known {
  switch (part.kind) {
    case "text":
      return { values: [part.value], exact: true };
    case "variable":
      return variableValues(part, known);
    case "commands": {
      const text = known.outputs.get(part);
      return text === undefined ? UNKNOWN : { values: [text], exact: false };
    }
    case "arithmetic":
      return UNKNOWN;
    default:
      return part satisfies never;
  }
}

function variableValues(part: Extract<Part, { kind: "variable" }>, known: Expansion): Known {
  if (part.operator === "?") return UNKNOWN;
  const value = lookUp(known.variables, part.name);
  // Values of values double with every assignment: a line that grows like that is no longer followed.
  known.budget -= value.values.reduce((sum, text) => sum + text.length, 1);
  if (known.budget < 0) return UNKNOWN;
  if (part.operator === "[]") return { ...value, exact: false };
  return part.operator === "" ? value : withDefault(value, part.operator, expandText(part.operand, known));
}

/** `${x:-other}`, `${x:+other}` and their like. */
function withDefault(value: Known, operator: string, other: Known): Known {
  if (operator.endsWith("+")) return { values: [...other.values, ""], exact: false };
  const set = value.values.filter((text) => text !== "");
  // Known to be set and not empty: the other word isn't looked at.
  if (value.exact && set.length === value.values.length) return value;
  const values = [...new Set([...set, ...other.values])].slice(0, MAX_VALUES);
  return { values, exact: value.exact && other.exact && operator.startsWith(":") };
}

function asField(pieces: readonly Piece[], tilde: boolean): Field {
  const value = pieces.map((piece) => piece.text).join("");
  const wild = pieces.some((piece) => !piece.quoted && WILDCARD.test(piece.text));
  return { value, pattern: wild ? pieces.map(patternOf).join("") : null, tilde };
}

function patternOf({ text, quoted }: Piece): string {
  return quoted ? text.replace(/[*?[\]\\]/g, "\\$&") : text;
}

/** Splits at the blanks of unquoted variables; an argument of quotes alone is kept, one of nothing isn't. */
function splitFields(pieces: readonly Piece[], tilde: boolean): Field[] {
  const fields: Piece[][] = [];
  let field: Piece[] | null = null;
  for (const piece of pieces) {
    const texts = piece.splits ? piece.text.split(/[ \t\n]+/) : [piece.text];
    texts.forEach((text, index) => {
      if (index > 0 && field) fields.push(field);
      if (index > 0) field = null;
      if (text === "" && piece.splits) return;
      field ??= [];
      field.push({ ...piece, text });
    });
  }
  if (field) fields.push(field);
  return fields.map((each, index) => asField(each, tilde && index === 0));
}
