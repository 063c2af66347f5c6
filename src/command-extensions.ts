/** Slash commands of one's own: custom commands, skills as `/skill:name`; `/skills` lists them, `/trust` lets a project's run. */
import type { Command, CommandOutcome, CommandUi } from "./command.ts";
import { expandCommand, expandSkill, type Expanded } from "./command-expand.ts";
import { UserError } from "./errors.ts";
import type { Interactive } from "./interactive-host.ts";
import { barred } from "./registry-view.ts";
import type { Setup } from "./setup.ts";
import type { Skill } from "./skills.ts";
import { recordTrust } from "./trust.ts";
import { projectTrustItems } from "./trust-project.ts";

/** After the builtin commands in the list: by the same name those win. */
export function extensionCommands(host: Interactive): Command[] {
  return [
    {
      name: "skills",
      args: "",
      summary: "skills with their sources, and files that could not be loaded",
      run(_, ui) {
        host.setup.refreshSkills();
        ui.print(skillsReport(host.setup, builtinNames(host)));
      },
    },
    {
      name: "trust",
      args: "",
      summary: "let this project's own settings and commands count",
      run: (_, ui) => trust(host, ui),
    },
    ...customCommands(host),
    ...skillCommands(host),
  ];
}

function customCommands(host: Interactive): Command[] {
  return host.setup.extensions.commands().list.map((command) => ({
    name: command.name,
    args: command.argumentHint,
    summary: `${command.description} (${command.source})`,
    group: "custom",
    help: `${command.path}${command.runs ? "\nIt runs commands." : ""}`,
    run: (args, ui) =>
      host.interruptible(async (signal) => {
        const ask = (prompt: Parameters<CommandUi["dialog"]["approve"]>[0]) => ui.dialog.approve(prompt, signal);
        const ran = (line: string): void => ui.print(`! ${line}`);
        return outcome(host, await expandCommand(command, args, { setup: host.setup, ask, signal, ran }));
      }),
  }));
}

function skillCommands(host: Interactive): Command[] {
  return host.setup.extensions.skills().list.map((skill) => ({
    name: `skill:${skill.name}`,
    args: "[task]",
    summary: skill.description,
    group: "skill",
    run: (args) => outcome(host, expandSkill(skill.name, args, host.setup)),
  }));
}

function outcome(host: Interactive, { text, turn }: Expanded): CommandOutcome {
  host.forNextTurn(turn);
  return { send: text };
}

function builtinNames(host: Interactive): Set<string> {
  const builtin = host.commands.all().filter((command) => (command.group ?? "builtin") === "builtin");
  return new Set(builtin.map((command) => command.name));
}

/** The table of `/skills`. */
export function skillsReport(setup: Setup, builtin: ReadonlySet<string>): string {
  const { list } = setup.extensions.skills();
  const known = new Set(setup.tools().map((tool) => tool.name));
  const width = Math.max(0, ...list.map((skill) => skill.name.length));
  const rows = list.flatMap((skill) => [
    `${skill.name.padEnd(width)}  ${skill.source.padEnd(8)}  ${skill.description}`,
    ...details(skill, known).map((line) => `${" ".repeat(width)}            ${line}`),
  ]);
  const hidden = setup.extensions.commands().list.filter((command) => builtin.has(command.name));
  const problems = [
    ...setup.extensions.problems(),
    ...hidden.map(({ path, name }) => `${path}: /${name} is a builtin command, which can't be replaced`),
  ];
  return [
    ...(rows.length > 0 ? rows : ["No skills (--no-skills)."]),
    ...(problems.length > 0 ? ["", "not loaded:", ...problems.map((line) => `  ${line}`)] : []),
  ].join("\n");
}

function details({ path, allowedTools }: Skill, known: ReadonlySet<string>): string[] {
  const allowed = allowedTools ?? [];
  // Servers come and go, and mcp_call reaches what isn't offered.
  const isKnown = (tool: string): boolean => known.has(tool) || tool.startsWith("mcp__");
  const unknown = allowed.filter(({ tools }) => !tools.some(isKnown)).map(({ written }) => written);
  const limits = allowed.filter(({ written }) => !unknown.includes(written)).map(({ written }) => written);
  return [
    ...(path === null ? [] : [path]),
    ...(allowedTools === null ? [] : [`allows only ${limits.join(", ") || "no tools"}`]),
    ...(unknown.length > 0 ? [`unknown tools: ${unknown.join(", ")}`] : []),
  ];
}

async function trust(host: Interactive, ui: CommandUi): Promise<void> {
  const { home, query } = host.setup;
  const { items, notices } = projectTrustItems(query.cwd, home.path);
  for (const notice of notices) ui.print(notice);
  const open = items.filter((item) => item.state !== "trusted");
  for (const item of items) if (item.state === "trusted") ui.print(`${item.what}: trusted (${item.realPath})`);
  if (items.length === 0) return ui.print("This project has no settings, and no commands that run anything.");
  for (const item of open) {
    const state = item.state === "changed" ? "changed since you trusted it" : "not trusted";
    ui.print(`${item.what}, ${state}: ${item.realPath}\n${barred(item.content)}`);
    if (!(await ui.dialog.yesNo(`Trust ${item.what}, as long as the file stays as it is?`))) continue;
    const problem = await recordTrust(home.path, item, new Date());
    if (problem) throw new UserError(`Trust was not recorded: ${problem.reason}`);
    ui.print(item.what === "settings" ? "Trusted; its rules and servers count from the next start on." : "Trusted.");
  }
}
