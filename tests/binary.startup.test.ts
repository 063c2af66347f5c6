/** What is loaded when: the static imports behind each entry of the program, followed file by file. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const SRC = join(import.meta.dir, "../src");
const transpiler = new Bun.Transpiler({ loader: "ts" });

/** Modules that are evaluated before the entry's first line is: its static imports and theirs. Packages by their names. */
function evaluatedWith(entry: string): Set<string> {
  const seen = new Set<string>();
  const open = [join(SRC, entry)];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    const name = relative(SRC, file);
    if (seen.has(name)) continue;
    seen.add(name);
    for (const { path, kind } of transpiler.scanImports(readFileSync(file, "utf8"))) {
      if (kind !== "import-statement") continue;
      if (!path.startsWith(".")) seen.add(path);
      else if (path.endsWith(".ts")) open.push(join(dirname(file), path));
    }
  }
  return seen;
}

const HEAVY = /^(openai|@anthropic-ai\/sdk|@modelcontextprotocol\/sdk)(\/|$)/;

test.each(["main.ts", "app.ts", "subcommands.ts", "headless-run.ts", "interactive.ts", "demo.ts", "doctor.ts"])(
  "%s loads no vendor's SDK before one is needed",
  (entry) => {
    const loaded = evaluatedWith(entry);
    expect(existsSync(join(SRC, entry))).toBe(true);
    expect([...loaded].filter((name) => HEAVY.test(name))).toEqual([]);
    expect([...loaded].filter((name) => /^provider-(chat|responses|anthropic)/.test(name))).toEqual([]);
  },
);

test("--version and --help need a handful of small modules and no package", () => {
  const loaded = [...evaluatedWith("main.ts")];
  expect(loaded.length).toBeLessThan(15);
  expect(loaded.filter((name) => !name.endsWith(".ts") && !name.startsWith("node:"))).toEqual([]);
});

test("the wires do load them, so the look above sees what it should", () => {
  expect(
    [...evaluatedWith("provider-client.ts"), ...dynamicImports("provider-client.ts")].some((name) => HEAVY.test(name)),
  ).toBe(true);
});

function dynamicImports(entry: string): string[] {
  return transpiler
    .scanImports(readFileSync(join(SRC, entry), "utf8"))
    .filter(({ kind }) => kind === "dynamic-import")
    .map(({ path }) => path);
}
