/** Checks lines of `--json` against the schema that the program prints itself. Knows the few words of JSON Schema that schema uses, and refuses others. */
import { type Event, runShiro } from "./binary.ts";

type Schema = Record<string, unknown>;

const KNOWN = new Set(
  "$schema title type properties required additionalProperties oneOf const enum items minimum".split(" "),
);

let loaded: Promise<Schema> | null = null;

/** What is wrong with the events of one run: one line each; empty when all is well. */
export async function eventFaults(events: readonly Event[]): Promise<string[]> {
  loaded ??= loadSchema();
  const schema = await loaded;
  const faults = events.flatMap((event) =>
    faultsOf(event, schema, "").map((fault) => `${JSON.stringify(event).slice(0, 200)}: ${fault}`),
  );
  if (events[0]?.type !== "session") faults.push("the first line is no session event");
  if (events.at(-1)?.type !== "done") faults.push("the last line is no done event");
  for (const once of ["session", "done"])
    if (events.filter((event) => event.type === once).length !== 1) faults.push(`${once} is there not exactly once`);
  return faults;
}

async function loadSchema(): Promise<Schema> {
  const { stdout, code } = await runShiro({ args: ["schema", "events"], cwd: "/" });
  if (code !== 0) throw new Error("shiro schema events failed");
  return asSchema(JSON.parse(stdout));
}

function asSchema(value: unknown): Schema {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("not a schema");
  const unknown = Object.keys(value).filter((word) => !KNOWN.has(word));
  if (unknown.length > 0) throw new Error(`this checker does not know ${unknown.join(", ")}`);
  return { ...value };
}

function faultsOf(value: unknown, schema: Schema, at: string): string[] {
  const options = list(schema.oneOf);
  if (options.length > 0) {
    const tried = options.map((option) => faultsOf(value, asSchema(option), at));
    const fitting = tried.filter((faults) => faults.length === 0).length;
    return fitting === 1 ? [] : [`${fitting} alternatives fit; nearest: ${nearest(tried)}`];
  }
  if (schema.type !== undefined && !listOf(schema.type).some((type) => isType(value, type)))
    return [`${at} is not of type ${String(schema.type)}`];
  if ("const" in schema && value !== schema.const) return [`${at} is not ${String(schema.const)}`];
  if (schema.enum !== undefined && !list(schema.enum).includes(value)) return [`${at} is none of the enum`];
  if (typeof schema.minimum === "number" && typeof value === "number" && value < schema.minimum)
    return [`${at} is below ${schema.minimum}`];
  if (Array.isArray(value) && schema.items !== undefined) {
    const items = asSchema(schema.items);
    return value.flatMap((item, index) => faultsOf(item, items, `${at}[${index}]`));
  }
  return typeof value === "object" && value !== null && !Array.isArray(value) ? objectFaults(value, schema, at) : [];
}

function objectFaults(value: object, schema: Schema, at: string): string[] {
  if (schema.properties === undefined) return [];
  // Not through asSchema: the keys are names of fields here.
  const properties = new Map(Object.entries(Object(schema.properties)));
  const missing = list(schema.required).filter((name) => !Object.hasOwn(value, String(name)));
  return [
    ...missing.map((name) => `${at}.${String(name)} is missing`),
    ...Object.entries(value).flatMap(([name, item]) => {
      const own = properties.get(name);
      if (own !== undefined) return faultsOf(item, asSchema(own), `${at}.${name}`);
      return schema.additionalProperties === false ? [`${at}.${name} is not foreseen`] : [];
    }),
  ];
}

function isType(value: unknown, type: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === type;
}

function nearest(tried: string[][]): string {
  // An alternative for another type fails at its type first.
  const best = tried.filter((faults) => !faults.some((fault) => fault.startsWith(".type "))).at(0);
  return (best ?? ["no such type"]).join("; ");
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value]);
