/** Agents of one's own as Markdown files: `SHIRO_HOME/agents` and the project's `.shiro/agents`. Reads and merges; what a variant does is agents.ts. */
import { join } from "node:path";
import { messageOf } from "./errors.ts";
import { repositoryRoot, withoutInvisible } from "./instructions.ts";
import { FrontmatterError, listField, type MarkdownFile, parseMarkdownFile, textField } from "./markdown-file.ts";
import { folderEntries, readInside, realOrNull } from "./markdown-file-read.ts";
import { parseAllowedTools } from "./skills-tools.ts";
import { oneLine } from "./text.ts";
import { THINKING_LEVELS, type ThinkingLevel } from "./types.ts";

/** As in the configuration's `agents`. */
export interface CustomAgent {
  description?: string | undefined;
  thinking?: ThinkingLevel | undefined;
  tools?: "all" | "read-only" | string[] | undefined;
  steps?: number | undefined;
  appendix?: string | undefined;
}

export interface CustomAgentFiles {
  agents: Record<string, CustomAgent>;
  problems: { path: string; reason: string }[];
}

const FILE_BYTES = 64 * 1024;
/** A prompt that is sent with every request. Put the rest into a skill. */
const MAX_BODY_CHARS = 8_000;
/** What a repository's file may ask for: the most a builtin variant has. Name the agent in your own configuration to lift it. */
const PROJECT_STEPS = 80;
const NAME = /^[a-z0-9][a-z0-9_-]*$/;

export const userAgentsDir = (home: string) => join(home, "agents");

/**
 * Those of the user's folder, then `configured` over them, then the project's. A repository's file never takes the place
 * of an agent by that name: `taken` (the builtin ones) and the user's own stay what they are.
 */
export function loadCustomAgents(
  places: { home: string; cwd: string },
  configured: Readonly<Record<string, CustomAgent>>,
  taken: readonly string[],
): CustomAgentFiles {
  const problems: CustomAgentFiles["problems"] = [];
  const directory = userAgentsDir(places.home);
  const own = { ...fromFolder(directory, realOrNull(directory) ?? directory, problems), ...configured };
  const repository = repositoryRoot(places.cwd);
  const root = realOrNull(repository) ?? repository;
  const agents: Record<string, CustomAgent> = { ...own };
  for (const base of new Set([repository, places.cwd])) {
    const folder = join(base, ".shiro", "agents");
    for (const [name, agent] of Object.entries(fromFolder(folder, root, problems))) {
      if (taken.includes(name) || Object.hasOwn(own, name))
        problems.push({
          path: join(folder, `${name}.md`),
          reason: `there is an agent "${name}" already, which a project can't replace`,
        });
      else agents[name] = { ...agent, steps: Math.min(agent.steps ?? 50, PROJECT_STEPS) };
    }
  }
  return { agents, problems };
}

function fromFolder(
  directory: string,
  root: string,
  problems: CustomAgentFiles["problems"],
): Record<string, CustomAgent> {
  const found: Record<string, CustomAgent> = {};
  const { entries, problem } = folderEntries(directory);
  if (problem !== null) problems.push({ path: directory, reason: problem });
  for (const { name, path, isDirectory } of entries) {
    if (isDirectory || !name.endsWith(".md")) continue;
    const read = readInside(path, root, FILE_BYTES);
    if (read === null) continue;
    const agent = "problem" in read ? read.problem : agentOf(read.text, name.slice(0, -3));
    if (typeof agent === "string") problems.push({ path, reason: agent });
    else if (Object.hasOwn(found, agent.name))
      problems.push({ path, reason: `there is another "${agent.name}" beside it` });
    else found[agent.name] = agent.settings;
  }
  return found;
}

function agentOf(text: string, fileName: string): { name: string; settings: CustomAgent } | string {
  try {
    return settingsOf(parseMarkdownFile(withoutInvisible(text)), fileName);
  } catch (error) {
    if (error instanceof FrontmatterError) return messageOf(error);
    throw error;
  }
}

function settingsOf(file: MarkdownFile, fileName: string): { name: string; settings: CustomAgent } | string {
  const name = textField(file, "name") || fileName;
  const thinking = textField(file, "thinking");
  const steps = textField(file, "steps");
  const level = THINKING_LEVELS.find((one) => one === thinking);
  if (!NAME.test(name)) return `"${oneLine(name, 60)}" is no name: small letters, digits, - and _`;
  if (thinking && !level) return `thinking: "${oneLine(thinking, 40)}" is none of ${THINKING_LEVELS.join(", ")}`;
  if (steps && !/^[1-9]\d{0,4}$/.test(steps)) return `steps: "${oneLine(steps, 40)}" is no whole number above 0`;
  if (file.body.length > MAX_BODY_CHARS) return `its text is longer than ${MAX_BODY_CHARS} characters`;
  const settings: CustomAgent = {
    description: oneLine(textField(file, "description") ?? "", 200) || undefined,
    thinking: level,
    tools: toolsOf(file),
    steps: steps ? Number(steps) : undefined,
    appendix: file.body,
  };
  return { name, settings };
}

/** `all`, `read-only`, or names, also as other agents spell them. */
function toolsOf(file: MarkdownFile): CustomAgent["tools"] {
  const entries = listField(file, "tools");
  if (entries === undefined) return undefined;
  const [only] = entries;
  if (entries.length === 1 && (only === "all" || only === "read-only")) return only;
  return [...new Set(parseAllowedTools(entries).flatMap((entry) => entry.tools))];
}
