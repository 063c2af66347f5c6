/** Finds MCP tools by words: BM25 over names, descriptions and property names. Deterministic; calls nothing and knows no server. */
import type { NamedTool } from "./mcp-names.ts";
import type { Json, JsonObject } from "./types.ts";

const K1 = 1.2;
const B = 0.75;
const TOP = 8;
/** A name says what a tool is for, a description also what it is not for. */
const NAME_WEIGHT = 3;
/** Longer texts are cut before they are indexed: a description of a megabyte is no description. */
const MAX_TEXT = 8_000;
const MAX_PROPERTIES = 200;
const MAX_QUERY_TOKENS = 64;
/** Words that stand in every question; of a question that has nothing else they count. */
const FILLERS = new Set("a an and are at by can do for from how i in is it of on or the to what which with".split(" "));

export interface Found {
  tools: NamedTool[];
  /** Of a `select:`, the names that no tool has. */
  missing: string[];
}

interface Document {
  tool: NamedTool;
  counts: ReadonlyMap<string, number>;
  length: number;
}

export class ToolIndex {
  readonly #documents: readonly Document[];
  /** In how many documents a token stands. */
  readonly #spread = new Map<string, number>();
  readonly #averageLength: number;

  constructor(tools: readonly NamedTool[]) {
    this.#documents = tools.map(documentOf);
    for (const { counts } of this.#documents)
      for (const token of counts.keys()) this.#spread.set(token, (this.#spread.get(token) ?? 0) + 1);
    const total = this.#documents.reduce((sum, document) => sum + document.length, 0);
    this.#averageLength = total / Math.max(1, this.#documents.length);
  }

  /** The best few, best first, ties by name; `select:a,b` gives exactly those named, in that order. */
  search(query: string): Found {
    const selection = /^\s*select:(.*)$/s.exec(query)?.[1];
    if (selection !== undefined) return this.#select(selection);
    const tokens = queryTokens(query);
    const scored = this.#documents
      .map((document) => ({ tool: document.tool, score: this.#score(document, tokens) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1));
    return { tools: scored.slice(0, TOP).map(({ tool }) => tool), missing: [] };
  }

  #select(list: string): Found {
    const names = [...new Set(list.split(",").map((name) => name.trim()))].filter((name) => name !== "");
    const found = names.map((name) => ({ name, tools: this.#named(name) }));
    return {
      tools: [...new Set(found.flatMap(({ tools }) => tools))],
      missing: found.filter(({ tools }) => tools.length === 0).map(({ name }) => name),
    };
  }

  /** By full name, by `server/tool`, by the tool's own name. */
  #named(name: string): NamedTool[] {
    const all = this.#documents.map((document) => document.tool);
    const full = all.filter((one) => one.name === name || one.subject === name);
    if (full.length > 0) return full;
    return all.filter(({ tool }) => tool.name === name || `${tool.server}/${tool.name}` === name);
  }

  #score(document: Document, tokens: readonly string[]): number {
    const weight = 1 - B + (B * document.length) / this.#averageLength;
    return tokens.reduce((sum, token) => {
      const count = document.counts.get(token) ?? 0;
      return count === 0 ? sum : sum + this.#rarity(token) * ((count * (K1 + 1)) / (count + K1 * weight));
    }, 0);
  }

  #rarity(token: string): number {
    const spread = this.#spread.get(token) ?? 0;
    return Math.log(1 + (this.#documents.length - spread + 0.5) / (spread + 0.5));
  }
}

function queryTokens(query: string): string[] {
  const tokens = [...new Set(tokensOf(query.slice(0, MAX_TEXT)))].slice(0, MAX_QUERY_TOKENS);
  const telling = tokens.filter((token) => !FILLERS.has(token));
  return telling.length > 0 ? telling : tokens;
}

const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+/gu;

/** Lower-case words; identifiers are taken apart at `_-./:` and capitals; CJK text as single characters and pairs. */
export function tokensOf(text: string): string[] {
  const cjk = [...text.matchAll(CJK)].flatMap(([run]) => grams(run));
  const words = text
    .replace(CJK, " ")
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return [...(words ?? []).map(stem), ...cjk];
}

function grams(run: string): string[] {
  const characters = [...run];
  return [...characters, ...characters.slice(1).map((character, index) => `${characters[index]}${character}`)];
}

/** Plural and singular meet; nothing else is guessed. */
function stem(word: string): string {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 3 && word.endsWith("s") && !/(?:ss|us|is)$/.test(word)) return word.slice(0, -1);
  return word;
}

function documentOf(tool: NamedTool): Document {
  const { server, name, description, inputSchema } = tool.tool;
  const names = tokensOf(name);
  const words = [
    ...Array.from({ length: NAME_WEIGHT }, () => names).flat(),
    ...tokensOf(server),
    ...tokensOf(description.slice(0, MAX_TEXT)),
    ...propertyNames(inputSchema).flatMap(tokensOf),
  ];
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { tool, counts, length: words.length };
}

/** Names of the properties at every depth, in the order they stand. */
function propertyNames(schema: JsonObject): string[] {
  const names: string[] = [];
  const open: Json[] = [schema];
  for (let node = open.shift(); node !== undefined && names.length < MAX_PROPERTIES; node = open.shift()) {
    if (typeof node !== "object" || node === null || Array.isArray(node)) continue;
    const { properties, items } = node;
    if (typeof properties === "object" && properties !== null && !Array.isArray(properties)) {
      names.push(...Object.keys(properties));
      open.push(...Object.values(properties));
    }
    if (items !== undefined) open.push(items);
  }
  return names.slice(0, MAX_PROPERTIES);
}
