/** What the shell's own commands change about variables and the directory. Knows nothing of rules. */
import { assign, forget, forgetAll, move, NOWHERE, same, type Dirs, type Flow, type Variables } from "./shell-state.ts";
import type { SimpleCommand, Word } from "./shell-types.ts";
import type { Expansion } from "./shell-words.ts";

/** Words in front of a builtin that leave it what it is. */
const TRANSPARENT = new Set(["builtin", "command", "time"]);

type Effect = (args: readonly Word[], at: { expansion: Expansion; dirs: Dirs; command: SimpleCommand }) => Flow;

const EFFECTS: Record<string, Effect> = {
  cd: changeDirectory,
  pushd: changeDirectory,
  popd: (_, { dirs }) => same({ ...dirs, known: false }),
  eval: (_, { expansion, dirs }) => runAnything(expansion.variables, { ...dirs, known: false }),
  source: (_, { expansion, dirs }) => runAnything(expansion.variables, dirs),
  ".": (_, { expansion, dirs }) => runAnything(expansion.variables, dirs),
  trap: (_, { expansion, dirs }) => runAnything(expansion.variables, dirs),
  read: readLine,
  mapfile: changeNamed,
  readarray: changeNamed,
  getopts: changeNamed,
  let: changeNamed,
  unset: changeNamed,
  printf: changeNamed,
  wait: changeNamed,
  declare,
  typeset: declare,
  local: declare,
  export: declare,
  readonly: declare,
  exit: () => ({ ok: NOWHERE, fail: NOWHERE }),
  return: () => ({ ok: NOWHERE, fail: NOWHERE }),
  break: () => ({ ok: NOWHERE, fail: NOWHERE }),
  continue: () => ({ ok: NOWHERE, fail: NOWHERE }),
};

/** Makes the changes `command` makes when it is a builtin, and says where it leaves the shell. */
export function runBuiltin(command: SimpleCommand, expansion: Expansion, dirs: Dirs): Flow {
  const words = [...command.words];
  while (TRANSPARENT.has(words[0]?.value ?? "") || (words.length > 1 && words[0]?.value === "-p")) words.shift();
  const [name, ...args] = words;
  if (name === undefined) return same(dirs);
  if (name.value === null) return runAnything(expansion.variables, dirs);
  const effect = Object.hasOwn(EFFECTS, name.value) ? EFFECTS[name.value] : undefined;
  return effect ? effect(args, { expansion, dirs, command }) : same(dirs);
}

/** The assignments of code that runs at some other time, perhaps never: a loop's next round, a function. */
export function runsElsewhere(variables: Variables, names: readonly string[]): void {
  if (names.includes("*")) forgetAll(variables);
  for (const name of names) if (/^\w/.test(name)) forget(variables, name);
}

function runAnything(variables: Variables, dirs: Dirs): Flow {
  forgetAll(variables);
  return same(dirs);
}

function changeDirectory(args: readonly Word[], { expansion, dirs }: { expansion: Expansion; dirs: Dirs }): Flow {
  const operands = args.filter((word) => !/^-[A-Za-z@-]+$/.test(word.value ?? ""));
  const [target] = operands;
  if (!target) return { ok: move(dirs, ["~"], true), fail: dirs };
  const fields = target.alternatives.flat();
  const plain = fields.every((field) => field.pattern === null && field.value !== "-" && field.value !== "");
  const known = !target.dynamic && plain && fields.length > 0 && !expansion.variables.entries.has("CDPATH");
  return {
    ok: move(
      dirs,
      fields.map((field) => field.value).filter((value) => value !== "-"),
      known,
    ),
    fail: dirs,
  };
}

/** `read x`, `unset x`, `printf -v x` …: every name among the arguments. */
function changeNamed(args: readonly Word[], { expansion, dirs }: { expansion: Expansion; dirs: Dirs }): Flow {
  for (const word of args) {
    if (word.value === null) forgetAll(expansion.variables);
    const name = /^-?v?(\w+)/.exec(word.value ?? "")?.[1];
    if (name) forget(expansion.variables, name);
  }
  return same(dirs);
}

/** `read x <<< text` is an assignment in disguise. */
function readLine(args: readonly Word[], at: { expansion: Expansion; dirs: Dirs; command: SimpleCommand }): Flow {
  const texts = at.command.redirects.map(
    ({ hereDoc, op, target }) => hereDoc?.value ?? (op === "<<<" ? target?.value : null),
  );
  const candidates = texts.flatMap((text) => (text ? [text.trim(), ...text.trim().split(/\s+/).slice(0, 8)] : []));
  const flow = changeNamed(args, at);
  for (const word of args) {
    if (word.value && /^[A-Za-z_]\w*$/.test(word.value)) forget(at.expansion.variables, word.value, candidates);
  }
  return flow;
}

/** `export A=x` and its like. Attributes that change later assignments make the variable one that isn't followed. */
function declare(
  args: readonly Word[],
  { expansion, dirs, command }: { expansion: Expansion; dirs: Dirs; command: SimpleCommand },
): Flow {
  const { variables } = expansion;
  const options = args.map((word) => /^[-+][A-Za-z]+$/.exec(word.value ?? "")?.[0] ?? "").join("");
  const odd = /[^-+gxfFp]/.test(options) || command.words.some((word) => word.value === "readonly");
  for (const word of args) declareOne(variables, word, odd);
  for (const { name } of command.assignments) forget(variables, name);
  return same(dirs);
}

function declareOne(variables: Variables, word: Word, odd: boolean): void {
  const assigned = word.alternatives.flat().map((field) => /^(\w+)(\+?)=([\s\S]*)$/.exec(field.value));
  const name = /^\w+/.exec(word.shape)?.[0];
  if (!name) return word.dynamic ? forgetAll(variables) : undefined;
  if (odd) variables.odd.add(name);
  const values = assigned.flatMap((match) => (match?.[1] === name ? [match[3] ?? ""] : []));
  if (!word.shape.includes("=")) return;
  if (word.dynamic || assigned[0]?.[2] === "+" || values.length !== assigned.length) forget(variables, name, values);
  else assign(variables, name, { values, exact: values.length > 0 });
}
