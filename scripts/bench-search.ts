/** Walking and searching a large tree, against the programs people use for it. */
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { globTool, grepTool } from "../src/tool-search.ts";
import type { Tool, ToolContext } from "../src/tool.ts";
import type { JsonObject } from "../src/types.ts";
import { walk } from "../src/walk.ts";
import { runTool, toolContext } from "./bench-tools.ts";
import { childMs, interleaved, timed, type Figure, type Group } from "./bench-measure.ts";

const ROUNDS = 3;
const FILES = 50_000;
const LARGE_BYTES = 200_000_000;
/** In one file of a thousand. */
const NEEDLE = "needle_in_the_haystack";

export const search: Group = {
  name: "search",
  about: `a generated git repository of ${FILES.toLocaleString("en")} files`,
  run: measure,
};

async function* measure(folder: string): AsyncGenerator<Figure> {
  const rg = Bun.which("rg");
  if (rg === null || Bun.which("git") === null) {
    console.log("  SKIPPED: rg and git must be on PATH, they are the baselines");
    return;
  }
  const tree = join(folder, "tree");
  await makeTree(tree);
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder };
  yield* walking(tree, env, rg);
  yield* grepping("grep tool", tree, env, rg, toolContext(tree, folder, env));
  yield* globbing(tree, env, rg, toolContext(tree, folder, env));
  yield* largeFile(folder, env, rg);
}

async function* globbing(
  tree: string,
  env: Record<string, string>,
  rg: string,
  context: ToolContext,
): AsyncGenerator<Figure> {
  const pattern = "**/unit-4*/file-7.ts";
  const times = await interleaved(ROUNDS, {
    glob: () => timed(() => runTool(globTool, { pattern }, context)),
    rg: () => childMs([rg, "--files", "--hidden", "--glob", pattern], { cwd: tree, env }),
  });
  yield { what: "glob tool", value: times.glob, unit: "ms", baseline: { what: "rg --files --glob", value: times.rg } };
}

/** One file of 200 MB with the needle at its end. */
async function* largeFile(folder: string, env: Record<string, string>, rg: string): AsyncGenerator<Figure> {
  const tree = join(folder, "large");
  mkdirSync(tree);
  const file = openSync(join(tree, "large.log"), "w");
  const block = "2026-11-30 12:00:00 info a line of a log that goes on and on\n".repeat(16_384);
  for (let written = 0; written < LARGE_BYTES; written += block.length) writeSync(file, block);
  writeSync(file, `${NEEDLE}\n`);
  closeSync(file);
  yield* grepping("grep tool, 200 MB", tree, env, rg, toolContext(tree, folder, env));
}

async function* walking(tree: string, env: Record<string, string>, rg: string): AsyncGenerator<Figure> {
  const at = { cwd: tree, env };
  const times = await interleaved(ROUNDS, {
    walk: () => timed(() => walkAll(tree, env)),
    rg: () => childMs([rg, "--files", "--hidden"], at),
    git: () => childMs(["git", "ls-files", "-co", "--exclude-standard"], at),
  });
  yield { what: "walk", value: times.walk, unit: "ms", baseline: { what: "rg --files", value: times.rg } };
  yield { what: "walk", value: times.walk, unit: "ms", baseline: { what: "git ls-files -co", value: times.git } };
}

async function* grepping(
  what: string,
  tree: string,
  env: Record<string, string>,
  rg: string,
  context: ToolContext,
): AsyncGenerator<Figure> {
  const input = { pattern: NEEDLE };
  const [through, own] = [grepTool(() => rg), grepTool(() => null)];
  const times = await interleaved(ROUNDS, {
    through: () => timed(() => run(through, input, context)),
    own: () => timed(() => run(own, input, context)),
    rg: () => childMs([rg, "--line-number", "--hidden", NEEDLE], { cwd: tree, env }),
  });
  const baseline = { what: "rg", value: times.rg };
  yield { what: `${what}, through rg`, value: times.through, unit: "ms", baseline };
  yield { what: `${what}, own engine`, value: times.own, unit: "ms", baseline };
}

async function walkAll(tree: string, env: Record<string, string>): Promise<void> {
  let files = 0;
  for await (const entry of walk(tree, { env })) if (entry.kind === "file") files++;
  if (files < FILES) throw new Error(`the walk found ${files} files of ${FILES}`);
}

/** 500 directories three deep with 100 files each, some of them ignored, and one ignored tree as large as ten directories. */
async function makeTree(tree: string): Promise<void> {
  const perDirectory = 100;
  for (let at = 0; at < FILES / perDirectory; at++) {
    const dir = join(tree, `part-${at % 10}`, `group-${at % 50}`, `unit-${at}`);
    mkdirSync(dir, { recursive: true });
    for (let file = 0; file < perDirectory; file++) writeFileSync(join(dir, `file-${file}.ts`), content(at, file));
    writeFileSync(join(dir, "trace.log"), "ignored\n");
  }
  mkdirSync(join(tree, "out"));
  for (let file = 0; file < 1000; file++) writeFileSync(join(tree, "out", `${file}.js`), "ignored\n");
  writeFileSync(join(tree, ".gitignore"), "*.log\n/out/\nnode_modules/\n");
  await childMs(["git", "init", "-q", tree]);
}

function content(directory: number, file: number): string {
  const rows = Array.from({ length: 20 }, (_, row) => `export const value${row} = ${directory * 100 + file + row};`);
  if ((directory * 100 + file) % 1000 === 0) rows.push(`// ${NEEDLE}`);
  return `${rows.join("\n")}\n`;
}

async function run(tool: Tool, input: JsonObject, context: ToolContext): Promise<void> {
  const text = await runTool(tool, input, context);
  if (!text.includes(NEEDLE)) throw new Error(`grep did not find what is there: ${text.slice(0, 200)}`);
}
