/** One reason why a call isn't simply allowed, and what lines are judged by. */
import type { Scene } from "./permission-scene.ts";
import type { Table } from "./permission.ts";
import type { Denier } from "./types.ts";

export interface Finding {
  decision: "ask" | "deny";
  by: Denier;
  rule: string | null;
  reason: string;
  /** No rule, grant or --yolo answers it: a person must. */
  firm: boolean;
  /** What is asked about: a simple command, a path. */
  text: string;
  /** Whose session grants can answer it. */
  tool: string;
  /** What a grant must match, every one of them; empty: none can. */
  forms: readonly string[];
  /** What `always` would grant; null: only "once". */
  pattern: string | null;
  /** Asked about only because no rule of the user's speaks of it: a sandbox that confines it answers as well. */
  unruled?: true;
}

/** A question that a grant for the session must not answer, not even in part. */
export function isAskedEveryTime(finding: Finding): boolean {
  return finding.firm || finding.by === "sandbox";
}

export interface LineContext {
  tool: string;
  table: Table;
  scene: Scene;
  /** The tool whose rules a redirection falls under. */
  writeTool: string;
}
