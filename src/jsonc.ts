/** JSON with `//` and block comments and trailing commas, read into a tree that keeps key order and places. Writes back single values without touching the rest. */
import type { Json, JsonObject } from "./types.ts";

export interface Place {
  /** 1-based. */
  line: number;
  column: number;
}

interface Span extends Place {
  start: number;
  end: number;
}

export type JsonNode = Span &
  (
    | { kind: "object"; entries: JsonEntry[] }
    | { kind: "array"; items: JsonNode[] }
    | { kind: "scalar"; value: string | number | boolean | null }
  );

export interface JsonEntry extends Place {
  key: string;
  value: JsonNode;
}

export class JsoncError extends Error {
  override name = "JsoncError";
  readonly place: Place;
  constructor(message: string, place: Place) {
    super(`${message} at line ${place.line}, column ${place.column}`);
    this.place = place;
  }
}

/** Reads a whole document. Throws JsoncError with the place. */
export function parseJsonc(text: string): JsonNode {
  return new Reader(text).document();
}

/** The tree as plain data. A key given twice counts as JSON.parse counts it: the last wins. */
export function plain(node: JsonNode): Json {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "array") return node.items.map(plain);
  const object: JsonObject = Object.create(null) as JsonObject; // no prototype: a key named __proto__ stays data
  for (const entry of node.entries) object[entry.key] = plain(entry.value);
  return object;
}

/** The text with a top-level key set to `value`; comments, order and other keys stay byte for byte. */
export function setTopLevel(text: string, key: string, value: Json): string {
  const root = parseJsonc(text.trim() === "" ? "{}" : text);
  const source = text.trim() === "" ? "{\n}\n" : text;
  const rendered = JSON.stringify(value, null, 2).replace(/\n/g, "\n  ");
  const tree = source === text ? root : parseJsonc(source);
  if (tree.kind !== "object") throw new JsoncError("The file must hold one object", tree);
  const present = tree.entries.findLast((entry) => entry.key === key);
  if (present) return source.slice(0, present.value.start) + rendered + source.slice(present.value.end);
  return insertEntry(source, tree, `${JSON.stringify(key)}: ${rendered}`);
}

/** The text with `name` set in the object at a top-level key, which is made where it isn't there; everything else stays byte for byte. */
export function setNested(text: string, key: string, name: string, value: Json): string {
  const inner = objectAt(text, key);
  if (!inner) return setTopLevel(text, key, { [name]: value });
  const rendered = JSON.stringify(value, null, 2).replace(/\n/g, "\n    ");
  const present = inner.entries.findLast((entry) => entry.key === name);
  if (present) return text.slice(0, present.value.start) + rendered + text.slice(present.value.end);
  return insertEntry(text, inner, `${JSON.stringify(name)}: ${rendered}`, "    ");
}

/** The text without `name` in the object at a top-level key; unchanged when it isn't there. */
export function removeNested(text: string, key: string, name: string): string {
  const inner = objectAt(text, key);
  return inner ? removeEntry(text, inner, name) : text;
}

/** The text without a top-level key; unchanged when it isn't there. */
export function removeTopLevel(text: string, key: string): string {
  const tree = parseJsonc(text);
  return tree.kind === "object" ? removeEntry(text, tree, key) : text;
}

function objectAt(text: string, key: string): (JsonNode & { kind: "object" }) | null {
  if (text.trim() === "") return null;
  const root = parseJsonc(text);
  if (root.kind !== "object") throw new JsoncError("The file must hold one object", root);
  const value = root.entries.findLast((entry) => entry.key === key)?.value;
  if (!value) return null;
  if (value.kind !== "object") throw new JsoncError(`"${key}" must be an object`, value);
  return value;
}

function removeEntry(text: string, tree: JsonNode & { kind: "object" }, key: string): string {
  const index = tree.entries.findLastIndex((entry) => entry.key === key);
  const entry = tree.entries[index];
  if (!entry) return text;
  const start = text.lastIndexOf(JSON.stringify(key), entry.value.start);
  const comma = /^\s*,/.exec(text.slice(entry.value.end));
  const end = entry.value.end + (comma?.[0].length ?? 0);
  const before =
    index === tree.entries.length - 1 && !comma
      ? withoutComma(text.slice(0, start), tree.entries[index - 1])
      : text.slice(0, start);
  const after = text.slice(end);
  // On lines of its own it leaves none behind.
  const own = /\n[ \t]*$/.exec(before);
  if (own && /^[ \t]*\r?\n/.test(after)) return before.slice(0, own.index) + after;
  return before + after.replace(/^[ \t]*\n?[ \t]*/, "");
}

/** The comma behind what is the last entry now goes too. */
function withoutComma(text: string, last: JsonEntry | undefined): string {
  if (!last) return text;
  const comma = /^\s*,/.exec(text.slice(last.value.end));
  return comma ? text.slice(0, last.value.end) + text.slice(last.value.end + comma[0].length) : text;
}

function insertEntry(source: string, tree: JsonNode & { kind: "object" }, entry: string, indent = "  "): string {
  const last = tree.entries.at(-1);
  const at = last ? last.value.end : tree.start + 1;
  const tail = source.slice(at);
  // A trailing comma is there already: the new entry goes behind it, and behind what is said of the one before.
  const comma = last ? /^(?:\s|\/\/[^\n]*\n|\/\*[^]*?\*\/)*,(?:[ \t]*\/\/[^\n]*)?/.exec(tail) : null;
  if (comma) return `${source.slice(0, at)}${comma[0]}\n${indent}${entry}${tail.slice(comma[0].length)}`;
  const note = /^[ \t]*\/\/[^\n]*/.exec(tail)?.[0] ?? "";
  const after = tail.slice(note.length);
  const rest = /^\s*\}/.test(after) ? `\n${indent.slice(2)}${after.trimStart()}` : after;
  return `${source.slice(0, at)}${last ? "," : ""}${note}\n${indent}${entry}${rest}`;
}

const MAX_DEPTH = 200;

class Reader {
  #text: string;
  #at = 0;
  #lineStarts: number[] | null = null;

  constructor(text: string) {
    this.#text = text;
    if (text.startsWith("\uFEFF")) this.#at = 1;
  }

  document(): JsonNode {
    this.#blank();
    const node = this.#value(0);
    this.#blank();
    if (this.#at < this.#text.length) throw this.#error("Something follows the end of the document");
    return node;
  }

  #value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw this.#error("Nested too deeply");
    const char = this.#text[this.#at];
    if (char === "{") return this.#object(depth);
    if (char === "[") return this.#array(depth);
    const start = this.#at;
    const value = char === '"' ? this.#string() : this.#word();
    return { kind: "scalar", value, ...this.#span(start) };
  }

  #object(depth: number): JsonNode {
    const start = this.#at++;
    const entries: JsonEntry[] = [];
    for (this.#blank(); this.#text[this.#at] !== "}"; this.#separator("}")) {
      if (this.#text[this.#at] !== '"') throw this.#error('Expected "}" or a key in double quotes');
      const place = this.#place(this.#at);
      const key = this.#string();
      this.#blank();
      if (this.#text[this.#at] !== ":") throw this.#error('Expected ":"');
      this.#at++;
      this.#blank();
      entries.push({ key, ...place, value: this.#value(depth + 1) });
    }
    this.#at++;
    return { kind: "object", entries, ...this.#span(start) };
  }

  #array(depth: number): JsonNode {
    const start = this.#at++;
    const items: JsonNode[] = [];
    for (this.#blank(); this.#text[this.#at] !== "]"; this.#separator("]")) items.push(this.#value(depth + 1));
    this.#at++;
    return { kind: "array", items, ...this.#span(start) };
  }

  #separator(close: string): void {
    this.#blank();
    if (this.#text[this.#at] === ",") {
      this.#at++;
      this.#blank();
    } else if (this.#text[this.#at] !== close) throw this.#error(`Expected "," or "${close}"`);
  }

  #string(): string {
    const match = /"(?:[^"\\\n\r]|\\.)*"/y;
    match.lastIndex = this.#at;
    const found = match.exec(this.#text);
    if (!found) throw this.#error("This string is not closed on its line");
    try {
      const value = JSON.parse(found[0].replaceAll("\t", "\\t")) as string; // JSON.parse of a quoted literal is a string
      this.#at = match.lastIndex;
      return value;
    } catch {
      throw this.#error("This string holds an escape or character that JSON doesn't know");
    }
  }

  #word(): string | number | boolean | null {
    const match = /[-+.\w]+/y;
    match.lastIndex = this.#at;
    const word = match.exec(this.#text)?.[0];
    if (word === undefined) throw this.#error("Expected a value");
    if (!/^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)$/.test(word))
      throw this.#error(`Expected a value, found ${JSON.stringify(word)}`);
    this.#at = match.lastIndex;
    return JSON.parse(word) as number | boolean | null; // the expression above admits nothing else
  }

  #blank(): void {
    const match = /(?:\s+|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
    match.lastIndex = this.#at;
    this.#at += match.exec(this.#text)?.[0].length ?? 0;
  }

  #span(start: number): Span {
    return { start, end: this.#at, ...this.#place(start) };
  }

  #place(at: number): Place {
    this.#lineStarts ??= [0, ...[...this.#text.matchAll(/\n/g)].map((match) => match.index + 1)];
    let low = 0;
    let high = this.#lineStarts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= at) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: at - (this.#lineStarts[low] ?? 0) + 1 };
  }

  #error(message: string): JsoncError {
    const end = this.#at >= this.#text.length;
    return new JsoncError(end ? `${message}, but the file ends` : message, this.#place(this.#at));
  }
}
