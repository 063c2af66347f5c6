/** The command line: subcommands and parsing; the usage is args-usage.ts. Reads no files and starts nothing. */
import { FLAGS, type Flag } from "./args-flags.ts";
import { defaultOptions, type Options } from "./args-options.ts";
import { UserError } from "./errors.ts";
import { nearestName } from "./nearest.ts";

export { FLAGS, parseDuration } from "./args-flags.ts";

export interface Args {
  action: "version" | "help" | "run" | "command";
  /** Subcommand and what follows it; empty for the others. */
  command: string;
  rest: string[];
  /** The prompt given as a word; null when none was. */
  prompt: string | null;
  options: Options;
}

export interface Subcommand {
  name: string;
  usage: string;
  /** Its forms, where one line can't tell them. */
  synopses?: readonly string[];
  help: string;
  /** The help topic that says more. */
  topic?: string;
  /** How many words may follow; none where it isn't said. */
  words?: number;
  /** What the first of them may be, where that is fixed. */
  verbs?: readonly string[];
}

export const SUBCOMMANDS: readonly Subcommand[] = [
  { name: "demo", usage: "demo [--yes]", help: "watch the whole agent work on a tiny project; no key, no network" },
  {
    name: "doctor",
    usage: "doctor [--online]",
    help: "check this installation and show where each setting comes from",
    topic: "config",
  },
  {
    name: "models",
    usage: "models [filter]",
    help: "list what the endpoint offers, with context and price",
    words: 1,
    topic: "config",
  },
  { name: "sessions", usage: "sessions", help: "list this directory's sessions", topic: "sessions" },
  {
    name: "permissions",
    usage: "permissions explain <tool> <subject>",
    help: "how a call would be judged, without running it",
    words: Infinity,
    verbs: ["explain"],
    topic: "permissions",
  },
  {
    name: "sandbox",
    usage: "sandbox status",
    help: "what confines commands here, and what does not hold",
    words: 1,
    verbs: ["status"],
    topic: "sandbox",
  },
  {
    name: "mcp",
    usage: "mcp list|add|remove|test|login [name …]",
    help: "the MCP servers; add NAME URL, or add NAME -- command",
    words: Infinity,
    verbs: ["list", "add", "remove", "test", "login"],
    topic: "mcp",
    synopses: [
      "mcp list",
      "mcp add NAME URL",
      "mcp add NAME -- command args…",
      "mcp remove NAME",
      "mcp test NAME",
      "mcp login NAME",
    ],
  },
  {
    name: "cost",
    usage: "cost [--since 7d]",
    help: "what sessions have cost, by day, model and directory",
    topic: "cost",
  },
  { name: "prompt", usage: "prompt", help: "print the system prompt", topic: "agents" },
  {
    name: "registry",
    usage: "registry [search q|installed|add name|remove name|update]",
    help: "find, install and remove skills and plugins",
    words: Infinity,
    verbs: ["search", "installed", "add", "remove", "update"],
    topic: "registry",
    synopses: [
      "registry",
      "registry search <words>",
      "registry installed",
      "registry add <name>",
      "registry update [name]",
      "registry remove <name>",
    ],
  },
  {
    name: "trust",
    usage: "trust",
    help: "show or record trust in this directory's own configuration",
    topic: "config",
  },
  {
    name: "completions",
    usage: "completions bash|zsh|fish",
    help: "print a completion script",
    words: 1,
    verbs: ["bash", "zsh", "fish"],
  },
  {
    name: "schema",
    usage: "schema events",
    help: "print the JSON Schema of the --json events",
    words: 1,
    verbs: ["events"],
    topic: "headless",
  },
  { name: "update", usage: "update", help: "print how to update" },
  { name: "help", usage: "help [topic]", help: "this text, or a topic's", words: 1 },
];

/** Reads `argv` without program names. Throws UserError (exit 2) for what it can't use. */
export function parseArgs(argv: readonly string[]): Args {
  const options = defaultOptions();
  const words: string[] = [];
  let shown: "version" | "help" | null = null;
  let onlyWords = false;
  let literal = false;
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (onlyWords || word === "-" || !word.startsWith("-")) {
      words.push(word);
      continue;
    }
    if (word === "--") {
      // After a subcommand it ends the options only: `mcp add name -- command --flag`.
      literal ||= words.length === 0;
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
  return withWords(words, options, literal);
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
