/** Shell lines taken apart: which simple commands a line runs, with which words. Judges nothing; the permission and guard modules do. */
import type { Known, Parsed } from "./shell-types.ts";
import { parseAt } from "./shell-walk.ts";

export type * from "./shell-types.ts";
export { effectiveCommands, stdinOf, upstream } from "./shell-wrappers.ts";

/**
 * Simple commands of `source` in source order, nested ones included. `known` holds variables whose values the caller vouches for.
 * Never throws; time grows linearly with the text. Not ok: what bash refuses too, carriage returns and NULs, more than 100 KB,
 * more than 100 constructs inside each other.
 */
export function parseShell(source: string, known: ReadonlyMap<string, Known> = new Map()): Parsed {
  const dirs = { paths: ["."], known: true };
  return parseAt(source, { variables: known, from: [], inherited: [], context: "plain", depth: 0, dirs });
}
