/** A temporary workspace with the file tools in it, run as the loop runs them: validated, granted, redeemed. */
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "bun:test";
import { ToolError } from "../../src/errors.ts";
import { applyPatchTool } from "../../src/tool-patch.ts";
import { editFileTool, multiEditTool, writeFileTool } from "../../src/tool-edit.ts";
import { validateInput } from "../../src/tool-input.ts";
import { listDirTool } from "../../src/tool-list.ts";
import { readFileTool, readManyFilesTool } from "../../src/tool-read.ts";
import { Grant, redeem, type Tool, type ToolContext, type ToolOutput } from "../../src/tool.ts";
import type { JsonObject } from "../../src/types.ts";
import { openWorkspace, type Workspace } from "../../src/workspace.ts";

const TOOLS = [
  readFileTool,
  readManyFilesTool,
  writeFileTool,
  editFileTool,
  multiEditTool,
  applyPatchTool,
  listDirTool,
];

export interface Bench {
  /** Real path of the workspace. */
  root: string;
  workspace: Workspace;
  context: ToolContext;
  write(path: string, content: string | Uint8Array): string;
  bytes(path: string): Buffer;
  text(path: string): string;
  /** Every file below the root with its text. */
  tree(): Record<string, string>;
  run(tool: string, input: JsonObject): Promise<ToolOutput>;
  /** The error's category and text; fails when the call succeeds. */
  refused(tool: string, input: JsonObject): Promise<string>;
  preview(tool: string, input: JsonObject): Promise<string | null>;
}

const made: string[] = [];
afterAll(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
});

/** A real path that is removed after the file's tests. */
export function tempDir(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "shiro-test-")));
  made.push(dir);
  return dir;
}

export function openBench(
  options: { root?: string; vision?: boolean; mayRead?: (path: string) => boolean } = {},
): Bench {
  const root = options.root ?? tempDir();
  const workspace = openWorkspace({ root });
  const context = contextFor(workspace, options);
  const at = (path: string) => join(root, path);
  return {
    root,
    workspace,
    context,
    write(path, content) {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), content);
      return at(path);
    },
    bytes: (path) => readFileSync(at(path)),
    text: (path) => readFileSync(at(path), "utf8"),
    tree: () => treeOf(root),
    run: (tool, input) => runTool(named(tool), input, context),
    refused: (tool, input) => refusal(named(tool), input, context),
    preview: (tool, input) => named(tool).preview(validated(named(tool), input), context),
  };
}

function contextFor(
  workspace: Workspace,
  options: { vision?: boolean; mayRead?: (path: string) => boolean },
): ToolContext {
  return {
    callId: "call",
    signal: new AbortController().signal,
    workspace,
    childEnv: {},
    spillDir: join(workspace.root, "..", "spill"),
    mayRead: options.mayRead ?? (() => true),
    output: () => {},
    vision: options.vision ?? false,
    todos: { get: () => [], set: () => {} },
    memory: null,
    ask: null,
    agents: null,
    limitTools: () => {},
    onCommand: () => () => {},
  };
}

function named(name: string): Tool {
  const tool = TOOLS.find((one) => one.name === name);
  if (!tool) throw new Error(`no tool ${name}`);
  return tool;
}

function validated(tool: Tool, input: JsonObject): unknown {
  const result = validateInput(tool.input, input);
  if (!result.ok) throw new ToolError(result.message, { category: "validation error" });
  return result.input;
}

async function runTool(tool: Tool, rawInput: JsonObject, context: ToolContext): Promise<ToolOutput> {
  const input = validated(tool, rawInput);
  return redeem(Grant.mint({ id: "call", tool, input, rawInput }), context);
}

async function refusal(tool: Tool, input: JsonObject, context: ToolContext): Promise<string> {
  try {
    const output = await runTool(tool, input, context);
    throw new Error(`${tool.name} succeeded: ${output.text}`);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return `[${error.category}] ${error.message}`;
  }
}

function treeOf(root: string): Record<string, string> {
  const names = readdirSync(root, { recursive: true, encoding: "utf8" }).sort();
  const files = names.filter((name) => lstatSync(join(root, name)).isFile());
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(root, name), "utf8")]));
}
