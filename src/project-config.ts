/** The repository's own `.shiro/config.json`: rules and MCP servers that count only once the user has consented to exactly this content. */
import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { orderedPermission, type OrderedEntry } from "./config.ts";
import { errnoOf, messageOf } from "./errors.ts";
import { JsoncError, parseJsonc, plain } from "./jsonc.ts";
import { trustState, type TrustState } from "./trust.ts";
import type { JsonObject } from "./types.ts";

export interface ProjectConfig {
  realPath: string;
  content: string;
  state: TrustState;
  /** Empty unless trusted. */
  permission: OrderedEntry[];
  /** As written, unchecked; empty unless trusted. */
  mcpServers: JsonObject;
  /** The servers it names, trusted or not: for asking. */
  wantedServers: JsonObject;
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
      mcpServers: {},
      wantedServers: {},
      notices: [`${path} was skipped: ${found.problem}`],
    };
  const { realPath, content } = found;
  const state = trustState(home, realPath, content);
  const wantedServers = serversIn(content);
  if (state === "trusted") {
    const notices: string[] = [];
    const permission = orderedPermission(content, ".shiro/config.json", notices);
    return { realPath, content, state, permission, mcpServers: wantedServers, wantedServers, notices };
  }
  const why = WHY[state];
  return {
    realPath,
    content,
    state,
    permission: [],
    mcpServers: {},
    wantedServers,
    notices: [`${path} ${why} and was skipped (shiro trust shows and records it)`],
  };
}

const WHY = {
  changed: "has changed since you trusted it",
  refused: "is not trusted",
  unknown: "is not trusted",
} as const satisfies Record<Exclude<TrustState, "trusted">, string>;

/** Empty where the file can't be read as settings: what is wrong with it is said of its rules. */
function serversIn(content: string): JsonObject {
  try {
    const root = parseJsonc(content);
    if (root.kind !== "object") return {};
    const entry = root.entries.findLast((one) => one.key === "mcpServers");
    const value = entry ? plain(entry.value) : {};
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  } catch (error) {
    if (error instanceof JsoncError) return {};
    throw error;
  }
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
