/** Turns a custom command or a skill with its arguments into a prompt: commands in it run through the gate, files are read as by read_file. */
import { bindEscalation } from "./approval-escalation.ts";
import type { Ask, Denial } from "./approval.ts";
import { parseCommand } from "./commands.ts";
import { commandTrust, type CustomCommand } from "./custom-commands.ts";
import { expandTemplate, type Piece } from "./custom-template.ts";
import { ToolError, UserError, messageOf } from "./errors.ts";
import type { AskUser } from "./session-parts.ts";
import type { Setup } from "./setup.ts";
import type { TurnOptions } from "./setup-turn.ts";
import type { Skill } from "./skills.ts";
import { cutMiddle } from "./text.ts";
import { validateInput } from "./tool-input.ts";
import { skillLimit, skillText } from "./tool-skill.ts";
import { redeem, type PreparedCall, type ToolContext } from "./tool.ts";
import type { JsonObject } from "./types.ts";

export interface Expanded {
  text: string;
  turn: TurnOptions;
}

export interface ExpandDeps {
  setup: Setup;
  /** Null: nobody can approve. */
  ask: AskUser | null;
  signal: AbortSignal;
  /** A command is about to run. */
  ran(command: string): void;
}

/** Longer output would push the task itself out of small contexts; the model can run the command itself. */
const OUTPUT_CHARS = 20_000;
const COMMAND_MS = 30_000;

/** What a prompt that names a custom command or a skill (`/name args`) stands for; null for any other. Throws UserError. */
export async function expandPrompt(prompt: string, deps: ExpandDeps): Promise<Expanded | null> {
  const parsed = parseCommand(prompt);
  if (!parsed) return null;
  const { extensions } = deps.setup;
  const skill = /^skill:(.*)$/.exec(parsed.name)?.[1];
  if (skill !== undefined) return expandSkill(skill, parsed.args, deps.setup);
  const command = extensions.commands().list.find((one) => one.name === parsed.name);
  return command ? expandCommand(command, parsed.args, deps) : null;
}

/** The prompt for `/skill:name args`. Its files become readable. Throws UserError for an unknown one. */
export function expandSkill(name: string, args: string, setup: Setup): Expanded {
  const skills = setup.extensions.skills();
  const body = skills.body(name);
  const skill: Skill | undefined = skills.list.find((one) => one.name === name);
  if (!skill) throw new UserError(`There is no skill "${name}".`);
  if (skill.folder !== null) setup.workspace.readableDirs.add(skill.folder);
  const task = args === "" ? `Apply the skill "${name}".` : args;
  const turn = { agent: null, model: null, limit: skillLimit(skill) };
  return { text: `${task}\n\n${skillText(skill, body)}`, turn };
}

/** The prompt for a custom command. Throws UserError when something in it may not run or be read: then nothing is sent. */
export async function expandCommand(command: CustomCommand, args: string, deps: ExpandDeps): Promise<Expanded> {
  requireTrust(command, deps.setup.home.path);
  // What was refused in an earlier turn may be asked about again.
  deps.setup.gate.startTurn();
  const texts: string[] = [];
  for (const piece of expandTemplate(command.template, args)) texts.push(await pieceText(piece, command.name, deps));
  const text = texts.join("").trim();
  if (text === "") throw new UserError(`/${command.name} came to an empty prompt`);
  return { text, turn: { agent: command.agent, model: command.model, limit: null } };
}

function requireTrust(command: CustomCommand, home: string): void {
  const state = commandTrust(command, home);
  if (state === "trusted") return;
  const why = state === "changed" ? "has changed since you trusted it" : "is not trusted";
  throw new UserError(
    `/${command.name} runs commands and ${why}: /trust (or shiro trust) shows ${command.path} and records your consent`,
  );
}

async function pieceText(piece: Piece, name: string, deps: ExpandDeps): Promise<string> {
  switch (piece.kind) {
    case "text":
      return piece.text;
    case "command":
      return outputOf(piece.command, name, deps);
    case "file":
      return fileText(piece.path, name, deps);
    default:
      return piece satisfies never;
  }
}

async function outputOf(command: string, name: string, deps: ExpandDeps): Promise<string> {
  const what = `/${name}: !\`${command}\``;
  const text = await call("bash", { command, timeout: COMMAND_MS }, what, deps, () => begins(command, deps));
  // That all went well needs no words.
  const plain = text.replace(/\n\[exit code 0, [^\]\n]*\]$/, "");
  return cutMiddle(plain, OUTPUT_CHARS, (dropped) => `\n[… ${dropped} characters left out …]\n`).text.trim();
}

function begins(command: string, deps: ExpandDeps): void {
  deps.ran(command);
  deps.setup.session.ranForNextPrompt(command);
}

/** `@word` that names no file is only a word. */
async function fileText(path: string, name: string, deps: ExpandDeps): Promise<string> {
  if (!isThere(path, name, deps.setup)) return `@${path}`;
  const text = await call("read_file", { path }, `/${name}: @${path}`, deps);
  return `<file path="${path}">\n${text}\n</file>`;
}

function isThere(path: string, name: string, setup: Setup): boolean {
  try {
    return setup.workspace.locate(path, "read").exists;
  } catch (error) {
    if (error instanceof ToolError) throw new UserError(`/${name}: @${path} was refused: ${error.message}`);
    throw error;
  }
}

let calls = 0;

/** One call as the model would make it: judged, asked about, run. */
async function call(
  tool: string,
  input: JsonObject,
  what: string,
  deps: ExpandDeps,
  begins: () => void = () => {},
): Promise<string> {
  const prepared = prepare(tool, input, deps.setup);
  const context = contextOf(prepared, deps);
  try {
    const { ask, signal, setup } = deps;
    const admission = await setup.gate.admit(prepared, bound(ask, prepared), () => context, { signal });
    if ("denied" in admission) throw refusal(what, admission.denied);
    begins();
    const { text } = await redeem(admission.grant, context);
    return await deps.setup.session.parts.finish(text, prepared);
  } catch (error) {
    if (deps.signal.aborted) throw deps.signal.reason;
    if (error instanceof ToolError) throw new UserError(`${what} failed: ${messageOf(error)}`);
    throw error;
  }
}

/** The person who refused needs no reason; those given for other refusals are the model's too. */
function refusal(what: string, { by, reason }: Pick<Denial, "by" | "reason">): UserError {
  return new UserError(
    by === "user" ? `${what} was refused, so nothing is sent` : `${what} was refused (${by}): ${reason}`,
  );
}

function prepare(name: string, input: JsonObject, setup: Setup): PreparedCall {
  const tool = setup.tools().find((one) => one.name === name);
  if (!tool) throw new UserError(`The tool ${name} is not available`);
  const checked = validateInput(tool.input, input);
  if (!checked.ok) throw new UserError(checked.message);
  return { id: `own-${++calls}`, tool, input: checked.input, rawInput: input };
}

function contextOf(prepared: PreparedCall, { setup, signal, ask }: ExpandDeps): ToolContext {
  const { session } = setup;
  const base = session.parts.toolContext(prepared, signal, () => {}, session);
  const warn = (message: string): void => setup.query.onNotice({ level: "warning", message });
  const escalate = bindEscalation(bound(ask, prepared), prepared, new Set());
  return { ...base, ask: null, agents: null, limitTools: () => {}, warn, escalate };
}

function bound(ask: AskUser | null, { id, rawInput }: PreparedCall): Ask | null {
  return ask === null ? null : (prompt) => ask(prompt, { id, input: rawInput });
}
