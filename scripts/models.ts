/** Turns src/models.json, kept by hand, into the compact src/models-data.ts that the binary carries. Fetches nothing. */
import { fileURLToPath } from "node:url";

// Kept for whoever edits the facts; the program never shows them.
const PROVENANCE = new Set(["notes", "src", "released", "retiresNotBefore"]);

interface Source {
  source: string;
  licenseNote: string;
  retrieved: string;
  models: Record<string, unknown>[];
}

/** Text of src/models-data.ts for the text of src/models.json. Same input, same bytes. */
export function generateModelData(json: string): string {
  const source: Source = JSON.parse(json);
  const rows = source.models.map(compactRow).join("\n");
  if (/[`\\]|\$\{/.test(rows)) throw new Error("src/models.json holds a character a template literal would change");
  return [
    `/** Generated from models.json by scripts/models.ts: do not edit. One model a line, as JSON, parsed by models.ts at first use. */`,
    textConstant("MODEL_SOURCE", source.source),
    textConstant("MODEL_LICENSE", source.licenseNote),
    textConstant("MODEL_RETRIEVED", source.retrieved),
    `export const MODEL_ROWS = \`${rows}\`;`,
    "",
  ].join("\n");
}

// Laid out as the formatter would, so that formatting the sources doesn't make the file stale.
function textConstant(name: string, value: string): string {
  const line = `export const ${name} = ${JSON.stringify(value)};`;
  return line.length <= 120 ? line : line.replace(" = ", " =\n  ");
}

function compactRow(model: Record<string, unknown>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(model).filter(([key]) => !PROVENANCE.has(key))));
}

/** Writes the file when `--write` is given, else only says whether it is stale. Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const target = Bun.file(`${root}/src/models-data.ts`);
  const text = generateModelData(await Bun.file(`${root}/src/models.json`).text());
  const current = (await target.exists()) ? await target.text() : "";
  if (current === text) return 0;
  if (!args.includes("--write")) {
    console.error("src/models-data.ts is stale: run bun scripts/models.ts --write");
    return 1;
  }
  await target.write(text);
  return 0;
}

if (import.meta.main) process.exit(await main(process.argv.slice(2)));
