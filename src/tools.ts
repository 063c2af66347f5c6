/** Every tool there is, and which of them a configuration enables. Lists derive from the tools' own fields; no name is written here. */
import { UserError } from "./errors.ts";
import { nearestName } from "./nearest.ts";
import { NO_SKILLS, type Skills } from "./skills.ts";
import { askTool } from "./tool-ask.ts";
import { bashTool, type Shell } from "./tool-bash.ts";
import { editFileTool, multiEditTool, writeFileTool } from "./tool-edit.ts";
import { gitTools } from "./tool-git.ts";
import { listDirTool } from "./tool-list.ts";
import { forget, recall, remember, todoWrite } from "./tool-notes.ts";
import { applyPatchTool } from "./tool-patch.ts";
import { readFileTool, readManyFilesTool } from "./tool-read.ts";
import { globTool, grepTool } from "./tool-search.ts";
import { skillTool } from "./tool-skill.ts";
import { taskTool } from "./tool-task.ts";
import { webFetchTool } from "./tool-web.ts";
import { DEFAULT_SETS, OPTIONAL_SETS, type Tool, type ToolSet } from "./tool.ts";

/** What the machine has that tools depend on. */
export interface Machine {
  /** What `bash` runs here. */
  shell: Shell;
  /** Path of ripgrep, null where it is not installed; looked for at the first search. */
  rg: () => string | null;
  env: Readonly<Record<string, string | undefined>>;
  /** Those of now; left out: none. */
  skills?(): Skills;
}

/** All builtin tools in wire order. */
export function allTools(machine: Machine): Tool[] {
  return [
    readFileTool,
    writeFileTool,
    editFileTool,
    globTool,
    grepTool(machine.rg),
    bashTool(machine.shell),
    multiEditTool,
    listDirTool,
    readManyFilesTool,
    applyPatchTool,
    ...gitTools,
    webFetchTool({ env: machine.env }),
    todoWrite,
    remember,
    recall,
    forget,
    skillTool(machine.skills ?? (() => NO_SKILLS)),
    askTool,
    taskTool,
  ];
}

/** The sets a configuration names; omitted means the default ones. Throws UserError for an unknown name. */
export function enabledSets(names: readonly string[] | undefined): ToolSet[] {
  if (names === undefined) return [...DEFAULT_SETS];
  return names.map((name) => {
    const set = OPTIONAL_SETS.find((one) => one === name);
    if (set) return set;
    const near = nearestName(name, OPTIONAL_SETS);
    throw new UserError(
      `Unknown tool set "${name}" in toolSets.${near ? ` Did you mean "${near}"?` : ""} Available: ${OPTIONAL_SETS.join(", ")}`,
      { kind: "config" },
    );
  });
}

/** The tools of the enabled sets, `core` and the session's own always among them. */
export function toolsOf(
  tools: readonly Tool[],
  sets: readonly ToolSet[],
  without: ReadonlySet<string> = new Set(),
): Tool[] {
  return tools.filter(
    (tool) => !without.has(tool.name) && (tool.set === "core" || tool.set === "session" || sets.includes(tool.set)),
  );
}
