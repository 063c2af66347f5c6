/** Figures to watch, each as a ratio to a baseline of the same run: `bun scripts/bench.ts [group …]`. Prints; asserts nothing. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { printFigure, type Group } from "./bench-measure.ts";
import { permissions } from "./bench-permissions.ts";
import { saving } from "./bench-saving.ts";
import { search } from "./bench-search.ts";
import { start } from "./bench-start.ts";
import { terminal } from "./bench-terminal.ts";
import { wire } from "./bench-wire.ts";

const GROUPS: readonly Group[] = [start, permissions, saving, search, wire, terminal];

const names = process.argv.slice(2);
const unknown = names.find((name) => !GROUPS.some((group) => group.name === name));
if (unknown !== undefined) {
  console.error(`No group "${unknown}". Available: ${GROUPS.map((group) => group.name).join(", ")}`);
  process.exit(2);
}

console.log(`bun ${Bun.version}, ${process.platform}-${process.arch}, ${availableParallelism()} cores`);
for (const group of GROUPS.filter(({ name }) => names.length === 0 || names.includes(name))) {
  console.log(`\n${group.name}: ${group.about}`);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "shiro-bench-")));
  try {
    for await (const figure of group.run(folder)) printFigure(figure);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
