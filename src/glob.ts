/** Glob patterns as people and models write them for a workspace. Matching only; the tree is walked elsewhere. */
import { ToolError } from "./errors.ts";
import { compileGlob, type Glob } from "./glob-match.ts";

/** Longer than any pattern that means something; the automaton grows with it. */
const MAX_LENGTH = 1000;
/** Deeper nesting is no pattern anybody wrote. */
const MAX_BRACES = 64;

export interface PathGlob {
  /** `path` is relative to the workspace root, with forward slashes. */
  matches(path: string): boolean;
  /** The path itself when the pattern has nothing special in it, else null: it may then name an ignored file or a directory. */
  literal: string | null;
  /** Whether anything below a directory can match; it is given as paths are. */
  mayEnter(directory: string): boolean;
}

/**
 * `**` any directories, `*` and `?` within a name (dot files too), `[…]`, `{a,b}`. A pattern without a slash matches at any
 * depth; a leading `./` or `/` means the workspace root. Throws ToolError for what can't be a pattern.
 */
export function parseGlob(pattern: string): PathGlob {
  if (pattern.length > MAX_LENGTH || (pattern.match(/\{/g)?.length ?? 0) > MAX_BRACES) {
    throw new ToolError("The pattern is too long. Use a shorter one, or several calls.");
  }
  const rooted = /^\.?\/+/.test(pattern);
  const body = normalise(pattern);
  if (body === "") return { matches: () => true, literal: ".", mayEnter: () => true };
  const glob = compile(rooted || body.includes("/") ? body : `**/${body}`);
  const literal = /[*?[{\\]/.test(body) ? null : body;
  const start = rooted || body.includes("/") ? firstDirectories(body) : "";
  const mayEnter = (directory: string) => start.startsWith(`${directory}/`) || `${directory}/`.startsWith(start);
  return { matches: (path) => glob.matches(path), literal, mayEnter };
}

/** `src/lib/` of `src/lib/*.ts`: where everything that matches must be. Empty, or with a slash at its end. */
function firstDirectories(body: string): string {
  const plain = body.slice(0, body.search(/[*?[{\\]|$/));
  return plain.slice(0, plain.lastIndexOf("/") + 1);
}

/** `./a//b/` → `a/b`. `dir/` stands for everything below it. */
function normalise(pattern: string): string {
  const body = pattern.replace(/^(?:\.?\/+)+/, "").replace(/\/(?:\.?\/)+/g, "/");
  return body === "." ? "" : body.endsWith("/") ? `${body}**` : body;
}

function compile(pattern: string): Glob {
  return compileGlob(pattern, { braces: true, openBracket: "literal", ignoreCase: false, pathname: true });
}
