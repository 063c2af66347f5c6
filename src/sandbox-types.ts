/** What the sandbox is to the rest of the program. Types only. */
import type { Explanation, Failure } from "./sandbox-explain.ts";
import type { LauncherReport } from "./sandbox-plan.ts";
import type { PolicyPlaces } from "./sandbox-policy.ts";
import type { Rung } from "./sandbox-rungs.ts";
import type { SandboxMode, SandboxSettings } from "./sandbox-settings.ts";
import type { Watch } from "./sandbox-watch.ts";

export interface SandboxOptions {
  settings: SandboxSettings;
  places: PolicyPlaces;
  /** The program's environment: where temporary files go. */
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  /** How the launcher is started, `launcherArgv()`. */
  self: readonly string[];
  /** Names that are handed to commands whatever they look like. */
  passed: readonly string[];
  /** Whether every program of a command line is one the user keeps outside. */
  isExcluded(command: string, patterns: readonly string[]): boolean;
  /** Told once, at the first command, where there should be a sandbox and is none. */
  onUnavailable?(why: string): void;
  /** For tests: claim no more than this Landlock ABI. */
  abiLimit?: number;
}

export interface SandboxStatus {
  mode: SandboxMode;
  /** `expected`: it should work, and the first command will test it. */
  state: "active" | "expected" | "off";
  /** Why it is off, or what is still open; empty when there is nothing to say. */
  why: string;
  rung: Rung;
  abi: number;
  kernel: string;
  network: "off" | "on";
  /** Where the network may be asked for. */
  networkAsks: boolean;
  unixSockets: "off" | "on";
  write: string[];
  denied: string[];
  held: string[];
  lost: string[];
}

export interface SandboxRequest {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** The command line, for `excluded`; empty where there is none. */
  command: string;
  /** `argv` is bash with -lc: its start-up files are run once, outside, and what they set is handed over. */
  login?: true;
  /** It can't be given a pipe as descriptor 3 (an MCP server's transport makes its own pipes): failures go to its stderr. */
  quiet?: true;
  /** What a person has allowed for this command. */
  allowed?: SandboxAllowance;
  /** It was let through only because it is confined: not run at all where its files can't be. */
  mustConfine?: true;
}

export interface SandboxAllowance {
  network?: true;
  /** Real paths. */
  write?: readonly string[];
  outside?: true;
}

/** Whether a command that would be asked about by default may run unasked. */
export interface SandboxVerdict {
  autoAllow: boolean;
  why: string;
}

/**
 * Inside: start `argv` in `cwd` with `env` and a pipe as descriptor 3 (`report` of spawn.ts); only a report that
 * `parseReport` reads as started means that the command ran.
 */
export type Entered =
  | {
      inside: true;
      argv: string[];
      cwd: string;
      env: Record<string, string>;
      /** False where nothing writes to descriptor 3: on macOS, and for a quiet request. */
      reports: boolean;
      explain(failure: Failure): Explanation | null;
    }
  | { inside: false };

export interface Sandbox {
  /** From what is known now: files are looked at, nothing is started. */
  status(): SandboxStatus;
  /** The same after the self-test, which is run once where it has not been yet. */
  ready(): Promise<SandboxStatus>;
  /** How to start a command. `inside: false`: as it is, outside. Throws ToolError where it must not run at all. */
  enter(request: SandboxRequest): Promise<Entered>;
  /** Whether a command that would be asked about by default may run unasked. False until `ready` has been awaited once on a new kernel. */
  verdictFor(command: string): SandboxVerdict;
  /** The same after the self-test, which is run where it has not been yet. Null: the mode lets nothing run unasked. */
  testedVerdict(command: string): Promise<SandboxVerdict | null>;
  /** Whether a command runs outside because the user keeps it there. */
  excludes(command: string): boolean;
  /** A directory that later commands may write too; null, or why it can't be. For the session only. */
  addRoot(path: string): string | null;
  /** One or two sentences for the model; null where there is no sandbox. */
  promptLine(): string | null;
  /** Of the workspace's files that run code later. The first look is taken at the first call. */
  watch(): Watch;
  /** Told what the launcher reported: a kernel that isn't as tested is tested again before the next command. */
  settle(report: LauncherReport): void;
  /** Removes the private temporary directory. Never throws. */
  close(): void;
}
