/** A temporary workspace with secrets, links and rules in it, and a gate over it. For tests of judging; nothing is run. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "bun:test";
import * as v from "valibot";
import { Gate, type ApprovalDeps } from "../../src/approval.ts";
import type { OrderedEntry } from "../../src/config.ts";
import { parsePermission, type ToolRules } from "../../src/permission.ts";
import { openPlugins } from "../../src/plugins.ts";
import { SECRET_READ_RULES } from "../../src/secrets.ts";
import { defineTool, type PreparedCall, type RuleDefault, type Subject, type Tool } from "../../src/tool.ts";
import type { JsonObject } from "../../src/types.ts";
import { openWorkspace } from "../../src/workspace.ts";

/** A table as written in config.json; order counts, so lists of pairs stand for objects with integer-like keys. */
export type WrittenRules = Record<string, string | Record<string, string>>;

const directories: string[] = [];
afterAll(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

export function tempDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "shiro-gate-")));
  directories.push(directory);
  return directory;
}

/** Files every gate test may name. Contents never matter. */
const FILES = [
  ".env",
  ".env.example",
  ".npmrc",
  ".gitignore",
  "README.md",
  "package.json",
  "notes.md",
  "src/a.c",
  "src/b.c",
  "src/deep/c.ts",
  "sub/keep.txt",
  "conf/server.pem",
  "conf/readme.txt",
  "docs/guide.md",
  "build/out.js",
  ".git/config",
  ".shiro/config.json",
];

export function makeWorkspace(): string {
  const base = tempDirectory();
  const root = join(base, "work");
  for (const file of FILES) put(root, file);
  put(base, "work-evil/s");
  put(base, "home/.ssh/id_rsa");
  put(base, "home/.profile");
  put(base, "home/.shiro-neko/config.json");
  symlinkSync(".env", join(root, "link.txt"));
  symlinkSync(".", join(root, "loop"));
  symlinkSync(join(base, "home"), join(root, "out"));
  symlinkSync(".shiro/not-yet.json", join(root, "dangling.txt"));
  return root;
}

function put(root: string, file: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), "x\n");
}

export function ordered(rules: WrittenRules): OrderedEntry[] {
  let line = 1;
  return Object.entries(rules).map(([key, value]) => ({
    key,
    line: ++line,
    value:
      typeof value === "string"
        ? value
        : Object.entries(value).map(([pattern, decision]) => ({ key: pattern, line: ++line, value: decision })),
  }));
}

const bashTool = sampleTool("bash", "ask", true, (input) => [{ kind: "command", command: input }]);
const readTool = sampleTool("read_file", SECRET_READ_RULES, false, (input) => [
  { kind: "path", path: input, access: "read" },
]);
const writeTool = sampleTool("write_file", "ask", true, (input) => [{ kind: "path", path: input, access: "write" }]);
const listTool = sampleTool("list_dir", "allow", false, (input) => [{ kind: "path", path: input, access: "list" }]);
const fetchTool = sampleTool("web_fetch", "ask", false, (input) => [{ kind: "text", text: input }]);
const mcpTool = sampleTool("mcp_call", "ask", true, (input) => [{ kind: "text", text: input }]);
const statusTool = sampleTool("git_status", "allow", false, () => []);

export const SAMPLE_TOOLS: readonly Tool[] = [bashTool, readTool, writeTool, listTool, fetchTool, mcpTool, statusTool];

/** A tool of one text input; running it appends to `ran`. */
export function sampleTool(
  name: string,
  permission: RuleDefault,
  mutates: boolean,
  subjects: (input: string) => Subject[],
  ran: string[] = [],
): Tool {
  return defineTool({
    name,
    description: `Sample ${name}.`,
    set: "session",
    input: v.object({
      command: v.optional(v.string()),
      path: v.optional(v.string()),
      url: v.optional(v.string()),
      content: v.optional(v.string()),
    }),
    mutates,
    permission,
    subjects: (input) => subjects(input.command ?? input.path ?? input.url ?? ""),
    concurrencySafe: () => false,
    run: async () => {
      ran.push(name);
      return { text: "done" };
    },
  });
}

export interface GateOptions extends Partial<
  Pick<ApprovalDeps, "yolo" | "interactive" | "preTool" | "shell" | "sandbox">
> {
  rules?: WrittenRules;
  flags?: ToolRules[];
  plugins?: string[];
  root?: string;
}

/** A gate over a workspace, with the builtin plugins. */
export function makeGate(root: string, options: GateOptions = {}): Gate {
  const parsed = parsePermission(ordered(options.rules ?? {}), { tools: SAMPLE_TOOLS });
  const plugins = openPlugins(options.plugins, {
    clock: { now: () => new Date(0) },
    isIgnored: (absolute) => absolute.includes("/build/") || absolute.endsWith("/ignored.txt"),
    ring: () => {},
  });
  return new Gate({
    rules: [...parsed.rules, ...(options.flags ?? [])],
    tools: (name) => [...SAMPLE_TOOLS, ...plugins.tools()].find((tool) => tool.name === name),
    plugins,
    workspace: openWorkspace({ root }),
    home: join(dirname(root), "home/.shiro-neko"),
    homeDir: join(dirname(root), "home"),
    yolo: options.yolo ?? false,
    interactive: options.interactive ?? true,
    ...(options.shell ? { shell: options.shell } : {}),
    ...(options.sandbox ? { sandbox: options.sandbox } : {}),
    ...(options.preTool ? { preTool: options.preTool } : {}),
  });
}

let nextId = 0;

export function call(name: string, input: JsonObject): PreparedCall {
  const tool = SAMPLE_TOOLS.find((candidate) => candidate.name === name);
  if (!tool) throw new Error(`No sample tool ${name}`);
  return { id: `call-${++nextId}`, tool, input, rawInput: input };
}
