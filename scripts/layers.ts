/** Checks the architecture: import directions, cycles, reserved calls, file heads; and keeps the module map in README.md true (`--write` renews it). */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");

/**
 * From the bottom up. A name covers its family: `tool` in a list stands for `tool.ts` and every `tool-….ts`, unless a
 * longer name claims the file elsewhere. `model` and `tool` are siblings: neither imports the other.
 */
const LAYERS: readonly { name: string; modules: readonly string[] }[] = JSON.parse(
  readFileSync(join(import.meta.dir, "layers.json"), "utf8"),
);

const SIBLINGS = [["model", "tool"]] as const;

/** Calls that only one module may make, by the text that makes them. */
const RESERVED = [
  { text: "Grant.mint(", only: "approval", why: "only approval.ts makes grants" },
  { text: "process.exit(", only: "main", why: "only main.ts ends the process" },
] as const;

interface Module {
  name: string;
  layer: string;
  imports: string[];
  head: string;
  source: string;
}

const problems: string[] = [];
const modules = readModules();
for (const module of modules.values()) check(module);
for (const cycle of cycles()) problems.push(`import cycle: ${cycle.join(" -> ")}`);
checkMap();
for (const problem of problems) console.error(problem);
console.log(`${modules.size} modules, ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;

function readModules(): Map<string, Module> {
  const found = new Map<string, Module>();
  for (const file of readdirSync(join(root, "src"))
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
    .sort()) {
    const source = readFileSync(join(root, "src", file), "utf8");
    const name = file.slice(0, -3);
    const imports = [...source.matchAll(/(?:from|import\()\s*"\.\/([^"]+)\.ts"/g)].map((match) => match[1] ?? "");
    found.set(name, { name, layer: layerOf(name), imports, head: headOf(source), source });
  }
  return found;
}

function layerOf(name: string): string {
  let best = { length: 0, layer: "" };
  for (const layer of LAYERS)
    for (const entry of layer.modules) {
      const exact = entry.endsWith("!") ? entry.slice(0, -1) : null;
      const covers = exact === null ? name === entry || name.startsWith(`${entry}-`) : name === exact;
      const length = (exact ?? entry).length + (exact === null ? 0 : 1);
      if (covers && length > best.length) best = { length, layer: layer.name };
    }
  if (best.layer === "") problems.push(`src/${name}.ts: in no layer (scripts/layers.json)`);
  return best.layer;
}

function headOf(source: string): string {
  const match = /^(?:#![^\n]*\n)?\/\*\*\s*(?:\n \* )?([^\n]*?)(?:\s*\*\/)?\n/.exec(source);
  return match?.[1]?.trim() ?? "";
}

function check(module: Module): void {
  if (module.head === "") problems.push(`src/${module.name}.ts: the first line must say what the module is for`);
  const own = rank(module.layer);
  for (const target of module.imports) {
    const other = modules.get(target);
    if (!other) problems.push(`src/${module.name}.ts imports ./${target}.ts, which isn't there`);
    else if (rank(other.layer) > own)
      problems.push(`src/${module.name}.ts (${module.layer}) imports ${target} (${other.layer})`);
    else if (areSiblings(module.layer, other.layer))
      problems.push(`src/${module.name}.ts (${module.layer}) imports its sibling layer's ${target}`);
  }
  for (const { text, only, why } of RESERVED)
    if (module.name !== only && module.source.includes(text)) problems.push(`src/${module.name}.ts: "${text}": ${why}`);
}

function rank(layer: string): number {
  return LAYERS.findIndex((one) => one.name === layer);
}

function areSiblings(a: string, b: string): boolean {
  return a !== b && SIBLINGS.some((pair) => pair.some((one) => one === a) && pair.some((one) => one === b));
}

function cycles(): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  const visit = (name: string, path: string[]): void => {
    const at = path.indexOf(name);
    if (at >= 0) found.push([...path.slice(at), name]);
    if (at >= 0 || done.has(name)) return;
    for (const next of modules.get(name)?.imports ?? []) visit(next, [...path, name]);
    done.add(name);
  };
  for (const name of modules.keys()) visit(name, []);
  return found;
}

function checkMap(): void {
  const path = join(root, "README.md");
  const readme = readFileSync(path, "utf8");
  const between = /(<!-- modules -->\n)[^]*?(<!-- \/modules -->)/;
  if (!between.test(readme)) {
    problems.push("README.md: the markers of the module map are missing");
    return;
  }
  const renewed = readme.replace(between, (_, open: string, close: string) => `${open}${map()}${close}`);
  if (renewed === readme) return;
  if (process.argv.includes("--write")) writeFileSync(path, renewed);
  else problems.push("README.md: the module map is stale (bun scripts/layers.ts --write)");
}

function map(): string {
  const parts = LAYERS.map((layer) => {
    const rows = [...modules.values()]
      .filter((module) => module.layer === layer.name)
      .map((module) => `- \`${module.name}\`: ${module.head}`);
    return `**${layer.name}**\n\n${rows.join("\n")}\n`;
  });
  return `\n${parts.join("\n")}\n`;
}
