/** `skill`: hands a skill's text to the model, opens the files beside it for reading and limits the turn's tools to what it allows. Where skills come from is skills.ts. */
import { readdirSync } from "node:fs";
import * as v from "valibot";
import { ToolError, UserError } from "./errors.ts";
import { MCP_META_TOOLS } from "./mcp-types.ts";
import type { Skill, Skills } from "./skills.ts";
import { defineTool, type Tool, type ToolLimit } from "./tool.ts";

const SHOWN_FILES = 40;

/** `skills` is asked at each call: files come and go. */
export function skillTool(skills: () => Skills): Tool {
  return defineTool({
    name: "skill",
    description:
      "Load a skill: instructions for a kind of task, by its name in the list of skills. Load one before work that its description fits.",
    set: "session",
    input: v.object({ name: v.string() }),
    mutates: false,
    permission: "allow",
    repeatable: true,
    unlimited: true,
    subjects: ({ name }) => [{ kind: "text", text: name }],
    concurrencySafe: () => false,
    async run({ name }, context) {
      const { skill, text } = loadedSkill(skills(), name);
      if (skill.folder !== null) context.workspace.readableDirs.add(skill.folder);
      context.limitTools(skillLimit(skill));
      return { text };
    },
  });
}

function loadedSkill(skills: Skills, name: string): { skill: Skill; text: string } {
  try {
    const body = skills.body(name);
    const skill = skills.list.find((one) => one.name === name);
    if (!skill) throw new UserError(`There is no skill "${name}".`);
    return { skill, text: skillText(skill, body) };
  } catch (error) {
    if (error instanceof UserError) throw new ToolError(error.message, { cause: error });
    throw error;
  }
}

/** What the model gets: the body, where its files are, what it may use. */
export function skillText(skill: Skill, body: string): string {
  const limit = skillLimit(skill);
  const notes = [
    ...(skill.folder === null ? [] : [filesNote(skill.folder)]),
    ...(limit === null ? [] : [`For the rest of this turn only these tools work: ${limitText(limit)}.`]),
  ];
  return [`Skill "${skill.name}"`, ...notes, "", body].join("\n");
}

function filesNote(folder: string): string {
  const names = filesIn(folder);
  const more = names.length > SHOWN_FILES ? ` and ${names.length - SHOWN_FILES} more` : "";
  const beside = names.length === 0 ? "" : `; beside it: ${names.slice(0, SHOWN_FILES).join(", ")}${more}`;
  return `Its folder is ${folder}${beside}.`;
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.name !== "SKILL.md")
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .toSorted();
  } catch {
    return []; // a folder that may not be listed; the skill itself was read
  }
}

function limitText(limit: ToolLimit): string {
  const patterns = limit.patterns ?? {};
  return (
    limit.allowed.map((tool) => [tool, patterns[tool]?.join(" or ")].filter(Boolean).join(" ")).join(", ") || "none"
  );
}

/** A server's tool is the same tool whichever way it is called. */
function throughMcpCall(tool: string): { tool: string; pattern: string | null }[] {
  return tool.startsWith("mcp__") ? [{ tool: MCP_META_TOOLS.call, pattern: tool }] : [];
}

/** What a skill's `allowed-tools` come to; null where it has none. Its entry without a pattern wins over those with one. */
export function skillLimit(skill: Pick<Skill, "name" | "allowedTools">): ToolLimit | null {
  if (skill.allowedTools === null) return null;
  const pairs = skill.allowedTools.flatMap(({ tools, pattern }) =>
    tools.flatMap((tool) => [{ tool, pattern }, ...throughMcpCall(tool)]),
  );
  const allowed = [...new Set(pairs.map(({ tool }) => tool))];
  const narrowed = allowed.filter((tool) => pairs.every((pair) => pair.tool !== tool || pair.pattern !== null));
  const patternsOf = (tool: string): string[] =>
    pairs.flatMap((pair) => (pair.tool === tool && pair.pattern !== null ? [pair.pattern] : []));
  return {
    skill: skill.name,
    allowed,
    ...(narrowed.length === 0
      ? {}
      : { patterns: Object.fromEntries(narrowed.map((tool) => [tool, patternsOf(tool)])) }),
  };
}
