/** What a parsed shell line looks like to its readers. Data only: shell.ts says how to get it, no rule or path is judged here. */

/** One argument a word becomes. */
export interface Field {
  /** Quotes and escapes removed, known variables filled in. */
  value: string;
  /** Set when an unquoted `*`, `?` or `[` is in it: the same text with every quoted wildcard escaped by a backslash. */
  pattern: string | null;
  /** Starts with an unquoted `~`, which the shell replaces by a home directory. `value` keeps the `~`. */
  tilde: boolean;
}

export interface Word {
  /** As written. */
  text: string;
  /** The one value it surely has; null when it is unknown, has several, or becomes several arguments. */
  value: string | null;
  /** Quotes removed, unknown expansions left as written (`"$X"/a` is `$X/a`). Equal to `value` when that is set. */
  shape: string;
  /** It may become something that isn't in `alternatives`. */
  dynamic: boolean;
  /** Any quoting at all. */
  quoted: boolean;
  /** Holds an unquoted `*`, `?` or `[`. */
  glob: boolean;
  /** Everything known that it may become, each a list of arguments: braces give several arguments, `for` variables several alternatives. */
  alternatives: Field[][];
  /** Commands whose output is in it, by `$(…)`, backticks or a process substitution; not those nested deeper. */
  substitutions: SimpleCommand[];
  /** Offsets in the text that was parsed (of the inner text, for code inside backticks or `sh -c`). */
  start: number;
  end: number;
}

export interface HereDoc {
  /** As written, tabs of `<<-` removed. */
  body: string;
  /** Null when an expansion in it is unknown. */
  value: string | null;
  /** The delimiter was quoted: nothing in the body expands. */
  quoted: boolean;
  /** `<<-` */
  tabs: boolean;
  substitutions: SimpleCommand[];
}

export const REDIRECT_OPS = [">", ">>", ">|", "<", "<>", "&>", "&>>", ">&", "<&", "<<", "<<-", "<<<"] as const;
export type RedirectOp = (typeof REDIRECT_OPS)[number];

export interface Redirect {
  op: RedirectOp;
  /** The number in front, the name of `{name}>`, or null when left out. */
  fd: number | string | null;
  /** File, descriptor (`>&2`: value "2", `>&-`: "-") or here-string; null for here-documents. */
  target: Word | null;
  hereDoc: HereDoc | null;
}

export interface Assignment {
  /** Without subscript. */
  name: string;
  /** `+=` */
  append: boolean;
  /** Null for an array (`a=(…)`), whose elements are in `elements`. */
  value: Word | null;
  elements: Word[];
}

export type Context = "plain" | "substitution" | "process-substitution" | "function-body" | "wrapper";

/** A known value of a variable: every text it may hold, and whether there can be others. */
export interface Known {
  values: readonly string[];
  exact: boolean;
  /** The values are patterns for file names, as in `for f in *.ts`, whose matches are the real ones. */
  globs?: boolean;
}

export interface SimpleCommand {
  /** The line or piece of code it was parsed from: the same object for all its commands. */
  line: object;
  text: string;
  /** Without assignments and redirections. Empty for `X=1`, for `> file`, and for the redirections of a compound command. */
  words: Word[];
  assignments: Assignment[];
  /** Its own. */
  redirects: Redirect[];
  /** Those of the compound commands around it, outermost first; shared between commands. */
  inherited: readonly Redirect[];
  /** The stage before it in its pipeline (or the pipeline of the compound around it); for a function's commands, its calls. `upstream` walks further back. */
  pipe: { from: readonly SimpleCommand[] };
  context: Context;
  /** Commands of the function it calls, when the line defines one of that name. */
  calls: readonly SimpleCommand[];
  /** Substitutions, functions and wrappers it is inside of. */
  depth: number;
  start: number;
  end: number;
  /** Directories it may run in: relative to where the line starts (`.` itself), absolute, or starting with `~`. Never empty. */
  cwds: readonly string[];
  /** False after a `cd` whose target isn't known: other directories are possible. */
  cwdKnown: boolean;
  /** Variables its literal text mentions, as known when it runs; for code handed to another shell or to `eval`. */
  scope: ReadonlyMap<string, Known>;
}

export type Parsed =
  | {
      ok: true;
      /** In source order, a command before those nested in it. */
      commands: SimpleCommand[];
      /** Names of functions the line defines; their bodies are among `commands`. */
      functions: ReadonlySet<string>;
      /** Something expands text as code where no command is visible (`${x@P}`, array subscripts in arithmetic). */
      runsCode: boolean;
      /** A POSIX `sh` reads it otherwise and may run commands that aren't listed (`$'…'`, `[[ … ]]`, `((…))`): trust the list only for bash. */
      bashOnly: boolean;
      /** Set by whoever has a POSIX `sh` run the line: code inside its arguments is read by that too. */
      posix?: boolean;
    }
  | { ok: false; reason: string };

/** One argument of what really runs. */
export interface Arg {
  /** The value, or the word's `shape` when that isn't known. */
  text: string;
  value: string | null;
  pattern: string | null;
  tilde: boolean;
  dynamic: boolean;
  word: Word;
}

/** What a simple command really runs, in one reading of it: a command has several when words have alternatives or wrappers run others. */
export interface Effective {
  /** `argv`: name without directories first. Empty when nothing runs (assignments or redirections alone). */
  words: string[];
  /** As `words`, with the name as written. */
  args: Arg[];
  /** `words` joined by one space. */
  normalised: string;
  /** Names of the wrappers peeled to get here, outermost first. */
  via: string[];
  /** Every wrapper peeled is one that changes nothing about what its command does (`time`, `timeout`, `nice` …). */
  harmless: boolean;
  /** It wraps other commands, which follow in the list. */
  wraps: boolean;
  /** It wraps by a harmless wrapper, or hands its arguments on: what follows is judged in its place. */
  transparent: boolean;
  /** Which program runs isn't known: dynamic name, dynamic code, code that doesn't parse, or a wrapper's option nobody knows. */
  unknownName: boolean;
  /** More arguments come at run time (`xargs`, `find -exec … +`, `parallel`). */
  appended: boolean;
  /** Run by a program that rules trust by itself (`npx`, `uv run`): rules on this command can only tighten. */
  runner: boolean;
  /** The name is a function of the same line, whose body is judged by itself. */
  functionCall: boolean;
  /** Assignments in front of it or set by `env`, `sudo` … on the way here. */
  assignments: { name: string; value: string | null }[];
  /** The simple command whose words these are: the outer one, or one parsed out of code in it. */
  command: SimpleCommand;
}
