/** Runs a tool for the benchmark, without a session around it. */
import { join } from "node:path";
import { Grant, redeem, type Tool, type ToolContext } from "../src/tool.ts";
import type { JsonObject } from "../src/types.ts";
import { openWorkspace } from "../src/workspace.ts";

export function toolContext(root: string, folder: string, env: Record<string, string>): ToolContext {
  return {
    callId: "bench",
    signal: new AbortController().signal,
    workspace: openWorkspace({ root }),
    childEnv: env,
    spillDir: join(folder, "spill"),
    mayRead: () => true,
    output: () => {},
    vision: false,
    todos: { get: () => [], set: () => {} },
    memory: null,
    ask: null,
    agents: null,
    limitTools: () => {},
    onCommand: () => () => {},
  };
}

/** The text the model would see. */
export async function runTool(tool: Tool, input: JsonObject, context: ToolContext): Promise<string> {
  const { text } = await redeem(Grant.mint({ id: "bench", tool, input, rawInput: input }), context);
  return text;
}
