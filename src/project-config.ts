/** The repository's own `.shiro/config.json`: rules that count only once the user has consented to exactly this content. */
import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { orderedPermission, type OrderedEntry } from "./config.ts";
import { errnoOf, messageOf } from "./errors.ts";
import { trustState } from "./trust.ts";

export interface ProjectConfig {
  realPath: string;
  content: string;
  state: "trusted" | "changed" | "unknown";
  /** Empty unless trusted. */
  permission: OrderedEntry[];
  /** What the user should know; one line each. */
  notices: string[];
}

/** A settings file larger than this is no settings file. */
const MAX_BYTES = 256 * 1024;

/** Null when the project has none. Reads, never executes, and takes nothing over without consent. */
export function loadProjectConfig(root: string, home: string): ProjectConfig | null {
  const path = join(root, ".shiro", "config.json");
  const found = read(path);
  if (found === null) return null;
  if ("problem" in found)
    return {
      realPath: path,
      content: "",
      state: "unknown",
      permission: [],
      notices: [`${path} was skipped: ${found.problem}`],
    };
  const { realPath, content } = found;
  const state = trustState(home, realPath, content);
  if (state === "trusted") {
    const notices: string[] = [];
    return { realPath, content, state, permission: orderedPermission(content, ".shiro/config.json", notices), notices };
  }
  const why = state === "changed" ? "has changed since you trusted it" : "is not trusted";
  return {
    realPath,
    content,
    state,
    permission: [],
    notices: [`${path} ${why} and was skipped (shiro trust shows and records it)`],
  };
}

function read(path: string): { realPath: string; content: string } | { problem: string } | null {
  try {
    const stat = lstatSync(path);
    if (!stat.isFile()) return { problem: "it is no regular file" };
    if (stat.size > MAX_BYTES) return { problem: `it is larger than ${MAX_BYTES} bytes` };
    return { realPath: realpathSync(path), content: readFileSync(path, "utf8") };
  } catch (error) {
    // ENOTDIR: the repository has a file of the directory's name.
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return null;
    return { problem: messageOf(error) };
  }
}
