/** The command line: one table of flags from which parsing, usage, completion and the documentation test derive. Reads no files and starts nothing. */
import { defaultOptions, type Options } from "./args-options.ts";
import { UserError } from "./errors.ts";
import { nearestName } from "./nearest.ts";
import { THINKING_LEVELS, type ThinkingLevel } from "./types.ts";

export interface Flag {
  name: string;
  short?: string;
  /** Placeholder of its value; absent for switches. */
  value?: string;
  help: string;
  /** Turns the words given (in order) into the option's value. */
  apply(options: Options, value: string): void;
}

export interface Args {
  action: "version" | "help" | "run" | "command";
  /** Subcommand and what follows it; empty for the others. */
  command: string;
  rest: string[];
  /** The prompt given as a word; null when none was. */
  prompt: string | null;
  options: Options;
}

/** Subcommands with their one-line help. `words`: how many words may follow; none where it isn't said. */
export const SUBCOMMANDS: readonly { name: string; usage: string; help: string; words?: number }[] = [
  { name: "demo", usage: "demo [--yes]", help: "watch the whole agent work on a tiny project; no key, no network" },
  {
    name: "doctor",
    usage: "doctor [--online]",
    help: "check this installation and show where each setting comes from",
  },
  { name: "models", usage: "models [filter]", help: "list what the endpoint offers, with context and price", words: 1 },
  { name: "sessions", usage: "sessions", help: "list this directory's sessions" },
  {
    name: "permissions",
    usage: "permissions explain <tool> <subject>",
    help: "how a call would be judged, without running it",
    words: Infinity,
  },
  { name: "cost", usage: "cost [--since 7d]", help: "what sessions have cost, by day, model and directory" },
  { name: "prompt", usage: "prompt", help: "print the system prompt" },
  { name: "trust", usage: "trust", help: "show or record trust in this directory's own configuration" },
  { name: "completions", usage: "completions bash|zsh|fish", help: "print a completion script", words: 1 },
  { name: "schema", usage: "schema events", help: "print the JSON Schema of the --json events", words: 1 },
  { name: "update", usage: "update", help: "print how to update" },
  { name: "help", usage: "help [topic]", help: "this text, or a topic's", words: 1 },
];

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
  { name: "json", help: "with -p, one JSON event per line", apply: (o) => void (o.json = true) },
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
    help: "resume a session by id or unique prefix",
    apply: (o, v) => void (o.resume = v),
  },
  {
    name: "agent",
    value: "name",
    help: "default, quick, deep, plan, review, or one of your own",
    apply: (o, v) => void (o.agent = v),
  },
  {
    name: "think",
    value: "level",
    help: THINKING_LEVELS.join(", "),
    apply: (o, v) => void (o.think = thinkingLevel(v)),
  },
  {
    name: "provider",
    value: "name",
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
    help: "ask for approvals as JSON events, read answers from stdin",
    apply: (o, v) => void (o.approvals = approvals(v)),
  },
  { name: "strict", help: "exit 5 when a tool call was denied", apply: (o) => void (o.strict = true) },
  {
    name: "schema",
    value: "file",
    help: "the answer must be one JSON document valid against this JSON Schema",
    apply: (o, v) => void (o.schema = v),
  },
  {
    name: "output",
    short: "o",
    value: "file",
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
    help: "a further directory the tools may use; repeatable",
    apply: (o, v) => void o.addDirs.push(v),
  },
  {
    name: "directory",
    short: "C",
    value: "dir",
    help: "start in this directory",
    apply: (o, v) => void (o.directory = v),
  },
  { name: "plain", help: "line mode: no escapes, ASCII, prompts by line", apply: (o) => void (o.plain = true) },
  {
    name: "low-bandwidth",
    help: "no spinner, output in larger batches (implied under SSH)",
    apply: (o) => void (o.lowBandwidth = true),
  },
  { name: "yes", help: "with demo: answer its approvals", apply: (o) => void (o.yes = true) },
  { name: "online", help: "with doctor: also ask the endpoint", apply: (o) => void (o.online = true) },
  { name: "since", value: "time", help: "with cost: only the last 7d, 12h …", apply: (o, v) => void (o.since = v) },
  { name: "force", help: "with trust: record it without asking", apply: (o) => void (o.force = true) },
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

/** Reads `argv` without program names. Throws UserError (exit 2) for what it can't use. */
export function parseArgs(argv: readonly string[]): Args {
  const options = defaultOptions();
  const words: string[] = [];
  let shown: "version" | "help" | null = null;
  let onlyWords = false;
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (onlyWords || word === "-" || !word.startsWith("-")) {
      words.push(word);
      continue;
    }
    if (word === "--") {
      onlyWords = true;
      continue;
    }
    for (const { flag, value } of flagsOf(word)) {
      if (flag.name === "version" || flag.name === "help") shown ??= flag.name;
      if (flag.value === undefined) {
        if (value !== null) throw new UserError(`--${flag.name} takes no value`);
        flag.apply(options, "");
        continue;
      }
      const given = value ?? argv[++at];
      if (given === undefined || given.trim() === "")
        throw new UserError(`--${flag.name} needs a value: --${flag.name} <${flag.value}>`);
      flag.apply(options, given);
    }
  }
  if (shown) return { action: shown, command: "", rest: words, prompt: null, options };
  return withWords(words, options, onlyWords);
}

function withWords(words: string[], options: Options, literal: boolean): Args {
  const [first, ...rest] = words;
  const command = SUBCOMMANDS.find(({ name }) => name === first);
  if (command && !literal && !options.print) {
    if (rest.length > (command.words ?? 0))
      throw new UserError(`Too many words. Usage: shiro ${command.usage} (quote a prompt that begins with this word)`);
    return { action: "command", command: command.name, rest, prompt: null, options };
  }
  if (rest.length > 0) throw new UserError(`Several prompts given ("${first}", "${rest[0]}" …): quote the prompt`);
  if (options.approvals && (first === undefined || first === "-" || first.trim() === ""))
    throw new UserError("--approvals jsonl needs a prompt argument, since stdin carries the answers");
  if (options.approvals) Object.assign(options, { json: true, stdin: "never", print: true });
  if (options.json || options.schema !== null) options.print = true;
  return { action: "run", command: "", rest: [], prompt: first ?? null, options };
}

/** The flags of one word: `--name`, `--name=value`, `-x`, `-xyz`, `-xvalue`. */
function flagsOf(word: string): { flag: Flag; value: string | null }[] {
  if (word.startsWith("--")) {
    const equals = word.indexOf("=");
    const name = equals < 0 ? word.slice(2) : word.slice(2, equals);
    const flag = FLAGS.find((one) => one.name === name);
    if (!flag) throw unknownFlag(`--${name}`);
    return [{ flag, value: equals < 0 ? null : word.slice(equals + 1) }];
  }
  const found: { flag: Flag; value: string | null }[] = [];
  for (let at = 1; at < word.length; at++) {
    const flag = FLAGS.find((one) => one.short === word[at]);
    if (!flag) throw unknownFlag(`-${word[at]}`);
    if (flag.value === undefined) {
      found.push({ flag, value: null });
      continue;
    }
    found.push({ flag, value: at + 1 < word.length ? word.slice(at + 1) : null });
    break;
  }
  return found;
}

function unknownFlag(word: string): UserError {
  const near = word.startsWith("--")
    ? nearestName(
        word.slice(2),
        FLAGS.map((flag) => flag.name),
      )
    : null;
  return new UserError(`Unknown option ${word}${near ? `. Did you mean --${near}?` : ""} (shiro --help lists them)`);
}

/** The text of `--help`, at most 80 columns wide where the words allow. */
export function usage(): string {
  const rows = FLAGS.map((flag) => {
    const names = `${flag.short ? `-${flag.short}, ` : "    "}--${flag.name}${flag.value ? ` <${flag.value}>` : ""}`;
    return `  ${names.padEnd(26)} ${flag.help}`;
  });
  const commands = SUBCOMMANDS.map((command) => `  ${`shiro ${command.usage}`.padEnd(44)} ${command.help}`);
  return [
    "shiro: a coding agent for the terminal, for SSH, servers and pipes",
    "",
    "  shiro                        interactive",
    '  shiro "prompt"               interactive, starting with this prompt',
    '  shiro -p "prompt"            headless: the answer on stdout, everything else on stderr',
    '  git diff | shiro -p "review" stdin goes along as a labelled block',
    "",
    ...commands,
    "",
    "Options",
    ...rows,
    "",
    "Exit codes: 0 done, 1 internal, 2 usage or config, 3 credentials, 4 provider, 5 denied (--strict),",
    "6 ceiling or step cap, 7 --timeout, 8 schema, 130 SIGINT, 143 SIGTERM, 129 SIGHUP",
    "",
  ].join("\n");
}
