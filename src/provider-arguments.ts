/** Arguments of a tool call as providers send them, made into an object or a reason. Pure. */
import { isObject, parseJson } from "./provider-errors.ts";
import type { Json, JsonObject, ToolCallPart } from "./types.ts";

export type Arguments = Pick<ToolCallPart, "input" | "inputError">;

/** What a model is told of a call that the token limit cut. */
export const CUT_MESSAGE =
  "The call was cut off before its arguments were complete (the answer reached its token limit), so it was not run. Do the work in smaller parts.";

/**
 * Reads arguments: an object as it is; text as JSON, also when encoded twice; nothing, null, blanks or an empty list
 * (how PHP writes an empty object) as `{}`.
 * Text that stops in the middle is `truncated`, anything else that is no object is `invalid`. Never throws.
 */
export function readArguments(raw: Json | undefined): Arguments {
  if (raw === undefined || raw === null) return { input: {} };
  if (isObject(raw)) return { input: raw };
  if (Array.isArray(raw) && raw.length === 0) return { input: {} };
  if (typeof raw !== "string")
    return invalid(`The arguments are ${Array.isArray(raw) ? "a list" : `a ${typeof raw}`}, not a JSON object.`);
  return readText(raw);
}

function readText(text: string): Arguments {
  if (text.trim() === "") return { input: {} };
  const value = parseLoose(text);
  if (value === undefined)
    return isCut(text)
      ? { input: {}, inputError: { kind: "truncated", message: CUT_MESSAGE } }
      : invalid("The arguments are not valid JSON.");
  // Encoded twice: the text of a text.
  return typeof value === "string" ? readInner(value) : readArguments(value);
}

/** `{}{"a":1}`: a placeholder before the arguments proper; or the same arguments sent in pieces and then once more. */
function parseRepeated(text: string): Json | undefined {
  const whole = text.trim();
  if (whole.startsWith("{}")) return parseJson(whole.slice(2));
  const half = whole.length / 2;
  const twice = Number.isInteger(half) && whole.slice(0, half) === whole.slice(half);
  return twice ? parseJson(whole.slice(0, half)) : undefined;
}

/** Undefined is no JSON; null is a value of its own. */
function parseLoose(text: string): Json | undefined {
  const value = parseJson(text);
  if (value !== undefined) return value;
  return parseJson(escapeControls(text)) ?? parseRepeated(text);
}

function readInner(text: string): Arguments {
  if (text.trim() === "") return { input: {} };
  const value = parseJson(text);
  return isObject(value) ? { input: value } : invalid("The arguments are a text, not a JSON object.");
}

const invalid = (message: string): Arguments => ({ input: {}, inputError: { kind: "invalid", message } });

/** True when the text could be the start of JSON: a string or a bracket is still open at its end. */
function isCut(text: string): boolean {
  const scan = new BracketScan();
  scan.push(text);
  return /^\s*[{["]/.test(text) && scan.isOpen;
}

/** Counts brackets of JSON that comes in pieces, strings left aside. Linear, however often it is asked. */
export class BracketScan {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #seen = false;

  push(text: string): void {
    for (const char of text) {
      if (this.#escaped) this.#escaped = false;
      else if (this.#inString) this.#inside(char);
      else if (char === '"') this.#inString = true;
      else if (char === "{" || char === "[") [this.#depth, this.#seen] = [this.#depth + 1, true];
      else if (char === "}" || char === "]") this.#depth--;
    }
  }

  #inside(char: string): void {
    if (char === "\\") this.#escaped = true;
    else if (char === '"') this.#inString = false;
  }

  get isOpen(): boolean {
    return this.#inString || this.#depth > 0;
  }

  /** A bracket was opened, and all of them are closed again. */
  get isWhole(): boolean {
    return this.#seen && !this.isOpen;
  }
}

/** Some models write line ends and tabs into JSON strings as they are. */
function escapeControls(text: string): string {
  const pieces: string[] = [];
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (inString && char === "\\") pieces.push(char, text[++at] ?? "");
    else {
      if (char === '"') inString = !inString;
      pieces.push(inString && char < " " ? JSON.stringify(char).slice(1, -1) : char);
    }
  }
  return pieces.join("");
}

/** Input that every endpoint takes: well-formed text without NUL, at any depth. */
export function cleanInput(input: JsonObject): JsonObject {
  const clean = cleanJson(input);
  return isObject(clean) ? clean : {};
}

/** A body made clean; the fields in `done` are so already. */
export function cleanBody(body: JsonObject, done: readonly string[]): JsonObject {
  const entries = Object.entries(body);
  return Object.fromEntries(entries.map(([key, value]) => [key, done.includes(key) ? value : cleanJson(value)]));
}

/** The value with every text made well-formed and free of NUL. Returns the same object where nothing had to change. */
export function cleanJson(value: Json): Json {
  if (typeof value === "string") return cleanText(value);
  if (Array.isArray(value)) {
    const items = value.map(cleanJson);
    return items.some((item, at) => item !== value[at]) ? items : value;
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [cleanText(key), cleanJson(item)] as const);
  const changed = entries.some(([key, item]) => !Object.is(value[key], item));
  return changed ? Object.fromEntries(entries) : value;
}

/** Half an emoji and NUL, which strict servers answer with a 400, become U+FFFD. */
export function cleanText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", "\uFFFD") : whole;
}
