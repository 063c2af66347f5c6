/** The sandbox as the rest of the program sees it: what holds, how a command gets in, why one failed. Probes nothing before the first command; asks nobody. */
import { release } from "node:os";
import { ToolError, messageOf } from "./errors.ts";
import { sandboxEnv } from "./sandbox-env.ts";
import { explainFailure, type Explanation, type Failure, type InForce } from "./sandbox-explain.ts";
import { ownIds } from "./sandbox-ids.ts";
import { SHARED_MEMORY } from "./sandbox-landlock.ts";
import { MACOS_LOST, macosArgv } from "./sandbox-macos.ts";
import { LoginShell } from "./sandbox-login.ts";
import { MAX_PLAN_BYTES, type LauncherReport, type SandboxPlan } from "./sandbox-plan.ts";
import { afterLinking } from "./sandbox-outside.ts";
import type { Policy } from "./sandbox-policy.ts";
import { forgetTest, rememberedTest, rememberTest, testSandbox, type Tested } from "./sandbox-probe.ts";
import { heldBy, LOWEST, meets, reaches, type Rung } from "./sandbox-rungs.ts";
import { SandboxRoots } from "./sandbox-roots.ts";
import { SandboxTmp } from "./sandbox-tmp.ts";
import type {
  Entered,
  Sandbox,
  SandboxOptions,
  SandboxRequest,
  SandboxStatus,
  SandboxVerdict,
} from "./sandbox-types.ts";
import { openWatch, type Watch } from "./sandbox-watch.ts";

export type {
  Entered,
  Sandbox,
  SandboxAllowance,
  SandboxOptions,
  SandboxRequest,
  SandboxStatus,
  SandboxVerdict,
} from "./sandbox-types.ts";

/** Nothing is looked at before the first method is called. */
export function openSandbox(options: SandboxOptions): Sandbox {
  return new KernelSandbox(options);
}

/** The program that runs now, as its own launcher. /proc/self/exe is this very file, even after an update. */
export function launcherArgv(main: string, execPath: string): string[] {
  const compiled = main.startsWith("/$bunfs/") || main.includes("~BUN");
  return compiled ? ["/proc/self/exe", "__sandbox"] : [execPath, main, "__sandbox"];
}

class KernelSandbox implements Sandbox {
  readonly #options: SandboxOptions;
  readonly #tmp: SandboxTmp;
  readonly #roots: SandboxRoots;
  readonly #login: LoginShell;
  #tested: Tested | null = null;
  #testing: Promise<Tested> | null = null;
  #watch: Watch | null = null;
  #told = false;
  #wasInside = false;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#tmp = new SandboxTmp(options.env["TMPDIR"], options.places.stateHome);
    this.#roots = new SandboxRoots(options.settings, options.places);
    this.#login = new LoginShell(
      options.env,
      () => this.#roots.writable,
      () => this.#tmp.keep("env"),
    );
  }

  status(): SandboxStatus {
    const { settings, platform } = this.#options;
    const network = settings.network === "on" ? "on" : "off";
    const off = this.#whyOff();
    const policy = off === null ? this.#roots.policy(network) : null;
    const tested = this.#known();
    const rung = tested?.rung ?? "none";
    const why = off ?? (policy !== null && "why" in policy ? policy.why : (this.#whyNotEnough(tested) ?? ""));
    const lists = policy !== null && "policy" in policy ? policy.policy : { write: [], deny: [], lost: [] };
    const write = [
      ...lists.write,
      ...this.#roots.added,
      ...(settings.tmp === "private" ? [this.#tmp.path ?? "$TMPDIR"] : []),
      ...(settings.sharedMemory ? [SHARED_MEMORY] : []),
    ];
    const isOff = why !== "";
    return {
      mode: settings.mode ?? "on",
      state: isOff ? "off" : tested === null ? "expected" : "active",
      why,
      rung: isOff ? "none" : rung,
      abi: tested?.abi ?? 0,
      kernel: `${platform} ${release()}`,
      network,
      networkAsks: settings.network === "ask",
      unixSockets: settings.unixSockets,
      write: isOff ? [] : write,
      denied: isOff ? [] : lists.deny,
      held: isOff ? [] : heldBy(rung, { network, unixSockets: settings.unixSockets }, { write }),
      lost: isOff ? [] : [...(platform === "darwin" ? MACOS_LOST : (tested?.lost ?? [])), ...lists.lost],
    };
  }

  async ready(): Promise<SandboxStatus> {
    if (this.#whyOff() === null && this.#roots.found.ok && this.#known() === null) await this.#test();
    return this.status();
  }

  async enter(request: SandboxRequest): Promise<Entered> {
    const { settings, platform } = this.#options;
    if (request.allowed?.outside) return { inside: false };
    if (this.#isExcluded(request.command)) {
      if (request.mustConfine) throw unconfined(EXCLUDED);
      return { inside: false };
    }
    const { state, rung, why } = await this.ready();
    if (request.mustConfine && state === "off") throw unconfined(why);
    if (request.mustConfine && !protectsFiles(rung, platform)) throw unconfined(UNPROTECTED);
    if (state === "off") return this.#outside(why);
    const network = settings.network === "on" || request.allowed?.network ? "on" : "off";
    const made = this.#roots.policy(network);
    // It was there a moment ago: a command that expects to be confined isn't run without.
    if ("why" in made) throw new ToolError(`The sandbox can't be set up: ${made.why}. The command was not run.`);
    const tmp = settings.tmp === "private" ? this.#openTmp() : null;
    const write = this.#roots.all(made.policy, request.allowed?.write ?? [], tmp);
    this.#wasInside = true;
    const shell = request.login ? await this.#login.enter(request) : request;
    const accept = request.mustConfine ? LOWEST.fs : undefined;
    const read = [...made.policy.read, ...this.#tmp.kept];
    const plan = this.#plan({ ...made.policy, write, read }, network, request.cwd, accept);
    const label = platform === "darwin" ? "macos" : rung;
    const start = platform === "darwin" ? shell : afterLinking(shell.argv, shell.env);
    return {
      inside: true,
      argv: this.#argv(request.quiet ? { ...plan, quiet: true } : plan, start.argv),
      // The launcher must not start where somebody else's files are.
      cwd: platform === "darwin" ? request.cwd : "/",
      env: sandboxEnv(start.env, settings, { rung: label, network, tmp, passed: this.#options.passed }),
      reports: platform === "linux" && request.quiet !== true,
      explain: (failure) => this.#explain(failure, plan),
    };
  }

  async testedVerdict(command: string): Promise<SandboxVerdict | null> {
    if (this.#options.settings.mode !== "auto-allow-sandboxed") return null;
    if (!this.#isExcluded(command)) await this.ready();
    return this.verdictFor(command);
  }

  excludes(command: string): boolean {
    return this.#whyOff() === null && this.#isExcluded(command);
  }

  verdictFor(command: string): SandboxVerdict {
    const { settings, platform } = this.#options;
    if (settings.mode !== "auto-allow-sandboxed") return { autoAllow: false, why: "sandbox.mode does not say so" };
    if (this.#isExcluded(command)) return { autoAllow: false, why: EXCLUDED };
    const { state, why, rung } = this.status();
    if (platform !== "linux") return { autoAllow: false, why: "there is no tested sandbox on this system" };
    if (state === "off") return { autoAllow: false, why };
    if (state === "expected") return { autoAllow: false, why: "the sandbox has not been tested yet" };
    if (!protectsFiles(rung, platform)) return { autoAllow: false, why: UNPROTECTED };
    if (settings.unixSockets === "on")
      return { autoAllow: false, why: "sandbox.unixSockets is on, and docker's or D-Bus' socket is a way out" };
    return { autoAllow: true, why: `it runs in the sandbox (${rung})` };
  }

  addRoot(path: string): string | null {
    return this.#roots.add(path);
  }

  promptLine(): string | null {
    const { state, network, unixSockets, write, rung } = this.status();
    if (state === "off") return null;
    const net = network === "off" ? "there is no network, localhost included" : "the network is open";
    if (rung === "net") return `Commands run in a sandbox: ${net}.`;
    // Of no use to a model that hasn't heard of it; who needs it finds it.
    const told = write.filter((path) => path !== SHARED_MEMORY);
    const places = told.map((path) => (path === this.#tmp.path ? "$TMPDIR" : path));
    const sockets = unixSockets === "off" ? "; unix sockets can't be used" : "";
    return `Commands run in a sandbox: they may write only in ${places.join(", ")}${this.#options.settings.tmp === "private" ? " (not in /tmp)" : ""}; ${net}${sockets}.`;
  }

  watch(): Watch {
    return (this.#watch ??= openWatch(this.#options.places.workspace));
  }

  settle(report: LauncherReport): void {
    const known = this.#tested;
    if (known === null || report.state === "silent") return;
    const asKnown = report.state === "started" ? report.rung === known.rung : !KERNEL_STEPS.has(report.step);
    if (asKnown) return;
    // Another boot option, another container: the kernel isn't the one that was tested.
    this.#tested = null;
    this.#testing = null;
    forgetTest(this.#options.places.stateHome);
  }

  close(): void {
    this.#login.forget();
    this.#tmp.close();
  }

  /** Why there is none, as far as settings and system say. */
  #whyOff(): string | null {
    const { settings, platform } = this.#options;
    if (settings.mode === "off") return "sandbox.mode is off";
    if (platform === "win32") return "No OS sandbox on Windows; approvals are the only barrier; use WSL2";
    if (platform === "darwin")
      return settings.experimental ? null : "no tested sandbox on macOS (sandbox.experimental tries sandbox-exec)";
    return platform === "linux" ? null : `no sandbox on ${platform}`;
  }

  #whyNotEnough(tested: Tested | null): string | null {
    const { settings, platform } = this.#options;
    if (tested === null || platform === "darwin") return null;
    if (tested.problem !== null) return tested.problem;
    if (meets(tested.rung, settings.require)) return null;
    return `this kernel reaches "${tested.rung}", and sandbox.require is "${settings.require}"`;
  }

  /** What worked in this session and doesn't now may be a command's doing: then nothing is run without. */
  #outside(why: string): Entered {
    if (this.#wasInside) throw new ToolError(`The sandbox can't be set up any more: ${why}. The command was not run.`);
    this.#tellUnavailable(why);
    return { inside: false };
  }

  /** On other systems nobody expects one who hasn't asked for it. */
  #tellUnavailable(why: string): void {
    const { settings, platform, onUnavailable } = this.#options;
    if (this.#told || settings.mode === "off" || (platform !== "linux" && settings.mode === null)) return;
    this.#told = true;
    onUnavailable?.(why);
  }

  #isExcluded(command: string): boolean {
    const { excluded } = this.#options.settings;
    return excluded.length > 0 && command !== "" && this.#options.isExcluded(command, excluded);
  }

  #known(): Tested | null {
    const { places, platform, abiLimit } = this.#options;
    if (platform === "darwin") return { rung: "none", abi: 0, lost: [], problem: null };
    if (this.#tested === null && abiLimit === undefined) this.#tested = rememberedTest(places.stateHome);
    return this.#tested;
  }

  async #test(): Promise<void> {
    const { self, places, abiLimit } = this.#options;
    this.#testing ??= testSandbox({ self, tmp: this.#tmp.base, env: launcherEnv(this.#options.env), abiLimit }).catch(
      (error: unknown): Tested => ({
        rung: "none",
        abi: 0,
        lost: [],
        problem: `the self-test could not run: ${messageOf(error)}`,
      }),
    );
    this.#tested = await this.#testing;
    if (abiLimit === undefined) rememberTest(places.stateHome, this.#tested);
  }

  #openTmp(): string {
    try {
      return this.#tmp.open();
    } catch (cause) {
      const why = `no temporary directory can be made in ${this.#tmp.base} (${messageOf(cause)})`;
      throw new ToolError(`The sandbox can't be set up: ${why}. The command was not run.`, { cause });
    }
  }

  #plan(policy: Policy, network: "off" | "on", cwd: string, accept?: SandboxPlan["accept"]): SandboxPlan {
    const { settings, abiLimit } = this.#options;
    return {
      cwd,
      write: policy.write,
      deny: policy.deny,
      read: policy.read,
      devices: policy.devices,
      sharedMemory: settings.sharedMemory,
      network,
      unixSockets: settings.unixSockets,
      protect: ownIds(),
      accept: accept !== undefined && reaches(accept, LOWEST[settings.require]) ? accept : LOWEST[settings.require],
      ...(abiLimit === undefined ? {} : { abiLimit }),
    };
  }

  #argv(plan: SandboxPlan, argv: readonly string[]): string[] {
    if (this.#options.platform === "darwin") return macosArgv(plan, argv);
    const text = JSON.stringify(plan);
    if (Buffer.byteLength(text) > MAX_PLAN_BYTES)
      throw new ToolError(
        "The sandbox's lists are too long to hand over; shorten sandbox.write and sandbox.denyRead. The command was not run.",
      );
    return [...this.#options.self, text, "--", ...argv];
  }

  /** The network is offered only where the settings leave that to a person. */
  #explain(failure: Failure, plan: SandboxPlan): Explanation | null {
    const explained = explainFailure(failure, this.#inForce(plan));
    if (explained === null || this.#options.settings.network === "ask") return explained;
    return { ...explained, offers: explained.offers.filter((offer) => offer.kind !== "network") };
  }

  #inForce(plan: SandboxPlan): InForce {
    return { ...plan, rootProblem: (real) => this.#roots.problem(real) };
  }
}

const EXCLUDED = "it is excluded from the sandbox";
const UNPROTECTED = "files are not protected here";

function protectsFiles(rung: Rung, platform: NodeJS.Platform): boolean {
  return platform === "linux" && reaches(rung, LOWEST.fs);
}

function unconfined(why: string): ToolError {
  return new ToolError(`It may run only in the sandbox, and can't: ${why}. It was not run.`);
}

/** The launcher of the self-test needs nothing of the user's. */
function launcherEnv(env: SandboxOptions["env"]): Record<string, string> {
  return { PATH: env["PATH"] ?? "/usr/bin:/bin" };
}

/** Steps whose failure says something of the kernel, not of the command. */
const KERNEL_STEPS: ReadonlySet<string> = new Set([
  "no-new-privileges",
  "ruleset",
  "restrict",
  "filter",
  "check",
  "rung",
  "capabilities",
]);
