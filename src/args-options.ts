/** Everything a command line can say, as data, and what holds where it says nothing. Parses nothing. */
import type { ThinkingLevel } from "./types.ts";

/** Everything the command line can say. Null or empty: not said. */
export interface Options {
  print: boolean;
  json: boolean;
  continue: boolean;
  resume: string | null;
  agent: string | null;
  think: ThinkingLevel | null;
  provider: string | null;
  model: string | null;
  baseUrl: string | null;
  mcp: boolean;
  subagent: boolean;
  instructions: boolean;
  skills: boolean;
  plugins: boolean;
  memory: boolean;
  yolo: boolean;
  maxSpendUsd: number | null;
  maxTokens: number | null;
  maxSeconds: number | null;
  maxSteps: number | null;
  timeoutMs: number | null;
  addDirs: string[];
  directory: string | null;
  plain: boolean;
  lowBandwidth: boolean;
  quiet: boolean;
  outputFile: string | null;
  allow: string[];
  deny: string[];
  approvals: "jsonl" | null;
  schema: string | null;
  ephemeral: boolean;
  stdin: "wait" | "never" | "auto";
  strict: boolean;
  yes: boolean;
  online: boolean;
  since: string | null;
  force: boolean;
  /** `NAME=value` and `Name: value`, for `mcp add`. */
  env: string[];
  headers: string[];
}

export function defaultOptions(): Options {
  return {
    print: false,
    json: false,
    continue: false,
    resume: null,
    agent: null,
    think: null,
    provider: null,
    model: null,
    baseUrl: null,
    mcp: true,
    subagent: true,
    instructions: true,
    skills: true,
    plugins: true,
    memory: true,
    yolo: false,
    maxSpendUsd: null,
    maxTokens: null,
    maxSeconds: null,
    maxSteps: null,
    timeoutMs: null,
    addDirs: [],
    directory: null,
    plain: false,
    lowBandwidth: false,
    quiet: false,
    outputFile: null,
    allow: [],
    deny: [],
    approvals: null,
    schema: null,
    ephemeral: false,
    stdin: "auto",
    strict: false,
    yes: false,
    online: false,
    since: null,
    force: false,
    env: [],
    headers: [],
  };
}
