/** `/permissions` and the text form of `shiro permissions explain`. */
import type { Explain } from "./approval.ts";
import type { Command } from "./command.ts";
import type { Interactive } from "./interactive-host.ts";
import { tableFor, type TableRow } from "./permission.ts";
import { oneLine } from "./text.ts";
import { DECISIONS } from "./types.ts";

/** A judgement in a few lines for people. */
export function explainCall(explained: Explain): string {
  const lines = [`${explained.decision} (${explained.by})${explained.rule ? `: ${explained.rule}` : ""}`];
  if (explained.reason !== "") lines.push(explained.reason);
  if (explained.sandbox !== undefined) lines.push(`The sandbox doesn't answer it: ${explained.sandbox}.`);
  for (const command of explained.commands)
    lines.push(
      `  ${command.decision.padEnd(5)} ${oneLine(command.normalised, 200)}${command.rule ? `   ${command.rule}` : ""}`,
    );
  if (explained.decision === "ask")
    lines.push(
      explained.always === null ? '"always" is not offered for this.' : `"always" would grant: ${explained.always}`,
    );
  return lines.join("\n");
}

export function permissionCommands(host: Interactive): Command[] {
  return [
    {
      name: "permissions",
      args: "[command]",
      summary: "the rules in force, or how a command would be judged",
      async run(args, ui) {
        if (args !== "") return ui.print(explainCall(await host.setup.gate.explainTested("bash", args)));
        const grants = host.setup.gate.grants();
        const rows = tableRows(host);
        ui.print(
          [
            ...rows,
            "",
            grants.length === 0 ? "Granted in this session: nothing" : `Granted in this session: ${grants.join(", ")}`,
          ].join("\n"),
        );
      },
    },
  ];
}

/** A default with more rows than this (the secret files) is told by its counts; `/permissions` is there to show what was chosen. */
const ROWS_SHOWN = 8;

/** The tables in force, tools with the same one together. */
function tableRows(host: Interactive): string[] {
  const groups = new Map<string, string[]>();
  for (const tool of host.setup.tools()) {
    const rows = rowTexts(tableFor(tool.name, host.setup.rules, tool.permission).rows).join("\n");
    groups.set(rows, [...(groups.get(rows) ?? []), tool.name]);
  }
  return [...groups].flatMap(([rows, names]) => [names.join(", "), ...rows.split("\n")]);
}

function rowTexts(rows: readonly TableRow[]): string[] {
  if (rows.length === 0) return ["  ask   (no entry)"];
  const builtin = rows.filter((row) => row.builtin);
  const written = rows.filter((row) => !row.builtin).map((row) => `  ${row.decision.padEnd(5)} ${row.label}`);
  if (builtin.length <= ROWS_SHOWN)
    return [...builtin.map((row) => `  ${row.decision.padEnd(5)} ${row.pattern} (default)`), ...written];
  const counts = DECISIONS.map(
    (decision) => [decision, builtin.filter((row) => row.decision === decision).length] as const,
  );
  const told = counts.filter(([, count]) => count > 0).map(([decision, count]) => `${decision} ${count}`);
  return [`  default for secret files, patterns: ${told.join(", ")}`, ...written];
}
