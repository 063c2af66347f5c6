/** Installed plugins: a manifest of deny rules, data only, read into a plugin. Fetches and stores nothing, and runs no code of its author. */
import * as v from "valibot";
import { messageOf } from "./errors.ts";
import { everyEffective } from "./permission-line.ts";
import { mcpNameOf, type Plugin, type PluginCall } from "./plugin.ts";
import { patternProblem } from "./plugin-pattern.ts";
import { matchesWildcard } from "./wildcard.ts";

const pattern = v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)));

const denyRule = v.pipe(
  v.strictObject({
    /** Tool names; `*` covers a family. */
    tools: v.pipe(v.array(v.pipe(v.string(), v.nonEmpty())), v.minLength(1)),
    commandPattern: pattern,
    pathPattern: pattern,
    urlPattern: pattern,
    reason: v.pipe(v.string(), v.nonEmpty(), v.maxLength(500)),
  }),
  v.check((rule) => patternsOf(rule).length === 1, "needs exactly one of commandPattern, pathPattern and urlPattern"),
);

const manifest = v.strictObject({
  name: v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9-]*$/), v.maxLength(64)),
  description: v.pipe(v.string(), v.maxLength(300)),
  version: v.optional(v.string()),
  deny: v.pipe(v.array(denyRule), v.minLength(1), v.maxLength(200)),
});

type DenyRule = v.InferOutput<typeof denyRule>;
export type Manifest = v.InferOutput<typeof manifest>;

export type ManifestRead = { manifest: Manifest; plugin: Plugin } | { problem: string };

/** Reads a manifest. Never throws: what is wrong with it comes back as one line for `/plugins`. */
export function readManifest(text: string): ManifestRead {
  const parsed = parseJson(text);
  if ("problem" in parsed) return parsed;
  const checked = v.safeParse(manifest, parsed.value);
  if (!checked.success) {
    const [issue] = checked.issues;
    return { problem: `${v.getDotPath(issue) ?? "manifest"}: ${issue.message}` };
  }
  for (const rule of checked.output.deny) {
    const problem = patternsOf(rule)
      .map(patternProblem)
      .find((one) => one !== null);
    if (problem) return { problem };
  }
  return { manifest: checked.output, plugin: pluginOf(checked.output) };
}

function parseJson(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: `not valid JSON (${messageOf(error)})` };
  }
}

function patternsOf(rule: {
  commandPattern?: string | undefined;
  pathPattern?: string | undefined;
  urlPattern?: string | undefined;
}): string[] {
  return [rule.commandPattern, rule.pathPattern, rule.urlPattern].filter((one) => one !== undefined);
}

function pluginOf({ name, description, deny }: Manifest): Plugin {
  const rules = deny.map((rule) => ({ rule, expression: new RegExp(patternsOf(rule)[0] ?? "", "u") }));
  return {
    name,
    description,
    beforeToolCall: (call) => {
      const hit = rules.find(
        ({ rule, expression }) => appliesTo(rule, call) && textsFor(rule, call).some((text) => expression.test(text)),
      );
      return hit ? { decision: "deny", by: "plugin", reason: `${name}: ${hit.rule.reason}` } : null;
    },
  };
}

function appliesTo(rule: DenyRule, call: PluginCall): boolean {
  const { tool } = call;
  if (tool === null) return false;
  const names = [tool.name, ...mcpNameOf(call.subjects)];
  return rule.tools.some((wanted) => names.some((name) => matchesWildcard(wanted, name)));
}

/** Commands as they really run and as written, paths as written and as they really are, addresses as parsed. */
function textsFor(rule: DenyRule, call: PluginCall): string[] {
  if (rule.commandPattern !== undefined)
    return call.lines.flatMap((line) => [
      line.source,
      ...[...everyEffective(line)].map((command) => command.normalised),
    ]);
  if (rule.pathPattern !== undefined)
    return [
      ...call.subjects.flatMap((subject) => (subject.kind === "path" ? namesOf(subject.path, call) : [])),
      ...call.writes.flatMap((path) => [path.written, path.realWritten]),
    ];
  return call.subjects.flatMap((subject) =>
    subject.kind === "text" && URL.canParse(subject.text) ? [new URL(subject.text).href] : [],
  );
}

/** `./private/x` and a link to it are `private/x` all the same. */
function namesOf(path: string, call: PluginCall): string[] {
  const facts = call.facts?.(path);
  return facts ? [path, facts.written, facts.realWritten] : [path];
}
