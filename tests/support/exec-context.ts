/** A ToolContext around a real workspace in a temporary directory, and a way to run a tool as approval would. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "bun:test";
import { childEnv } from "../../src/child-env.ts";
import { Grant, redeem, type Tool, type ToolContext, type ToolOutput } from "../../src/tool.ts";
import { openWorkspace } from "../../src/workspace.ts";

export interface Bench {
  root: string;
  context: ToolContext;
  /** Everything the tool printed live. */
  printed: string[];
  /** Functions that ctrl-c would call. */
  kills: (() => void)[];
  run(tool: Tool, input: unknown): Promise<ToolOutput>;
}

const made: string[] = [];
afterAll(() => {
  for (const base of made.splice(0)) rmSync(base, { recursive: true, force: true });
});

export function bench(files: Record<string, string> = {}, overrides: Partial<ToolContext> = {}): Bench {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "shiro-bench-")));
  made.push(base);
  const root = join(base, "work");
  mkdirSync(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const printed: string[] = [];
  const kills: (() => void)[] = [];
  const context: ToolContext = {
    callId: "call-1",
    signal: new AbortController().signal,
    workspace: openWorkspace({ root, extraDirs: [] }),
    childEnv: childEnv({ ...process.env, HOME: base, GIT_CONFIG_NOSYSTEM: "1" }, { remove: [] }),
    spillDir: join(base, "spill"),
    mayRead: () => true,
    output: (text) => printed.push(text),
    vision: false,
    todos: { get: () => [], set: () => {} },
    memory: null,
    ask: null,
    agents: null,
    limitTools: () => {},
    onCommand: (kill) => {
      kills.push(kill);
      return () => kills.splice(kills.indexOf(kill), 1);
    },
    ...overrides,
  };
  const run = (tool: Tool, input: unknown) => redeem(Grant.mint({ id: "call-1", tool, input, rawInput: {} }), context);
  return { root, context, printed, kills, run };
}
