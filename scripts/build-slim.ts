/**
 * Leaves out of the binary what the SDKs bring and nothing here can reach: their clients make an object for every part of
 * the API, while shiro posts bodies of its own to three addresses; and MCP's client comes with a JSON Schema compiler,
 * while shiro hands it a validator.
 */
import type { BunPlugin } from "bun";

const RESOURCES = /node_modules[\\/](openai|@anthropic-ai[\\/]sdk)[\\/]resources[\\/].*\.mjs$/;
const VALIDATOR = /@modelcontextprotocol[\\/]sdk[\\/]dist[\\/]esm[\\/]validation[\\/]ajv-provider\.js$/;

export const slim: BunPlugin = {
  name: "slim",
  setup(builder) {
    const scanner = new Bun.Transpiler({ loader: "js" });
    builder.onLoad({ filter: RESOURCES }, async ({ path }) => ({
      contents: emptyClasses(await Bun.file(path).text(), scanner),
      loader: "js",
    }));
    builder.onLoad({ filter: VALIDATOR }, () => ({ contents: "export class AjvJsonSchemaValidator {}", loader: "js" }));
  },
};

/** A module with the same exports, each an empty class; what it passes on from others it still does. */
function emptyClasses(source: string, scanner: Bun.Transpiler): string {
  const passedOn = source.match(/^export \* from .*;$/gm) ?? [];
  const classes = scanner
    .scan(source)
    .exports.map((name) => (name === "default" ? "export default class {}" : `export class ${name} {}`));
  return [...passedOn, ...classes].join("\n");
}
