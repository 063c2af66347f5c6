/** What one `task` call ties its subagents to: the session's tools, model, gate, money and journal. Runs none. */
import type { Delegation, ModelChoice, ParentTies, SessionParts } from "./session-parts.ts";
import type { PreparedCall, Tool, ToolContext, ToolLimit } from "./tool.ts";
import type { ThinkingLevel, Usage } from "./types.ts";

/** The session that delegates, as it is when the subagents begin. */
export interface Delegating extends Pick<Delegation, "ask" | "signal" | "emit"> {
  session: {
    parts: SessionParts;
    choice: ModelChoice;
    thinking: ThinkingLevel;
    offeredTools(): readonly Tool[];
    onCommand(kill: () => void): () => void;
  };
  latch: Set<string>;
  limit(): ToolLimit | null;
  /** Books what they cost. */
  spent(choice: ModelChoice, usage: Usage, costUsd: number | null): void;
}

/** The way to subagents that a running call gets; null where there are none. */
export function agentsOf(call: PreparedCall, from: Delegating): ToolContext["agents"] {
  const { session, ask, signal, emit } = from;
  const { parts, choice, thinking } = session;
  if (!parts.agents) return null;
  const { delegate } = parts.agents;
  const onCommand = (kill: () => void): (() => void) => session.onCommand(kill);
  return (jobs) => {
    const [offered, ties] = [session.offeredTools(), tiesOf(call, from)];
    return delegate(jobs, { parts, choice, thinking, offered, ask, signal, emit, onCommand, ties });
  };
}

function tiesOf({ id, tool, rawInput }: PreparedCall, { session, latch, limit, spent }: Delegating): ParentTies {
  const { file, undo } = session.parts;
  let begun = false;
  return {
    latch,
    limit: limit(),
    spent,
    began: () => {
      // A program that ends now leaves the whole delegation in doubt.
      if (!begun) file.startCall({ id, name: tool.name, input: rawInput });
      begun = true;
    },
    ranCommand: (title) => undo?.recordCommand(title),
  };
}
