/** The calls of one answer before anybody judges them: unknown, doubled, cut and ill-formed ones are refused, the rest is put into batches. Runs nothing. */
import { canonicalJson } from "./canonical-json.ts";
import { nearestName } from "./nearest.ts";
import { validateInput } from "./tool-input.ts";
import type { PreparedCall, Tool } from "./tool.ts";
import type { ToolCallPart } from "./types.ts";

export type Item =
  | { call: ToolCallPart; prepared: PreparedCall }
  /** `tool` where the call is a whole one whose input doesn't fit. */
  | { call: ToolCallPart; refusal: string; tool?: Tool; duplicate?: boolean };

type Tools = ReadonlyMap<string, Tool>;

/** More than this many at once would open too many files and processes on a small server. Raise it here if a model asks for more. */
const MAX_TOGETHER = 8;

const DUPLICATE = "[tool error] Duplicate of another call in this response: skipped. Use that call's result.";

/** Identifies a call for the latch and for duplicates. */
export function callKey(name: string, input: ToolCallPart["input"]): string {
  return `${name} ${canonicalJson(input)}`;
}

/** The calls of one answer, each ready to be judged or refused. */
export function prepareAll(calls: readonly ToolCallPart[], tools: Tools): Item[] {
  const seen = new Set<string>();
  return calls.map((call) => {
    const refusal = refuse(call, tools, seen);
    seen.add(callKey(call.name, call.input));
    if (refusal !== null) return { call, refusal, duplicate: refusal === DUPLICATE };
    const tool = tools.get(call.name);
    if (!tool) return { call, refusal: unknownTool(call.name, tools) };
    const checked = validateInput(tool.input, call.input);
    if (!checked.ok) return { call, refusal: checked.message, tool };
    return { call, prepared: { id: call.id, tool, input: checked.input, rawInput: call.input } };
  });
}

function refuse(call: ToolCallPart, tools: Tools, seen: ReadonlySet<string>): string | null {
  if (!tools.has(call.name)) return unknownTool(call.name, tools);
  if (!call.inputError && seen.has(callKey(call.name, call.input))) return DUPLICATE;
  if (call.inputError?.kind === "truncated")
    return "[tool error] Not executed: the output limit cut this call off. Split the work into smaller calls.";
  if (call.inputError) return `[validation error] Not executed: ${call.inputError.message}`;
  return null;
}

function unknownTool(name: string, tools: Tools): string {
  const near = nearestName(name, tools.keys());
  return `[tool error] There is no tool "${name}".${near ? ` Did you mean "${near}"?` : ` Available: ${[...tools.keys()].join(", ")}`}`;
}

/** Neighbours that may overlap form one batch; everything else stands alone. */
export function batches(items: readonly Item[]): Item[][] {
  const found: Item[][] = [];
  let open: Item[] | null = null;
  for (const item of items) {
    if (!overlaps(item)) {
      found.push([item]);
      open = null;
    } else if (open && open.length < MAX_TOGETHER) open.push(item);
    else {
      open = [item];
      found.push(open);
    }
  }
  return found;
}

function overlaps(item: Item): boolean {
  return "prepared" in item && item.prepared.tool.concurrencySafe(item.prepared.input);
}

/** The input with the blanks of a command line evened out: they make no other command of it. */
export function comparable(item: Item): ToolCallPart["input"] {
  const { input } = item.call;
  if (!("prepared" in item)) return input;
  const subjects = item.prepared.tool.subjects(item.prepared.input);
  const commands = subjects.flatMap((subject) => (subject.kind === "command" ? [subject.command] : []));
  const evened = Object.entries(input).map(([key, value]) =>
    typeof value === "string" && commands.includes(value) ? [key, value.trim().replace(/\s+/g, " ")] : [key, value],
  );
  return Object.fromEntries(evened);
}
