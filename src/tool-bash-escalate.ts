/** Runs a command in the sandbox and, where that stopped it, asks whether it may run again with more rights: the narrowest first, nothing unasked. */
import { delimiter, isAbsolute } from "node:path";
import { ToolError } from "./errors.ts";
import { orAborted } from "./abort.ts";
import { realOf } from "./path-facts.ts";
import { runsLater } from "./protect.ts";
import type { EscalationOffer, Explanation } from "./sandbox-explain.ts";
import type { SandboxAllowance } from "./sandbox.ts";
import { runCommand, SpawnError, type SpawnRequest, type SpawnResult } from "./spawn.ts";
import { changedFiles, changedNote, enterSandbox, type Aftermath } from "./tool-bash-sandbox.ts";
import type { EscalationAnswer, EscalationChoice, ToolContext } from "./tool.ts";

export interface ConfinedRun {
  /** Of the last run. */
  result: SpawnResult;
  /** For the model. */
  notes: string[];
  /** For the screen, a few words each. */
  said: string[];
}

/** A command that needs the network and a directory is asked about twice; one that goes on failing isn't asked about for ever. */
const MAX_QUESTIONS = 3;

type Context = Pick<ToolContext, "sandbox" | "escalate" | "warn" | "mustConfine" | "output" | "signal" | "childEnv">;

/** `request` is made anew for each run. Throws ToolError where the command was not run at all. */
export async function runConfined(
  command: string,
  context: Context,
  request: () => SpawnRequest,
): Promise<ConfinedRun> {
  let allowed: SandboxAllowance = {};
  const notes: string[] = [];
  for (let asked = 0; ; asked++) {
    const { result, after } = await runOnce(command, context, request(), allowed);
    if (after.changed.length > 0) context.warn?.(`the command changed ${changedFiles(after.changed)}`);
    const question = asked < MAX_QUESTIONS ? questionOf(result, after, context) : null;
    const answer = question === null ? null : await askAgain(command, question, result, context);
    const chosen = question?.offers.find(({ choice }) => choice.name === answer?.choice);
    if (!chosen) return { result, notes: [...notes, ...after.notes, ...refusalNotes(answer)], said: saidOf(after) };
    allowed = widen(allowed, chosen.offer);
    if (chosen.choice.name === "write-session") keepForSession(chosen.offer, context);
    // What a run that isn't the last has changed is true all the same.
    if (after.changed.length > 0) notes.push(changedNote(after.changed));
    notes.push(againNote(after.blocked, chosen.choice));
    context.output(`\n[again ${chosen.choice.label}]\n`);
  }
}

async function runOnce(
  command: string,
  { sandbox, mustConfine, warn }: Context,
  request: SpawnRequest,
  allowed: SandboxAllowance,
): Promise<{ result: SpawnResult; after: Aftermath }> {
  const given = { allowed, ...(mustConfine ? { mustConfine } : {}) };
  const entered = await enterSandbox(sandbox ?? null, command, request, given);
  // It may have been the user or an approved edit; but what a command leaves running can wait until nobody looks.
  if (entered.meanwhile.length > 0)
    warn?.(`since the command before, somebody changed ${changedFiles(entered.meanwhile)}`);
  const result = await start(entered.request);
  return { result, after: entered.after(result) };
}

async function start(request: SpawnRequest): Promise<SpawnResult> {
  try {
    return await runCommand(request);
  } catch (error) {
    if (error instanceof SpawnError) throw new ToolError(error.message, { cause: error });
    throw error;
  }
}

interface Question {
  reason: string;
  /** Whoever lets it out should know what it has just planted; empty for nothing. */
  changed: string;
  offers: { offer: EscalationOffer; choice: EscalationChoice }[];
}

/** Null where the sandbox is not the cause, the command succeeded all the same, or nobody can be asked. */
function questionOf(result: SpawnResult, { blocked, changed }: Aftermath, context: Context): Question | null {
  if (blocked === null || blocked.hint || result.ended !== "exited") return null;
  if (!context.escalate || context.signal.aborted || blocked.offers.length === 0) return null;
  const programs = programDirectories(context.childEnv);
  return {
    reason: blocked.reason,
    changed: changed.length === 0 ? "" : ` It changed ${changedFiles(changed)}.`,
    offers: blocked.offers.flatMap((offer) => choicesOf(offer, programs).map((choice) => ({ offer, choice }))),
  };
}

async function askAgain(
  command: string,
  { reason, offers, changed }: Question,
  { exitCode, signal }: SpawnResult,
  context: Context,
): Promise<EscalationAnswer | null> {
  const ended = signal === null ? `ended with exit code ${exitCode}` : `was ended by ${signal}`;
  const asked = context.escalate?.({
    subject: command,
    reason: `blocked by sandbox: ${reason}. The first run ${ended} and may have done part of its work.${changed}`,
    choices: offers.map(({ choice }) => choice),
  });
  if (!asked) return null;
  try {
    return await orAborted(asked, context.signal);
  } catch (error) {
    // The turn ended meanwhile: what the first run came to is still its result.
    if (context.signal.aborted) return null;
    throw error;
  }
}

function programDirectories({ PATH = "" }: ToolContext["childEnv"]): string[] {
  return PATH.split(delimiter).flatMap((entry) => (isAbsolute(entry) ? [realOf(entry)] : []));
}

function choicesOf(offer: EscalationOffer, programs: readonly string[]): EscalationChoice[] {
  switch (offer.kind) {
    case "network":
      return [
        { name: "network", key: "c", label: "with the network", text: "in the sandbox with the network on, this once" },
      ];
    case "write": {
      const once: EscalationChoice = {
        name: "write",
        key: "w",
        label: "writing there",
        text: `in the sandbox, writing allowed in ${offer.path}, this once`,
      };
      // Every later command could plant there what runs outside.
      if (runsLater(offer.path, programs) !== null) return [once];
      const kept: EscalationChoice = {
        name: "write-session",
        key: "s",
        label: "writing there, for this session",
        text: `in the sandbox, writing allowed in ${offer.path} for this session's commands`,
      };
      return [once, kept];
    }
    case "outside":
      return [
        {
          name: "outside",
          key: "o",
          label: "outside the sandbox",
          text: "outside the sandbox, with your rights, this once",
        },
      ];
    default:
      return offer satisfies never;
  }
}

function widen(allowed: SandboxAllowance, offer: EscalationOffer): SandboxAllowance {
  switch (offer.kind) {
    case "network":
      return { ...allowed, network: true };
    case "write":
      return { ...allowed, write: [...(allowed.write ?? []), offer.path] };
    case "outside":
      return { outside: true };
    default:
      return offer satisfies never;
  }
}

function keepForSession(offer: EscalationOffer, { sandbox, warn }: Context): void {
  if (offer.kind !== "write" || !sandbox) return;
  const problem = sandbox.addRoot(offer.path);
  if (problem !== null) warn?.(`${offer.path} isn't kept writable for this session: ${problem}`);
}

function againNote(blocked: Explanation | null, { label }: EscalationChoice): string {
  return `[the first run was blocked by sandbox: ${blocked?.reason ?? ""}; the user let it run again ${label}, and the output is that run's]`;
}

function refusalNotes(answer: EscalationAnswer | null): string[] {
  if (answer === null) return [];
  const words = answer.message === undefined ? "" : ` They said: ${answer.message}`;
  return [`[the user was asked and did not let it run again with more rights.${words}]`];
}

function saidOf({ blocked, changed }: Aftermath): string[] {
  const stopped = blocked === null || blocked.hint ? [] : ["blocked by sandbox"];
  return [...stopped, ...changed.map((path) => `changed ${path}`)];
}
