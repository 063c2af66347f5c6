/** The JSON Schema of the lines that `--json` prints, one definition per event. */
import { DENIERS, DONE_REASONS, TODO_STATES, type JsonObject, type PublicEvent } from "./types.ts";

const text = { type: "string" };
const nullableText = { type: ["string", "null"] };
const count = { type: "integer", minimum: 0 };
const call = { id: text, name: text };

interface Shape {
  properties: JsonObject;
  optional?: string[];
}

/** Every event by its type: leaving one out is a type error. */
const EVENTS: Record<PublicEvent["type"], Shape> = {
  session: {
    properties: { version: { const: 1 }, id: nullableText, provider: nullableText, model: nullableText, cwd: text },
  },
  text: { properties: { text } },
  reasoning: { properties: { text } },
  "tool-start": { properties: call },
  "tool-call": { properties: { ...call, input: { type: "object" } } },
  "tool-output": { properties: { id: text, text } },
  "tool-result": { properties: { ...call, output: text } },
  "tool-error": { properties: { ...call, error: text } },
  "tool-denied": { properties: { ...call, by: { enum: [...DENIERS] }, rule: text, reason: text }, optional: ["rule"] },
  approval: {
    properties: {
      ...call,
      input: { type: "object" },
      subject: text,
      rule: text,
      always: nullableText,
      choices: {
        type: "array",
        items: {
          type: "object",
          properties: { name: text, text },
          required: ["name", "text"],
          additionalProperties: false,
        },
      },
    },
    optional: ["choices"],
  },
  todos: {
    properties: {
      todos: {
        type: "array",
        items: {
          type: "object",
          properties: { content: text, status: { enum: [...TODO_STATES] }, note: text },
          required: ["content", "status"],
          additionalProperties: false,
        },
      },
    },
  },
  compacted: { properties: { before: count, after: count } },
  notice: { properties: { level: { enum: ["info", "warning", "error"] }, message: text } },
  error: {
    properties: { kind: text, message: text, status: { type: "integer" }, requestId: text },
    optional: ["status", "requestId"],
  },
  done: {
    properties: {
      exit: { type: "integer" },
      reason: { enum: [...DONE_REASONS] },
      steps: count,
      inputTokens: count,
      outputTokens: count,
      cacheReadTokens: count,
      costUsd: { type: ["number", "null"] },
    },
  },
};

export function eventSchema(): JsonObject {
  const events = Object.entries(EVENTS).map(([type, { properties, optional }]): JsonObject => {
    const required = ["type", ...Object.keys(properties).filter((key) => !optional?.includes(key))];
    return {
      title: type,
      type: "object",
      properties: { type: { const: type }, ...properties, agent: text },
      required,
      additionalProperties: false,
    };
  });
  return { $schema: "https://json-schema.org/draft/2020-12/schema", title: "shiro event", oneOf: events };
}
