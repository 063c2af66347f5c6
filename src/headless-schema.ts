/** `--schema`: the last message must be one JSON document that satisfies a schema; at most two turns are spent on mending it. */
import { existsSync, readFileSync } from "node:fs";
import { EXIT, UserError, messageOf } from "./errors.ts";
import { LastMessage } from "./message-last.ts";
import { schemaFaults, schemaProblem } from "./json-schema.ts";
import { addUsd } from "./pricing.ts";
import type { AgentEvent, Json, JsonObject } from "./types.ts";

export const MAX_REPAIRS = 2;

/** Reads and checks the schema file before anything is sent. Throws UserError. */
export function loadOutputSchema(path: string): JsonObject {
  let schema: Json;
  try {
    schema = JSON.parse(readFileSync(path, "utf8")) as Json; // JSON.parse gives JSON
  } catch (error) {
    if (!existsSync(path)) throw new UserError(`--schema ${path}: there is no such file`, { cause: error });
    throw new UserError(`--schema ${path} can't be read as JSON: ${messageOf(error)}`, { cause: error });
  }
  const problem = schemaProblem(schema);
  if (problem !== null || typeof schema !== "object" || schema === null || Array.isArray(schema))
    throw new UserError(`--schema ${path} is no JSON Schema: ${problem ?? "it must be an object"}`);
  return schema;
}

export type Document = { ok: true; text: string } | { ok: false; fault: string };

/** The document in an answer: the whole of it, or the one fenced block models like to put it in. */
export function documentIn(answer: string, schema: JsonObject): Document {
  const text = withoutFence(answer);
  let value: Json;
  try {
    value = JSON.parse(text) as Json; // JSON.parse gives JSON
  } catch (error) {
    return { ok: false, fault: `the answer is not one JSON document (${messageOf(error)})` };
  }
  const faults = schemaFaults(schema, value);
  return faults.length === 0 ? { ok: true, text: text.trim() } : { ok: false, fault: faults.join("; ") };
}

/** By hand: a regular expression for this takes minutes over an answer full of empty lines. */
function withoutFence(answer: string): string {
  const text = answer.trim();
  const begin = text.indexOf("\n");
  const fenced = text.startsWith("```") && text.endsWith("```") && /^(?:json)?$/.test(text.slice(3, begin).trim());
  const end = text.lastIndexOf("\n");
  return fenced && end > begin && text.slice(end + 1).trim() === "```" ? text.slice(begin + 1, end) : answer;
}

/** What the model is told first, for endpoints without structured output, and when its answer doesn't fit. */
export function schemaInstruction(schema: JsonObject): string {
  return `Your last message must be exactly one JSON document, without a fence or a word around it, valid against this JSON Schema:\n${JSON.stringify(schema)}`;
}

export function repairPrompt(fault: string): string {
  return `That doesn't satisfy the schema: ${fault}. Answer with the corrected JSON document alone.`;
}

type Done = Extract<AgentEvent, { type: "done" }>;

/** Runs `send` until the answer satisfies the schema or the repairs are used up; one `done` with the sums of all turns. */
export async function* untilValid(
  prompt: string,
  schema: JsonObject,
  send: (text: string) => AsyncIterable<AgentEvent>,
): AsyncGenerator<AgentEvent> {
  let total: Done | null = null;
  let text = `${prompt}\n\n${schemaInstruction(schema)}`;
  for (let repairs = 0; ; repairs++) {
    const last = new LastMessage();
    for await (const event of send(text)) {
      last.take(event);
      if (event.type === "done") total = added(total, event);
      else yield event;
    }
    if (!total) throw new Error("A turn ended without done");
    const found = documentIn(last.text, schema);
    if (total.reason !== "completed" || found.ok) return yield total;
    if (repairs < MAX_REPAIRS) text = repairPrompt(found.fault);
    else {
      yield { type: "error", kind: "schema", message: `The answer does not satisfy the schema: ${found.fault}` };
      return yield { ...total, exit: EXIT.schema, reason: "schema" };
    }
  }
}

function added(total: Done | null, done: Done): Done {
  if (!total) return done;
  return {
    ...done,
    steps: total.steps + done.steps,
    inputTokens: total.inputTokens + done.inputTokens,
    outputTokens: total.outputTokens + done.outputTokens,
    cacheReadTokens: total.cacheReadTokens + done.cacheReadTokens,
    costUsd: total.costUsd === null || done.costUsd === null ? null : addUsd(total.costUsd, done.costUsd),
  };
}

/** What a run with a schema prints: the document alone, or nothing. */
export function finalDocument(answer: string, schema: JsonObject): string {
  const found = documentIn(answer, schema);
  return found.ok ? found.text : "";
}
