/** Figures to watch, each as a ratio to a baseline of the same run: `bun scripts/bench.ts [--json FILE] [group …]`. Prints; asserts nothing. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { printFigure, type Figure, type Group } from "./bench-measure.ts";
import { permissions } from "./bench-permissions.ts";
import { sandbox } from "./bench-sandbox.ts";
import { saving } from "./bench-saving.ts";
import { search } from "./bench-search.ts";
import { start } from "./bench-start.ts";
import { steps } from "./bench-steps.ts";
import { stream } from "./bench-stream.ts";
import { terminal } from "./bench-terminal.ts";
import { text } from "./bench-text.ts";
import { wire } from "./bench-wire.ts";

const GROUPS: readonly Group[] = [start, steps, stream, terminal, wire, saving, search, text, permissions, sandbox];

const { values, positionals: names } = parseArgs({ options: { json: { type: "string" } }, allowPositionals: true });
const unknown = names.find((name) => !GROUPS.some((group) => group.name === name));
if (unknown !== undefined) {
  console.error(`No group "${unknown}". Available: ${GROUPS.map((group) => group.name).join(", ")}`);
  process.exit(2);
}

console.log(`bun ${Bun.version}, ${process.platform}-${process.arch}, ${availableParallelism()} cores`);
const report: (Figure & { group: string })[] = [];
const shared = newFolder();
try {
  for (const group of GROUPS.filter(({ name }) => names.length === 0 || names.includes(name))) await runGroup(group);
} finally {
  rmSync(shared, { recursive: true, force: true });
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);

async function runGroup(group: Group): Promise<void> {
  console.log(`\n${group.name}: ${group.about}`);
  const folder = newFolder();
  try {
    for await (const figure of group.run(folder, shared)) {
      printFigure(figure);
      report.push({ group: group.name, ...figure });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function newFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), "shiro-bench-")));
}
