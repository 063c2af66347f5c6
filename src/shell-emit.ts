/** Makes the records of simple commands, their words and redirections, with the commands found inside them. shell-walk.ts decides the order. */
import { outputOf } from "./shell-pipes.ts";
import { assign, forget, isolated, lookUp, MAX_VALUES, type Dirs, type Flow } from "./shell-state.ts";
import {
  assignedIn,
  type Node,
  type Part,
  type RawAssignment,
  type RawRedirect,
  type RawSimple,
  type RawWord,
  type Script,
} from "./shell-tree.ts";
import {
  REDIRECT_OPS,
  type Assignment,
  type Context,
  type HereDoc,
  type Known,
  type Redirect,
  type RedirectOp,
  type SimpleCommand,
  type Word,
} from "./shell-types.ts";
import { steersCommands } from "./shell-variables.ts";
import { expandText, expandWord, valuesOf, type Expansion, type Place } from "./shell-words.ts";

/** What is collected over a whole line. */
export interface Emission {
  line: object;
  commands: SimpleCommand[];
  /** Functions defined so far, and whether they may change the directory. */
  functions: Map<string, { moves: boolean }>;
  /** Commands in the body of the function of a name, defined or not yet. */
  bodies: Map<string, SimpleCommand[]>;
  /** Commands of a name: the callers, should it become a function's. */
  callers: Map<string, SimpleCommand[]>;
  expansion: Expansion;
  /** The line may change the directory somewhere. */
  moves: boolean;
  /** A loop or a default sets a variable that changes what commands do. */
  steers: boolean;
  /** Handed in, because scripts stand inside of words. */
  walkScript: (script: Script, scope: Scope, dirs: Dirs) => Flow;
}

/** What is around a command. */
export interface Scope {
  emission: Emission;
  from: readonly SimpleCommand[];
  /** Where commands of this pipeline stage, substitution or function are collected. */
  sink: SimpleCommand[];
  inherited: readonly Redirect[];
  context: Context;
  depth: number;
  dirs: Dirs;
}

/** Records a simple command and everything inside it, and makes its assignments when it is nothing else. */
export function emitSimple(node: Node & RawSimple, scope: Scope): SimpleCommand {
  const command = record(node, scope);
  for (const raw of node.words) command.words.push(expand(raw, "argument", scope, command));
  for (const raw of node.redirects) command.redirects.push(emitRedirect(raw, scope, command));
  for (const raw of node.assignments) command.assignments.push(emitAssignment(raw, command, scope));
  const name = command.words[0]?.value;
  if (typeof name === "string") {
    listOf(scope.emission.callers, name).push(command);
    command.calls = listOf(scope.emission.bodies, name);
  }
  command.scope = mentioned(command, scope.emission.expansion);
  return command;
}

/** Records the redirections of a compound command as a command without words, after which come its own commands. */
export function emitRedirects(
  node: Node,
  scope: Scope,
): { inherited: readonly Redirect[]; commands: readonly SimpleCommand[] } {
  if (node.redirects.length === 0) return { inherited: scope.inherited, commands: [] };
  const commands: SimpleCommand[] = [];
  const later = { ...scope, emission: { ...scope.emission, commands } };
  const text = node.redirects.map((redirect) => redirect.text).join(" ");
  const command = record({ ...node, text }, later);
  for (const raw of node.redirects) command.redirects.push(emitRedirect(raw, later, command));
  return { inherited: [...scope.inherited, ...command.redirects], commands };
}

function record({ text, start, end }: Node, scope: Scope): SimpleCommand {
  const { from, inherited, context, depth, dirs } = scope;
  const command: SimpleCommand = {
    line: scope.emission.line,
    text,
    words: [],
    assignments: [],
    redirects: [],
    inherited,
    pipe: { from },
    context,
    calls: [],
    depth,
    start,
    end,
    cwds: dirs.paths.length > 0 ? dirs.paths : ["."],
    cwdKnown: dirs.known && dirs.paths.length > 0,
    scope: new Map(),
  };
  scope.emission.commands.push(command);
  scope.sink.push(command);
  return command;
}

/** Expands a word of `host`, recording the commands in it. */
export function expand(raw: RawWord, place: Place, scope: Scope, host?: SimpleCommand): Word {
  const substitutions: SimpleCommand[] = [];
  walkParts(raw.parts, substitutions, scope, host);
  return expandWord(raw, place, scope.emission.expansion, substitutions);
}

function walkParts(parts: readonly Part[], found: SimpleCommand[], scope: Scope, host?: SimpleCommand): void {
  const { expansion, walkScript } = scope.emission;
  for (const part of parts) {
    if (part.kind === "arithmetic") walkArithmetic(part.parts, found, scope, host);
    if (part.kind === "variable") walkOperand(part, found, scope, host);
    if (part.kind !== "commands") continue;
    const inner = insideOf(part.flow, [], scope, host);
    isolated(expansion.variables, () => walkScript(part.script, inner, scope.dirs));
    for (const command of inner.sink) found.push(command);
    const text = part.flow === "output" ? outputOf(inner.sink) : null;
    if (text !== null && text.length <= MAX_OUTPUT) expansion.outputs.set(part, text.replace(/\n+$/, ""));
  }
}

/** Longer output is a text, not a name, a path or an option. */
const MAX_OUTPUT = 1_024;

function insideOf(flow: "output" | "input" | "sink", sink: SimpleCommand[], scope: Scope, host?: SimpleCommand): Scope {
  const context = flow === "output" ? "substitution" : "process-substitution";
  const from = flow === "sink" && host ? [host] : scope.from;
  return { ...scope, from, sink, context, depth: scope.depth + 1 };
}

function walkArithmetic(parts: readonly Part[], found: SimpleCommand[], scope: Scope, host?: SimpleCommand): void {
  walkParts(parts, found, scope, host);
  for (const name of assignedIn(parts)) forget(scope.emission.expansion.variables, name);
}

function walkOperand(
  part: Extract<Part, { kind: "variable" }>,
  found: SimpleCommand[],
  scope: Scope,
  host?: SimpleCommand,
): void {
  walkParts(part.operand, found, scope, host);
  if (!part.operator.endsWith("=")) return;
  if (steersCommands(part.name)) scope.emission.steers = true;
  const { expansion } = scope.emission;
  forget(expansion.variables, part.name, expandText(part.operand, expansion).values);
}

function emitRedirect(raw: RawRedirect, scope: Scope, host: SimpleCommand): Redirect {
  const target = raw.target && expand(raw.target, "value", scope, host);
  return { op: operatorOf(raw.op), fd: raw.fd, target, hereDoc: raw.hereDoc && emitHereDoc(raw.hereDoc, scope, host) };
}

function operatorOf(text: string): RedirectOp {
  const found = REDIRECT_OPS.find((op) => op === text);
  if (!found) throw new Error(`no redirection operator: ${text}`);
  return found;
}

function emitHereDoc(raw: NonNullable<RawRedirect["hereDoc"]>, scope: Scope, host: SimpleCommand): HereDoc {
  const { body, quoted, tabs, parts } = raw;
  if (quoted) return { body, value: body, quoted, tabs, substitutions: [] };
  const substitutions: SimpleCommand[] = [];
  walkParts(parts, substitutions, scope, host);
  const { values, exact } = expandText(parts, scope.emission.expansion);
  return { body, value: exact && values.length === 1 ? (values[0] ?? null) : null, quoted, tabs, substitutions };
}

function emitAssignment(raw: RawAssignment, command: SimpleCommand, scope: Scope): Assignment {
  walkArithmetic(raw.subscript, [], scope, command);
  const value = raw.value && expand(raw.value, "value", scope, command);
  const elements = raw.elements.map((element) => expand(element, "argument", scope, command));
  const { variables } = scope.emission.expansion;
  const known = valuesOf(value ? [value] : elements, !value);
  if (command.words.length > 0) leaveBehind(command, raw.name, known, scope);
  else if (!value || raw.subscript.length > 0) forget(variables, raw.name, known.values);
  else if (raw.append) assign(variables, raw.name, appended(lookUp(variables, raw.name), known));
  else assign(variables, raw.name, known);
  return { name: raw.name, append: raw.append, value, elements };
}

/** In POSIX mode an assignment in front of a special builtin stays. */
const SPECIAL = new Set([
  ":",
  ".",
  "eval",
  "exec",
  "export",
  "readonly",
  "set",
  "shift",
  "source",
  "times",
  "trap",
  "unset",
]);

function leaveBehind(command: SimpleCommand, name: string, known: Known, scope: Scope): void {
  if (!SPECIAL.has(command.words[0]?.value ?? "")) return;
  forget(scope.emission.expansion.variables, name, known.values);
}

function appended(before: Known, more: Known): Known {
  const values = before.values.flatMap((head) => more.values.map((tail) => head + tail));
  const exact = before.exact && more.exact && values.length <= MAX_VALUES;
  return { values: values.slice(0, MAX_VALUES), exact };
}

/** Variables that the command's literal text mentions: what code handed to another shell may see. */
function mentioned(command: SimpleCommand, { variables }: Expansion): Map<string, Known> {
  const texts = command.words.flatMap((word) => word.alternatives.flat().map((field) => field.value));
  for (const { hereDoc, target } of command.redirects) texts.push(hereDoc?.value ?? target?.value ?? "");
  const names = texts
    .filter((text) => text.includes("$"))
    .flatMap((text) => text.match(/(?<=\$\{?)[A-Za-z_]\w*/g) ?? []);
  return new Map([...new Set(names)].map((name) => [name, lookUp(variables, name)]));
}

/** The list of a name, made when it is first asked for. */
export function listOf(lists: Map<string, SimpleCommand[]>, name: string): SimpleCommand[] {
  const list = lists.get(name) ?? [];
  lists.set(name, list);
  return list;
}
