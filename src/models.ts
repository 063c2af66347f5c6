/** What is known about models: limits, abilities, thinking, prices, life span. Facts come from models-data.ts; sends nothing. */
import { bareId, canonicalId, coversId, vendorOf } from "./models-match.ts";
import { MODEL_LICENSE, MODEL_RETRIEVED, MODEL_ROWS, MODEL_SOURCE } from "./models-data.ts";
import { familyOf, type ReasoningFacts } from "./models-family.ts";

export type { ReasoningFacts } from "./models-family.ts";

/** USD per million tokens. */
export interface Rates {
  input: number;
  output: number;
  cacheRead?: number;
  cacheWrite?: number;
}

export interface Price extends Rates {
  /** Rates of the whole request once the prompt has more than `above` tokens; ascending. */
  tiers: readonly (Rates & { above: number })[];
  /** Rates outside the vendor's peak hours. */
  offPeak: Rates | null;
}

export interface ModelFacts {
  /** The known model this is, or the id asked for where none is. */
  id: string;
  /** Data-set provider the facts come from, null for a family's rule or nothing. */
  provider: string | null;
  name: string | null;
  /** Tokens; null is unknown, here and below. */
  context: number | null;
  maxOutput: number | null;
  inputLimit: number | null;
  vision: boolean | null;
  tools: boolean | null;
  /** False: must not be sent. */
  temperature: boolean;
  /** Null when nothing is known or the model does not reason; `reasons` tells which. */
  reasoning: ReasoningFacts | null;
  reasons: boolean | null;
  /** On api.openai.com, tools work on /v1/responses only. */
  responsesOnly: boolean;
  /** Thinking blocks are bound to the model and to all that came before: history must be append-only. */
  bindsThinking: boolean;
  /** Text between tool calls comes inside thinking blocks: ask for `thinking.display`, or the screen stays empty. */
  interleavedDisplay: boolean;
  price: Price | null;
  status: "legacy" | "beta" | "deprecated" | "retired" | null;
  /** Days, `YYYY-MM-DD`. */
  deprecated: string | null;
  retires: string | null;
  /** The model that answers under this id now. */
  servedBy: string | null;
}

interface Row extends Partial<Pick<ModelFacts, "context" | "maxOutput" | "inputLimit" | "vision" | "tools">> {
  provider: string;
  id: string;
  name: string;
  default?: true;
  status?: NonNullable<ModelFacts["status"]>;
  deprecated?: string;
  retires?: string;
  retired?: string;
  servedBy?: string;
  price?: Rates;
  tiers?: (Rates & { above: number })[];
  offPeak?: Rates;
  reasoning: false | Partial<ReasoningFacts>;
  temperature?: boolean;
  responses?: true;
  bindsThinking?: true;
  silentBetweenTools?: true;
}

class Known {
  readonly key: string;
  readonly bare: string;
  readonly #line: string;
  #row: Row | null = null;

  constructor(key: string, line: string) {
    this.key = key;
    this.bare = bareId(key);
    this.#line = line;
  }

  get row(): Row {
    // Generated from models.json, whose shape a test checks.
    this.#row ??= JSON.parse(this.#line) as Row;
    return this.#row;
  }
}

/** Every row begins with these two fields (scripts/models.ts writes them so). */
const ROW_HEAD = /^\{"provider":"([^"\\]+)","id":"([^"\\]+)"/;

// What runs on the user's own machine costs nothing per token and has the limits it was started with.
const LOCAL = new Set(["ollama", "lmstudio"]);
const MAKERS = ["anthropic", "openai", "google", "xai", "mistral", "deepseek"];
const RESELLERS = ["groq", "openrouter"];
// Others run the weights of these makers too, at their own price and for as long as they like.
const OPEN_WEIGHTS = new Set(["deepseek", "mistral"]);
const VENDOR_NAMES: Record<string, string> = { "x-ai": "xai", mistralai: "mistral" };

let known: Map<string, Known[]> | null = null;
const remembered = new Map<string, ModelFacts>();

/** Facts about a model at a preset (`custom` where none). Longest known prefix, else its family's rule, else nulls. Never throws. */
export function factsFor(model: string, presetId: string): ModelFacts {
  const key = `${presetId}\n${model}`;
  const facts = remembered.get(key) ?? lookUp(model, presetId);
  remembered.set(key, facts);
  return facts;
}

/** One sentence about a model that is or soon will be gone, for the start of a session. */
export function lifecycleNotice(model: string, presetId: string, today: Date): string | null {
  const facts = factsFor(model, presetId);
  if (!sellsAsMaker(facts.provider, presetId)) return null;
  if (facts.servedBy !== null) return `${facts.id} is retired; ${facts.servedBy} answers in its place.`;
  const day = today.toISOString().slice(0, 10);
  if (facts.retires !== null && facts.retires <= day) return `${facts.id} was retired on ${facts.retires}.`;
  if (facts.retires !== null) return `${facts.id} is deprecated and will be retired on ${facts.retires}.`;
  if (facts.status === "retired") return `${facts.id} is retired.`;
  return facts.status === "deprecated" ? `${facts.id} is deprecated.` : null;
}

/** The model a preset starts with, null where the data names none. */
export function defaultModel(presetId: string): string | null {
  return rowsOf(presetId).find((each) => each.row.default === true)?.row.id ?? null;
}

/** Where the facts come from and when they were read (`YYYY-MM-DD`). */
export function dataSource(): { source: string; retrieved: string; license: string } {
  return { source: MODEL_SOURCE, retrieved: MODEL_RETRIEVED, license: MODEL_LICENSE };
}

function lookUp(model: string, presetId: string): ModelFacts {
  // OpenRouter's `:free`, `:nitro` … choose another route, at another price.
  const variant = presetId === "openrouter" ? model.indexOf(":") : -1;
  const id = canonicalId(variant < 0 ? model : model.slice(0, variant));
  const found = findAt(presetId, id) ?? findElsewhere(id);
  const facts = found === null ? fromFamily(model, id) : fromRow(found, id);
  return forPreset(facts, presetId, variant < 0);
}

function findElsewhere(id: string): Row | null {
  const vendor = VENDOR_NAMES[vendorOf(id)] ?? vendorOf(id);
  const order = [vendor, ...MAKERS, ...RESELLERS];
  for (const provider of order) {
    const row = findAt(provider, id);
    if (row !== null) return row;
  }
  return null;
}

function findAt(provider: string, id: string): Row | null {
  const bare = bareId(id);
  let best: Known | null = null;
  for (const each of rowsOf(provider)) {
    const covered = each.key.includes("/") && id.includes("/") ? coversId(each.key, id) : coversId(each.bare, bare);
    if (covered && each.bare.length > (best?.bare.length ?? 0)) best = each;
  }
  return best?.row ?? null;
}

function rowsOf(provider: string): Known[] {
  known ??= parseRows();
  return known.get(provider) ?? [];
}

function parseRows(): Map<string, Known[]> {
  const byProvider = new Map<string, Known[]>();
  for (const line of MODEL_ROWS.split("\n")) {
    // Two fields are looked at in all rows, the rest in the one that is meant: reading them all would show in every start.
    const [, provider = "", id = ""] = ROW_HEAD.exec(line) ?? [];
    const rows = byProvider.get(provider) ?? [];
    rows.push(new Known(canonicalId(id), line));
    byProvider.set(provider, rows);
  }
  return byProvider;
}

function fromRow(row: Row, id: string): ModelFacts {
  // A reseller's entry says nothing of how the maker's thinking blocks behave.
  const maker = RESELLERS.includes(row.provider) ? findElsewhere(bareId(id)) : null;
  return {
    ...unknownModel(row.id),
    ...pickLimits(row),
    provider: row.provider,
    name: row.name,
    temperature: row.temperature ?? row.reasoning === false,
    reasoning: row.reasoning === false ? null : fillReasoning(row.reasoning),
    reasons: row.reasoning !== false,
    responsesOnly: row.responses ?? false,
    bindsThinking: row.bindsThinking ?? maker?.bindsThinking ?? false,
    interleavedDisplay: row.silentBetweenTools ?? maker?.silentBetweenTools ?? false,
    price: row.price === undefined ? null : { ...row.price, tiers: row.tiers ?? [], offPeak: row.offPeak ?? null },
    status: row.status ?? null,
    deprecated: row.deprecated ?? null,
    retires: row.retired ?? row.retires ?? null,
    servedBy: row.servedBy ?? null,
  };
}

function pickLimits(row: Row): Pick<ModelFacts, "context" | "maxOutput" | "inputLimit" | "vision" | "tools"> {
  return {
    context: row.context ?? null,
    maxOutput: row.maxOutput ?? null,
    inputLimit: row.inputLimit ?? null,
    vision: row.vision ?? null,
    tools: row.tools ?? null,
  };
}

function fillReasoning(part: Partial<ReasoningFacts>): ReasoningFacts {
  return {
    kinds: part.kinds ?? [],
    effort: part.effort ?? [],
    budget: part.budget ?? null,
    default: part.default ?? null,
    off: part.off ?? "never",
    offEffort: part.offEffort ?? null,
    form: part.form ?? null,
    field: part.field ?? null,
    chatLimit: part.chatLimit ?? null,
  };
}

function fromFamily(model: string, id: string): ModelFacts {
  const family = familyOf(bareId(id));
  if (family === null) return unknownModel(model);
  const { reasoning, ...flags } = family;
  return { ...unknownModel(model), ...flags, reasoning: reasoning || null, reasons: reasoning !== false };
}

function unknownModel(id: string): ModelFacts {
  return {
    id,
    provider: null,
    name: null,
    context: null,
    maxOutput: null,
    inputLimit: null,
    vision: null,
    tools: null,
    temperature: false,
    reasoning: null,
    reasons: null,
    responsesOnly: false,
    bindsThinking: false,
    interleavedDisplay: false,
    price: null,
    status: null,
    deprecated: null,
    retires: null,
    servedBy: null,
  };
}

function forPreset(facts: ModelFacts, presetId: string, standardRoute: boolean): ModelFacts {
  const local = LOCAL.has(presetId);
  return {
    ...facts,
    ...(local ? { context: null, maxOutput: null, inputLimit: null } : {}),
    price: standardRoute && sellsAsMaker(facts.provider, presetId) ? facts.price : null,
    responsesOnly: facts.responsesOnly && !local && !RESELLERS.includes(presetId),
  };
}

/** True where the preset is the seller the facts describe, or passes that seller's model and price on. */
function sellsAsMaker(provider: string | null, presetId: string): boolean {
  if (provider === presetId) return true;
  if (provider === null || LOCAL.has(presetId) || presetId === "groq") return false;
  return MAKERS.includes(provider) && !OPEN_WEIGHTS.has(provider);
}
