/** What to change in a request body after an endpoint refused a parameter, and the memory of it. Sends nothing. */
import type { ProviderError } from "./errors.ts";
import { isObject } from "./provider-errors.ts";
import { applyRepair, effortIn, type Repair } from "./provider-repair-apply.ts";
import { Complaint } from "./provider-repair-complaint.ts";
import { contentRepair, plainRepair, roleRepair } from "./provider-repair-messages.ts";
import type { Wire } from "./provider.ts";
import { EFFORTS, lowerEffort } from "./thinking-effort.ts";
import type { JsonObject } from "./types.ts";

/** Repairs that endpoints have asked for, by endpoint and model. One for the process. */
export class RepairMemory {
  readonly #byKey = new Map<string, Repair[]>();

  get(key: string): readonly Repair[] {
    return this.#byKey.get(key) ?? [];
  }

  add(key: string, repair: Repair): void {
    this.#byKey.set(key, [...this.get(key), repair]);
  }
}

/**
 * What to change so that the endpoint takes the body, or null when its complaint is about nothing we can change.
 * `body` is what was refused. Only for errors of kind `request` or `shape` with status 400 or 422.
 */
export function repairFor(error: ProviderError, body: JsonObject, wire: Wire): Repair | null {
  if (error.kind !== "request" && error.kind !== "shape") return null;
  if (error.status !== 400 && error.status !== 422) return null;
  const complaint = new Complaint(error);
  const repair =
    contentRepair(complaint, body) ??
    reasoningRepair(complaint, body) ??
    roleRepair(complaint, body) ??
    plainRepair(complaint, body) ??
    streamRepair(complaint, body) ??
    summaryRepair(complaint, body) ??
    cacheMarksRepair(complaint, body) ??
    limitRepair(complaint, body) ??
    maxTokensRepair(complaint, body, wire) ??
    thinkingRepair(complaint, body) ??
    effortRepair(complaint, body) ??
    dropRepair(complaint, body);
  // A repair that changes nothing would be tried again and again.
  return repair && JSON.stringify(applyRepair(body, repair)) !== JSON.stringify(body) ? repair : null;
}

const DROPPABLE = [
  "temperature",
  "stream_options",
  "parallel_tool_calls",
  "prompt_cache_key",
  "tool_choice",
  "reasoning_effort",
  "response_format",
  "output_config",
  "thinking",
  "reasoning",
  "include",
  "store",
  "text",
  "include_reasoning",
  "reasoning_format",
];

function dropRepair(complaint: Complaint, body: JsonObject): Repair | null {
  if (complaint.names("strict") && complaint.isRefusal && holdsStrict(body)) return { kind: "strict" };
  if (/encrypted content is not supported|reasoning\.encrypted_content/i.test(complaint.text) && body.include) {
    return { kind: "drop", field: "include" };
  }
  const shape = shapeRepair(complaint, body);
  if (shape) return shape;
  if (!complaint.isRefusal) return null;
  const field = DROPPABLE.find((name) => body[name] !== undefined && complaint.names(name));
  return field ? { kind: "drop", field } : null;
}

/** A schema for the answer that the endpoint can't enforce: the caller validates anyway. */
function shapeRepair(complaint: Complaint, body: JsonObject): Repair | null {
  const field = ["response_format", "text", "output_config"].find((name) => body[name] !== undefined);
  if (!field || !/invalid schema|json_schema|output_config\.format/i.test(complaint.text)) return null;
  const effort = effortIn(body, "output_config");
  return effort === null ? { kind: "drop", field } : { kind: "set", field, value: { effort } };
}

const holdsStrict = (body: JsonObject) => JSON.stringify(body.tools ?? []).includes('"strict"');

const MAX_FIELDS = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

function maxTokensRepair(complaint: Complaint, body: JsonObject, wire: Wire): Repair | null {
  const field = MAX_FIELDS.find((name) => body[name] !== undefined && complaint.names(name));
  if (!field || !complaint.isRefusal) return null;
  if (field === "max_tokens" && complaint.names("max_completion_tokens"))
    return { kind: "rename", from: field, to: "max_completion_tokens" };
  if (field === "max_completion_tokens") return { kind: "rename", from: field, to: "max_tokens" };
  // The messages wire can't do without it, and the responses wire never had it.
  return wire === "chat" ? { kind: "rename", from: field, to: "max_completion_tokens" } : null;
}

/** "max_tokens: 64000 > 8192, which is the maximum", "supports at most 32768 completion tokens". */
function limitRepair(complaint: Complaint, body: JsonObject): Repair | null {
  const field = MAX_FIELDS.find((name) => typeof body[name] === "number" && complaint.names(name));
  if (!field) return null;
  const found =
    /> *(\d{3,})\b/.exec(complaint.text) ??
    /(?:at most|maximum(?: value)?(?: of| is|:)?|less than or equal to|<=|up to|within|limit(?: of| is|:)?) *`?(\d{3,})/i.exec(
      complaint.text,
    ) ??
    /\[\d+, *(\d{3,})\]/.exec(complaint.text);
  const max = Number(found?.[1]);
  return max > 0 && max < Number(body[field]) ? { kind: "limit", field, max } : null;
}

function thinkingRepair(complaint: Complaint, body: JsonObject): Repair | null {
  const thinking = body.thinking;
  if (!isObject(thinking) || !complaint.names("thinking")) return null;
  if (/blocks?\b|signature|Expected `thinking`/i.test(complaint.text) && !/type/i.test(complaint.text)) return null;
  if (thinking.display !== undefined && complaint.names("display"))
    return { kind: "set", field: "thinking", value: { type: thinking.type ?? "adaptive" } };
  if (thinking.type === "enabled" && /adaptive/i.test(complaint.text))
    return { kind: "set", field: "thinking", value: { type: "adaptive" } };
  return complaint.isRefusal || /thinking\.type|^thinking: /.test(complaint.text)
    ? { kind: "drop", field: "thinking" }
    : null;
}

/** Asked for without its reasons: OpenAI gives summaries, like streams, to verified organisations only. */
function summaryRepair(complaint: Complaint, body: JsonObject): Repair | null {
  const reasoning = body.reasoning;
  if (!isObject(reasoning) || reasoning.summary === undefined) return null;
  if (!/summar/i.test(complaint.text) && !complaint.names("reasoning.summary")) return null;
  const { summary: _, ...rest } = reasoning;
  return { kind: "set", field: "reasoning", value: rest };
}

function streamRepair(complaint: Complaint, body: JsonObject): Repair | null {
  const refuses = /verified to stream|stream(ing)?[`'"]? (is )?(not supported|unsupported)|does not support stream/i;
  return body.stream === true && refuses.test(complaint.text) ? { kind: "whole" } : null;
}

function cacheMarksRepair(complaint: Complaint, body: JsonObject): Repair | null {
  const holds = complaint.names("cache_control") && JSON.stringify(body).includes('"cache_control"');
  return holds && complaint.isRefusal ? { kind: "uncached" } : null;
}

function effortRepair(complaint: Complaint, body: JsonObject): Repair | null {
  // Some models take tools on this wire only with thinking switched off, which leaving the field out doesn't do.
  if (/set `?reasoning_effort`? to ['"`]none/i.test(complaint.text))
    return { kind: "put", field: "reasoning_effort", value: "none" };
  const field = (["reasoning_effort", "reasoning", "output_config"] as const).find(
    (name) => effortIn(body, name) !== null,
  );
  // Ollama and Gemini speak of thinking where the request says effort.
  const noThinking = /not support thinking|thinking (level|budget|config)?[^.]{0,20}not supported/i;
  if (field && noThinking.test(complaint.text)) return { kind: "drop", field };
  if (!field || !(complaint.names(field) || complaint.names("effort") || complaint.names("reasoning_effort")))
    return null;
  const refused = effortIn(body, field) ?? "";
  const aboutValue =
    /value|one of|must be|should be|level|supported values|does not support ['"`]/i.test(complaint.text) ||
    complaint.text.includes(`'${refused}'`) ||
    complaint.text.includes(`"${refused}"`);
  if (!aboutValue || /unrecognized request argument|unknown parameter/i.test(complaint.text)) return null;
  return { kind: "effort", field, refused, value: nextEffort(refused, listedEfforts(complaint.text, refused)) };
}

/** The values an error lists as accepted. */
function listedEfforts(text: string, refused: string): string[] {
  const after =
    /(?:supported values are|must be one of|one of|should be|expected|accepted|available|valid values|allowed)[^a-z0-9]*(.*)$/i.exec(
      text,
    )?.[1];
  const words: string[] = after?.toLowerCase().match(/[a-z]+/g) ?? [];
  return EFFORTS.filter((effort) => effort !== refused && words.includes(effort));
}

function nextEffort(refused: string, listed: string[]): string | null {
  if (listed.length === 0) return lowerEffort(refused);
  const rank = EFFORTS.findIndex((effort) => effort === refused);
  return listed.findLast((effort) => EFFORTS.findIndex((one) => one === effort) <= rank) ?? listed[0] ?? null;
}

const REASONING_FIELDS = ["reasoning_content", "reasoning_details", "reasoning"];

function reasoningRepair(complaint: Complaint, body: JsonObject): Repair | null {
  const messages = Array.isArray(body.messages) ? body.messages.filter(isObject) : [];
  const field = REASONING_FIELDS.find((name) => complaint.names(name));
  if (!field || body[field] !== undefined) return null;
  if (/passed back|must be (passed|provided|included)|missing|required/i.test(complaint.text))
    return { kind: "reasoning", field, how: "fill" };
  const present = messages.some((message) => message[field] !== undefined);
  return present && complaint.isRefusal ? { kind: "reasoning", field, how: "strip" } : null;
}
