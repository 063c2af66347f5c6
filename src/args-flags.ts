/** The flags: one table from which parsing, usage, completion and the documentation test derive. Parses no command line. */
import type { Options } from "./args-options.ts";
import { UserError } from "./errors.ts";
import { THINKING_LEVELS, type ThinkingLevel } from "./types.ts";

/** Fixed words, or a kind of thing that is looked up when asked for. */
export type Takes = readonly string[] | "file" | "directory" | "session" | "agent" | "protocol";

export interface Flag {
  name: string;
  short?: string;
  /** Placeholder of its value; absent for switches. */
  value?: string;
  /** What its value is one of; completion offers it. */
  takes?: Takes;
  /** The subcommands it says something to. */
  of?: readonly string[];
  help: string;
  /** Turns the words given (in order) into the option's value. */
  apply(options: Options, value: string): void;
}

const positive =
  (flag: string, set: (options: Options, value: number) => void, whole = true) =>
  (options: Options, text: string): void => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value) || value <= 0 || (whole && !Number.isInteger(value)))
      throw new UserError(`--${flag} needs a positive ${whole ? "whole number" : "number"}, not "${text}"`);
    set(options, value);
  };

/** `90`, `90s`, `10m`, `2h`, `500ms` → milliseconds. */
export function parseDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim());
  if (!match) return null;
  const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[match[2] ?? "s"] ?? 1000;
  const value = Number(match[1]) * unit;
  return value > 0 ? value : null;
}

export const FLAGS: readonly Flag[] = [
  {
    name: "print",
    short: "p",
    help: "headless: print the answer and exit; `-p -` reads the prompt from stdin",
    apply: (o) => void (o.print = true),
  },
  {
    name: "json",
    of: ["models", "sessions", "permissions", "sandbox", "cost"],
    help: "one JSON event per line; after models, sessions, cost … JSON instead of text",
    apply: (o) => void (o.json = true),
  },
  {
    name: "continue",
    short: "c",
    help: "resume the newest session of this directory",
    apply: (o) => void (o.continue = true),
  },
  {
    name: "resume",
    short: "r",
    value: "id",
    takes: "session",
    help: "resume a session by id or unique prefix",
    apply: (o, v) => void (o.resume = v),
  },
  {
    name: "agent",
    value: "name",
    takes: "agent",
    help: "default, quick, deep, plan, review, or one of your own",
    apply: (o, v) => void (o.agent = v),
  },
  {
    name: "think",
    value: "level",
    takes: THINKING_LEVELS,
    help: THINKING_LEVELS.join(", "),
    apply: (o, v) => void (o.think = thinkingLevel(v)),
  },
  {
    name: "provider",
    value: "name",
    takes: "protocol",
    help: "wire protocol: anthropic or openai",
    apply: (o, v) => void (o.provider = v),
  },
  { name: "model", value: "id", help: "model id as the endpoint names it", apply: (o, v) => void (o.model = v) },
  { name: "base-url", value: "url", help: "API root", apply: (o, v) => void (o.baseUrl = v) },
  { name: "no-mcp", help: "skip MCP servers", apply: (o) => void (o.mcp = false) },
  { name: "no-subagent", help: "omit the task tool", apply: (o) => void (o.subagent = false) },
  { name: "no-instructions", help: "ignore AGENTS.md and friends", apply: (o) => void (o.instructions = false) },
  { name: "no-skills", help: "ignore builtin, installed and project skills", apply: (o) => void (o.skills = false) },
  { name: "no-plugins", help: "disable all plugins, the guard included", apply: (o) => void (o.plugins = false) },
  { name: "no-memory", help: "neither load nor write project memory", apply: (o) => void (o.memory = false) },
  {
    name: "yolo",
    help: "let everything run that would ask; the guard, deny rules and self-protection stay",
    apply: (o) => void (o.yolo = true),
  },
  {
    name: "allow",
    value: "rule",
    help: "allow rule for this run, e.g. 'bash(git *)'; repeatable",
    apply: (o, v) => void o.allow.push(v),
  },
  { name: "deny", value: "rule", help: "deny rule for this run; repeatable", apply: (o, v) => void o.deny.push(v) },
  {
    name: "approvals",
    value: "jsonl",
    takes: ["jsonl"],
    help: "ask for approvals as JSON events, read answers from stdin",
    apply: (o, v) => void (o.approvals = approvals(v)),
  },
  { name: "strict", help: "exit 5 when a tool call was denied", apply: (o) => void (o.strict = true) },
  {
    name: "schema",
    value: "file",
    takes: "file",
    help: "the answer must be one JSON document valid against this JSON Schema",
    apply: (o, v) => void (o.schema = v),
  },
  {
    name: "output",
    short: "o",
    value: "file",
    takes: "file",
    help: "write the last message to a file as well",
    apply: (o, v) => void (o.outputFile = v),
  },
  { name: "quiet", short: "q", help: "nothing on stderr but errors", apply: (o) => void (o.quiet = true) },
  { name: "stdin", help: "wait for stdin as long as it takes", apply: (o) => void (o.stdin = "wait") },
  { name: "no-stdin", help: "never read stdin", apply: (o) => void (o.stdin = "never") },
  { name: "ephemeral", help: "save no session", apply: (o) => void (o.ephemeral = true) },
  {
    name: "max-spend-usd",
    value: "n",
    help: "stop before a request once this much is spent",
    apply: positive("max-spend-usd", (o, v) => void (o.maxSpendUsd = v), false),
  },
  {
    name: "max-tokens",
    value: "n",
    help: "stop before a request once this many tokens are used",
    apply: positive("max-tokens", (o, v) => void (o.maxTokens = v)),
  },
  {
    name: "max-seconds",
    value: "n",
    help: "start no request after this many seconds",
    apply: positive("max-seconds", (o, v) => void (o.maxSeconds = v), false),
  },
  {
    name: "max-steps",
    value: "n",
    help: "cap the steps of a turn",
    apply: positive("max-steps", (o, v) => void (o.maxSteps = v)),
  },
  {
    name: "timeout",
    value: "time",
    help: "abort the run after 90, 90s or 10m (exit 7)",
    apply: (o, v) => void (o.timeoutMs = duration(v)),
  },
  {
    name: "add-dir",
    value: "dir",
    takes: "directory",
    help: "a further directory the tools may use; repeatable",
    apply: (o, v) => void o.addDirs.push(v),
  },
  {
    name: "directory",
    short: "C",
    value: "dir",
    takes: "directory",
    help: "start in this directory",
    apply: (o, v) => void (o.directory = v),
  },
  { name: "plain", help: "line mode: no escapes, ASCII, prompts by line", apply: (o) => void (o.plain = true) },
  {
    name: "low-bandwidth",
    help: "no spinner, output in larger batches (implied under SSH)",
    apply: (o) => void (o.lowBandwidth = true),
  },
  {
    name: "yes",
    of: ["demo", "registry"],
    help: "with demo and registry: answer their questions with yes",
    apply: (o) => void (o.yes = true),
  },
  { name: "online", of: ["doctor"], help: "with doctor: also ask the endpoint", apply: (o) => void (o.online = true) },
  {
    name: "since",
    of: ["cost"],
    value: "time",
    help: "with cost: only the last 7d, 12h …",
    apply: (o, v) => void (o.since = v),
  },
  {
    name: "force",
    of: ["trust", "mcp"],
    help: "with trust: record it without asking; with mcp add: replace",
    apply: (o) => void (o.force = true),
  },
  {
    name: "env",
    of: ["mcp"],
    value: "NAME=value",
    help: "with mcp add: a variable for the server; repeatable",
    apply: (o, v) => void o.env.push(v),
  },
  {
    name: "header",
    of: ["mcp"],
    value: "Name: value",
    help: "with mcp add: a header for the server; repeatable",
    apply: (o, v) => void o.headers.push(v),
  },
  { name: "version", short: "v", help: "version, bun version, platform, source or compiled", apply: () => {} },
  { name: "help", short: "h", help: "usage", apply: () => {} },
];

function thinkingLevel(text: string): ThinkingLevel {
  const level = THINKING_LEVELS.find((one) => one === text);
  if (!level) throw new UserError(`Unknown thinking level "${text}". Available: ${THINKING_LEVELS.join(", ")}`);
  return level;
}

function approvals(text: string): "jsonl" {
  if (text !== "jsonl") throw new UserError(`Unknown value "${text}" for --approvals. Available: jsonl`);
  return text;
}

function duration(text: string): number {
  const value = parseDuration(text);
  if (value === null) throw new UserError(`--timeout needs a time such as 90, 90s or 10m, not "${text}"`);
  return value;
}
