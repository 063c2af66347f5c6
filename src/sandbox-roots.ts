/** Where the commands of one session may write: what the settings give, what a person added since, and why a place can't be had. Resolves paths; starts nothing. */
import { existsSync } from "node:fs";
import { ToolError } from "./errors.ts";
import { isWithin, realOf } from "./path-facts.ts";
import {
  makePolicy,
  outermost,
  rootProblem,
  writeRoots,
  type Policy,
  type PolicyPlaces,
  type RootsResult,
} from "./sandbox-policy.ts";
import type { SandboxSettings } from "./sandbox-settings.ts";

export class SandboxRoots {
  readonly #settings: SandboxSettings;
  readonly #places: PolicyPlaces;
  #found: RootsResult | null = null;
  #added: string[] = [];

  /** Nothing is looked at yet. */
  constructor(settings: SandboxSettings, places: PolicyPlaces) {
    this.#settings = settings;
    this.#places = places;
  }

  /** Resolved once: a command could otherwise move what the next one's roots lead to. */
  get found(): RootsResult {
    return (this.#found ??= writeRoots(this.#settings, this.#places));
  }

  /** Real paths. */
  get added(): readonly string[] {
    return this.#added;
  }

  /** Every place that commands may have written to. */
  get writable(): readonly string[] {
    return [...(this.found.ok ? this.found.roots : []), ...this.#added];
  }

  /** As the disk is now. */
  policy(network: "off" | "on"): { policy: Policy } | { why: string } {
    return makePolicy(this.#settings, this.#places, network, this.found);
  }

  /** For the session. Null, or why it can't be. */
  add(path: string): string | null {
    const real = realOf(path);
    const problem = this.problem(real);
    if (problem === null && !this.#added.includes(real)) this.#added.push(real);
    return problem;
  }

  /** What may be written may be read too, so a place with secrets in it needs the settings' word. */
  problem(real: string): string | null {
    const problem = rootProblem(real, this.#places);
    if (problem !== null) return problem;
    const made = this.policy("off");
    const denied = "policy" in made ? made.policy.deny : [];
    const near = denied.find((path) => isWithin(real, path) || isWithin(path, real));
    return near === undefined ? null : `commands may not read ${near}, and could then`;
  }

  /** Every root of one command. Throws ToolError for an allowed one that isn't any more what a person agreed to. */
  all(policy: Policy, allowed: readonly string[], tmp: string | null): string[] {
    const added = this.#added.filter((path) => this.#problemNow(path) === null);
    const agreed = allowed.map((path) => this.#agreed(path));
    return outermost([...policy.write, ...added, ...agreed, ...(tmp === null ? [] : [tmp])]);
  }

  #agreed(path: string): string {
    const problem = this.#problemNow(path);
    if (problem === null) return path;
    throw new ToolError(`${path} can't be made writable: ${problem}. The command was not run.`);
  }

  #problemNow(path: string): string | null {
    if (!existsSync(path)) return "it isn't there";
    return realOf(path) === path ? this.problem(path) : "it leads elsewhere now";
  }
}
