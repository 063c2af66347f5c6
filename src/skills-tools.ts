/** `allowed-tools` of skills written for other agents, in our names. Pure; whether a tool is there is the caller's to know. */
import { matchesWildcard } from "./wildcard.ts";

export interface AllowedTool {
  /** As written. */
  written: string;
  /** Our tools it stands for, `*` in a name of MCP tools for any characters; empty: none. */
  tools: readonly string[];
  /** Narrows them to subjects this matches: `git *`. Null for all. */
  pattern: string | null;
}

/** What other agents call theirs. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  read: ["read_file", "read_many_files"],
  write: ["write_file"],
  edit: ["edit_file", "multi_edit", "apply_patch"],
  multiedit: ["multi_edit"],
  bash: ["bash"],
  shell: ["bash"],
  glob: ["glob"],
  grep: ["grep"],
  ls: ["list_dir"],
  webfetch: ["web_fetch"],
  todowrite: ["todo_write"],
  task: ["task"],
  agent: ["task"],
  skill: ["skill"],
  askuserquestion: ["ask"],
};

/** Entries divided by commas or blanks: `Read, Bash(git add:*) grep`. A name in our own spelling stays as it is. */
export function parseAllowedTools(entries: readonly string[]): AllowedTool[] {
  return entries.flatMap((entry) => entry.match(/[^\s,()]+(?:\([^()]*\))?/g) ?? []).map(parseEntry);
}

/** Whether a limit names a tool, whatever patterns it has for it. The name of a family of MCP tools holds a `*`. */
export function namesTool(limit: { readonly allowed: readonly string[] }, tool: string): boolean {
  return limit.allowed.some((name) => matchesWildcard(name, tool));
}

function parseEntry(written: string): AllowedTool {
  const [, name = "", pattern] = /^([^()]*)(?:\(([^()]*)\))?$/.exec(written) ?? [];
  const other = OTHER_NAMES[name.toLowerCase()];
  return { written, tools: other ?? mcpNames(name) ?? ownNames(name), pattern: patternOf(pattern) };
}

function ownNames(name: string): string[] {
  return /^[a-z][a-z0-9_]*$/.test(name) ? [name] : [];
}

/** `mcp__server__tool`, with `*` a family of them; `mcp__server` alone is that server's whole family, as other agents have it. */
function mcpNames(name: string): string[] | null {
  if (!/^mcp__[\w*-]+$/.test(name)) return null;
  return name.includes("__", "mcp__".length) || name.includes("*") ? [name] : [`${name}__*`];
}

// `git:*` is the other agents' way of writing `git *`.
function patternOf(text: string | undefined): string | null {
  const pattern = text?.trim().replace(/:\*$/, " *") ?? "";
  return pattern === "" || pattern === "*" ? null : pattern;
}
