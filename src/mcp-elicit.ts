/** A server's question to the user in the middle of a call: asked field by field, declined where nobody can answer. Pure but for `ask`. */
import { argumentFaults } from "./mcp-arguments.ts";
import { sanitize, sanitizeLabel } from "./sanitize.ts";
import type { AskQuestion } from "./tool.ts";
import type { Json, JsonObject } from "./types.ts";

export interface ElicitScene {
  server: string;
  /** Null where nobody can answer. */
  ask: ((question: AskQuestion) => Promise<string | null>) | null;
  /** With nobody there, a question whose every field has a default is accepted with those. */
  yolo: boolean;
}

export type ElicitAnswer =
  | { action: "accept"; content: Record<string, string | number | boolean | string[]> }
  | { action: "decline" }
  | { action: "cancel" };

/** A field that is answered wrongly so often ends the question. */
const MAX_TRIES = 3;
const MAX_TEXT = 1000;

/** `params` of elicitation/create in form mode. Throws nothing of its own. */
export async function answerElicitation(
  params: Readonly<Record<string, unknown>>,
  scene: ElicitScene,
): Promise<ElicitAnswer> {
  const schema = isObject(params.requestedSchema) ? params.requestedSchema : {};
  const fields = Object.entries(isObject(schema.properties) ? schema.properties : {});
  const message = typeof params.message === "string" ? params.message : "";
  if (scene.ask === null) return scene.yolo ? acceptDefaults(fields) : { action: "decline" };
  const intro = `The MCP server ${scene.server} asks: ${sanitize(message).slice(0, MAX_TEXT)}`;
  if (fields.length === 0) return confirm(intro, scene.ask);
  return askFields({ fields, required: requiredOf(schema), intro, ask: scene.ask });
}

type Field = [key: string, schema: Json];
type Ask = NonNullable<ElicitScene["ask"]>;

function acceptDefaults(fields: readonly Field[]): ElicitAnswer {
  const content: Record<string, string | number | boolean | string[]> = {};
  for (const [key, schema] of fields) {
    const value = defaultOf(schema);
    if (value === null) return { action: "decline" };
    content[key] = value;
  }
  return { action: "accept", content };
}

async function confirm(question: string, ask: Ask): Promise<ElicitAnswer> {
  const answer = await ask({ question, options: [{ label: "accept" }, { label: "decline" }], multiple: false });
  if (answer === null) return { action: "cancel" };
  return /^(accept|yes|y|ok|1)$/i.test(answer.trim()) ? { action: "accept", content: {} } : { action: "decline" };
}

interface Form {
  fields: readonly Field[];
  required: ReadonlySet<string>;
  intro: string;
  ask: Ask;
}

async function askFields({ fields, required, intro, ask }: Form): Promise<ElicitAnswer> {
  const content: Record<string, string | number | boolean | string[]> = {};
  for (const [index, field] of fields.entries()) {
    const lead = index === 0 ? `${intro}\n` : "";
    const answer = await askField({ field, isRequired: required.has(field[0]), lead, ask });
    if (answer.state === "dismissed") return { action: "cancel" };
    if (answer.state === "hopeless") return { action: "decline" };
    if (answer.value !== null) content[field[0]] = answer.value;
  }
  return { action: "accept", content };
}

type FieldAnswer =
  | { state: "given"; value: string | number | boolean | string[] | null }
  | { state: "dismissed" }
  | { state: "hopeless" };

interface FieldQuestion {
  field: Field;
  isRequired: boolean;
  lead: string;
  ask: Ask;
}

async function askField({ field: [key, schema], isRequired, lead, ask }: FieldQuestion): Promise<FieldAnswer> {
  const choices = choicesOf(schema, isRequired);
  const question = `${lead}${labelOf(key, schema)}${isNumber(schema) ? numberHint(schema, isRequired) : ""}`;
  let fault = "";
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const options = choices.map(({ label, detail }) => ({ label, ...(detail ? { detail } : {}) }));
    const answer = await ask({
      question: fault === "" ? question : `${question}\n${fault}`,
      options,
      multiple: isList(schema),
    });
    if (answer === null) return { state: "dismissed" };
    const chosen = choices.find((choice) => choice.label === answer.trim());
    const value = chosen ? chosen.value : parseAnswer(answer.trim(), schema, choices);
    const [first] = value === null || !isObject(schema) ? [] : argumentFaults(schema, value);
    if (first === undefined && !(value === null && isRequired)) return { state: "given", value };
    fault = `That does not fit: ${sanitizeLabel(first ?? "an answer is needed", 200)}`;
  }
  return { state: "hopeless" };
}

interface Choice {
  label: string;
  detail: string | null;
  value: string | number | boolean | string[] | null;
}

/** The default first, then what the schema lists; leaving out last. Numbers have none: they would be taken for an option's. */
function choicesOf(schema: Json, isRequired: boolean): Choice[] {
  if (isNumber(schema)) return [];
  const listed = enumOf(schema).map(({ value, title }) => ({ label: clean(title), detail: null, value }));
  const type = isObject(schema) ? schema.type : null;
  const own: Choice[] =
    type === "boolean" ? [true, false].map((value) => ({ label: value ? "yes" : "no", detail: null, value })) : listed;
  const preset = defaultOf(schema);
  const leave: Choice[] = isRequired ? [] : [{ label: "leave it out", detail: null, value: null }];
  if (preset === null) return [...own, ...leave];
  const known = own.find((choice) => choice.value === preset);
  const first: Choice = { label: known?.label ?? clean(shown(preset)), detail: "the default", value: preset };
  return [first, ...own.filter((choice) => choice !== known), ...leave];
}

function numberHint(schema: Json, isRequired: boolean): string {
  const preset = defaultOf(schema);
  const words = [
    ...(preset === null ? [] : [`"default" for ${clean(shown(preset))}`]),
    ...(isRequired ? [] : ['"none" to leave it out']),
  ];
  return ` (a number${words.length > 0 ? `, ${words.join(", ")}` : ""})`;
}

function parseAnswer(answer: string, schema: Json, choices: readonly Choice[]): Choice["value"] {
  if (answer === "") return null;
  const type = isObject(schema) ? schema.type : "string";
  if (isNumber(schema) && answer === "default") return defaultOf(schema);
  if (isNumber(schema) && answer === "none") return null;
  if (isNumber(schema)) return Number.isFinite(Number(answer)) ? Number(answer) : answer;
  if (type === "boolean")
    return /^(y|yes|true|1)$/i.test(answer) ? true : /^(n|no|false|0)$/i.test(answer) ? false : answer;
  const byTitle = (text: string): string => {
    const value = choices.find((choice) => choice.label === text)?.value;
    return typeof value === "string" ? value : text;
  };
  if (!isList(schema)) return byTitle(answer);
  const items = isObject(schema) ? enumOf(schema.items ?? null) : [];
  const parts = answer.split(/[,\n]/).map((one) => one.trim());
  return parts.filter(Boolean).map((one) => items.find((item) => clean(item.title) === one)?.value ?? one);
}

function enumOf(schema: Json): { value: string; title: string }[] {
  if (!isObject(schema)) return [];
  if (schema.type === "array") return enumOf(schema.items ?? null);
  if (Array.isArray(schema.enum)) {
    const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    const titleOf = (value: string, index: number): string => (typeof names[index] === "string" ? names[index] : value);
    return schema.enum.filter(isText).map((value, index) => ({ value, title: titleOf(value, index) }));
  }
  const titled = [schema.oneOf, schema.anyOf].find(Array.isArray) ?? [];
  return titled.flatMap((one: Json) =>
    isObject(one) && isText(one.const) ? [{ value: one.const, title: isText(one.title) ? one.title : one.const }] : [],
  );
}

function defaultOf(schema: Json): string | number | boolean | string[] | null {
  const value = isObject(schema) ? schema.default : undefined;
  if (Array.isArray(value)) return value.every(isText) ? value.filter(isText) : null;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
}

function labelOf(key: string, schema: Json): string {
  const { title, description } = isObject(schema) ? schema : {};
  const name = isText(title) && title !== "" ? `${title} (${key})` : key;
  return sanitizeLabel(isText(description) && description !== "" ? `${name}: ${description}` : name, MAX_TEXT);
}

function requiredOf(schema: JsonObject): Set<string> {
  return new Set(Array.isArray(schema.required) ? schema.required.filter(isText) : []);
}

const clean = (text: string): string => sanitizeLabel(text, 200);
const shown = (value: NonNullable<Choice["value"]>): string =>
  Array.isArray(value) ? value.join(", ") : String(value);
const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (schema: Json): boolean => isObject(schema) && (schema.type === "number" || schema.type === "integer");
const isList = (schema: Json): boolean => isObject(schema) && schema.type === "array";

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
