/** From the grammar tree to the list of simple commands: walks the line in the order it runs, keeping what is known of values, pipes and directories. */
import { runBuiltin, runsElsewhere } from "./shell-builtins.ts";
import { parseTree } from "./shell-parse.ts";
import {
  assign,
  either,
  forgetAll,
  isolated,
  maybe,
  newVariables,
  NOWHERE,
  same,
  unite,
  type Dirs,
  type Flow,
} from "./shell-state.ts";
import { emitRedirects, emitSimple, expand, listOf, type Emission, type Scope } from "./shell-emit.ts";
import {
  assignedIn,
  ShellSyntaxError,
  type Node,
  type Part,
  type Pipeline,
  type RawWord,
  type Script,
} from "./shell-tree.ts";
import type { Context, Known, Parsed, Redirect, SimpleCommand } from "./shell-types.ts";
import { steersCommands } from "./shell-variables.ts";
import { valuesOf } from "./shell-words.ts";

/** Where a piece of code stands: at the start of a line, or inside a command that hands it to a shell. */
export interface Origin {
  variables: ReadonlyMap<string, Known>;
  from: readonly SimpleCommand[];
  inherited: readonly Redirect[];
  context: Context;
  depth: number;
  dirs: Dirs;
}

/** Longer lines aren't commands somebody wrote. */
const MAX_LENGTH = 100 * 1024;

/** Parses code found at `origin`. Never throws; the reason says what is wrong, for a person. */
export function parseAt(source: string, origin: Origin): Parsed {
  if (source.length > MAX_LENGTH) return { ok: false, reason: "longer than 100 KB" };
  if (/[\r\0]/.test(source)) return { ok: false, reason: "a carriage return or NUL in it" };
  try {
    return walkTree(source, origin);
  } catch (error) {
    if (error instanceof ShellSyntaxError) return { ok: false, reason: error.message };
    throw error;
  }
}

function walkTree(source: string, origin: Origin): Parsed {
  const { script, flags, assigned } = parseTree(source);
  const expansion = {
    variables: newVariables(origin.variables),
    splits: !assigned.includes("IFS"),
    budget: 256 * 1024,
    outputs: new Map<Part, string>(),
  };
  const emission: Emission = {
    line: {},
    commands: [],
    functions: new Map(),
    bodies: new Map(),
    callers: new Map(),
    expansion,
    moves: /\b(?:cd|pushd|popd|eval)\b/.test(source),
    steers: false,
    walkScript,
  };
  const { from, inherited, context, depth } = origin;
  walkScript(script, { emission, from, inherited, context, depth, sink: [], dirs: origin.dirs }, origin.dirs);
  const runsCode = emission.steers || flags.runsCode || (flags.arithmetic && flags.hidden);
  return {
    ok: true,
    commands: emission.commands,
    functions: new Set(emission.functions.keys()),
    runsCode,
    bashOnly: flags.bashOnly,
  };
}

function walkScript(script: Script, scope: Scope, dirs: Dirs): Flow {
  let flow = same(dirs);
  for (let at = 0; at < script.items.length;) {
    const end = chainEnd(script, at);
    const chain = script.items.slice(at, end);
    const before = either(flow);
    if (chain.at(-1)?.after === "&") {
      isolated(scope.emission.expansion.variables, () => walkChain(chain, scope, before));
      flow = same(before);
    } else flow = walkChain(chain, scope, before);
    at = end;
  }
  return flow;
}

/** The index after the pipelines that `&&` and `||` hold together from `at` on. */
function chainEnd({ items }: Script, at: number): number {
  while (items[at]?.after === "&&" || items[at]?.after === "||") at++;
  return at + 1;
}

type Chain = Script["items"];

function walkChain(chain: Chain, scope: Scope, dirs: Dirs): Flow {
  let flow = same(dirs);
  let operator: Chain[number]["after"] = ";";
  for (let at = 0; at < chain.length;) {
    const end: number = operator === ";" ? 1 : runEnd(chain, at, operator);
    const run = chain.slice(at, end);
    const before = flow;
    const walk = (): Flow => walkRun(run, operator, scope, before);
    flow = at === 0 ? walk() : maybe(scope.emission.expansion.variables, walk);
    operator = chain[end - 1]?.after ?? ";";
    at = end;
  }
  return flow;
}

/** `&&`s in a row see each other's assignments; after a `||` they may not have run. */
function runEnd(chain: Chain, at: number, operator: string): number {
  let end = at + 1;
  while (operator === "&&" && end < chain.length && chain[end - 1]?.after === "&&") end++;
  return end;
}

function walkRun(run: Chain, operator: string, scope: Scope, start: Flow): Flow {
  let flow = start;
  for (const { pipeline } of run) {
    const next = walkPipeline(
      pipeline,
      scope,
      operator === ";" ? either(flow) : operator === "&&" ? flow.ok : flow.fail,
    );
    if (operator === ";") flow = next;
    else if (operator === "&&") flow = { ok: next.ok, fail: unite(flow.fail, next.fail) };
    else flow = { ok: unite(flow.ok, next.ok), fail: next.fail };
  }
  return flow;
}

function walkPipeline({ stages, negated }: Pipeline, scope: Scope, dirs: Dirs): Flow {
  const [first] = stages;
  if (first && stages.length === 1) {
    const { ok, fail } = walkNode(first, scope, dirs);
    return negated ? { ok: fail, fail: ok } : { ok, fail };
  }
  let { from } = scope;
  for (const stage of stages) {
    const sink: SimpleCommand[] = [];
    const { variables } = scope.emission.expansion;
    isolated(variables, () => walkNode(stage, { ...scope, from, sink }, dirs));
    for (const command of sink) scope.sink.push(command);
    from = sink;
  }
  return same(dirs);
}

function walkNode(node: Node, outer: Scope, dirs: Dirs): Flow {
  if (node.kind === "simple") return walkSimple(node, { ...outer, dirs });
  const { inherited, commands } = emitRedirects(node, { ...outer, dirs });
  const flow = walkCompound(node, { ...outer, inherited, dirs });
  for (const command of commands) outer.emission.commands.push(command);
  return flow;
}

function walkSimple(node: Extract<Node, { kind: "simple" }>, scope: Scope): Flow {
  const command = emitSimple(node, scope);
  const { variables } = scope.emission.expansion;
  const called = scope.emission.functions.get(command.words[0]?.value ?? "");
  if (called) forgetAll(variables);
  if (called?.moves) return same({ ...scope.dirs, known: false });
  return runBuiltin(command, scope.emission.expansion, scope.dirs);
}

function walkCompound(node: Exclude<Node, { kind: "simple" }>, scope: Scope): Flow {
  const { variables } = scope.emission.expansion;
  switch (node.kind) {
    case "group":
      if (!node.subshell) return walkScript(node.body, scope, scope.dirs);
      isolated(variables, () => walkScript(node.body, scope, scope.dirs));
      return same(scope.dirs);
    case "if":
      return walkIf(node.branches, scope);
    case "while":
      return walkWhile(node, scope);
    case "for":
      return walkFor(node, scope);
    case "count":
      expandAll([{ parts: node.parts, text: "", start: node.start, end: node.end }], scope);
      return walkLoop(node.assigns, scope, (inner) => walkScript(node.body, inner, inner.dirs));
    case "case":
      return walkCase(node, scope);
    case "function":
      return walkFunction(node, scope);
    case "test":
      expandAll(node.words, scope);
      if (node.arithmetic)
        runsElsewhere(
          variables,
          node.words.flatMap((word) => assignedIn(word.parts)),
        );
      return same(scope.dirs);
    case "coproc":
      isolated(variables, () => walkNode(node.body, scope, scope.dirs));
      return same(scope.dirs);
    default:
      return node satisfies never;
  }
}

/** Words that run nothing themselves: only the commands inside them count. */
function expandAll(words: readonly RawWord[], scope: Scope): void {
  for (const word of words) expand(word, "value", scope);
}

function walkIf(branches: readonly { test: Script | null; body: Script }[], scope: Scope): Flow {
  const { variables } = scope.emission.expansion;
  let undecided = scope.dirs;
  let left: Flow = { ok: NOWHERE, fail: NOWHERE };
  branches.forEach(({ test, body }, index) => {
    const start = undecided;
    const run = (): Flow => (test ? walkScript(test, scope, start) : same(start));
    const tested = index === 0 ? run() : maybe(variables, run);
    const after = maybe(variables, () => walkScript(body, scope, tested.ok));
    left = { ok: unite(left.ok, after.ok), fail: unite(left.fail, after.fail) };
    undecided = test ? tested.fail : NOWHERE;
  });
  return { ok: unite(left.ok, undecided), fail: left.fail };
}

function walkWhile(node: Extract<Node, { kind: "while" }>, scope: Scope): Flow {
  return walkLoop(node.assigns, scope, (inner) => {
    const tested = walkScript(node.test, inner, inner.dirs);
    const after = walkScript(node.body, inner, either(tested));
    return { ok: unite(either(tested), either(after)), fail: NOWHERE };
  });
}

/** A body that may run never or often: what it changes is unknown from its start on. */
function walkLoop(assigns: readonly string[], scope: Scope, walk: (scope: Scope) => Flow): Flow {
  const { variables } = scope.emission.expansion;
  runsElsewhere(variables, assigns);
  const dirs = assigns.includes("-cd") ? { ...scope.dirs, known: false } : scope.dirs;
  const flow = maybe(variables, () => walk({ ...scope, dirs }));
  return { ok: unite(dirs, either(flow)), fail: flow.fail };
}

function walkFor(node: Extract<Node, { kind: "for" }>, scope: Scope): Flow {
  const words = node.words?.map((word) => expand(word, "argument", scope));
  const values = words ? valuesOf(words, true) : { values: [], exact: false };
  const { variables } = scope.emission.expansion;
  // It sets the variable where no assignment is seen.
  if (steersCommands(node.name)) scope.emission.steers = true;
  return walkLoop(node.assigns, scope, (inner) => {
    assign(variables, node.name, values);
    return walkScript(node.body, inner, inner.dirs);
  });
}

function walkCase(node: Extract<Node, { kind: "case" }>, scope: Scope): Flow {
  expandAll([node.subject], scope);
  const { variables } = scope.emission.expansion;
  let flow = same(scope.dirs);
  for (const { patterns, body } of node.clauses) {
    expandAll(patterns, scope);
    // `;&` falls through, so a clause may start where another one ended.
    const start = either(flow);
    const after = maybe(variables, () => walkScript(body, scope, start));
    flow = { ok: unite(flow.ok, after.ok), fail: unite(flow.fail, after.fail) };
  }
  return flow;
}

function walkFunction(node: Extract<Node, { kind: "function" }>, scope: Scope): Flow {
  const { emission } = scope;
  const { variables } = emission.expansion;
  const moves = node.assigns.some((name) => name === "-cd" || name === "*");
  emission.functions.set(node.name, { moves: moves || emission.functions.get(node.name)?.moves === true });
  const inner = { ...scope, context: "function-body" as const, depth: scope.depth + 1 };
  const sink = listOf(emission.bodies, node.name);
  isolated(variables, () => {
    // It runs later, when anything may have been assigned, and perhaps somewhere else.
    forgetAll(variables);
    const dirs = { ...scope.dirs, known: scope.dirs.known && !emission.moves };
    walkNode(node.body, { ...inner, from: listOf(emission.callers, node.name), sink }, dirs);
  });
  return same(scope.dirs);
}
