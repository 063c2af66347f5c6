/** What loaded skills leave of the tools for the rest of a turn. Holds the limit; tools by name are refused in loop-calls.ts, patterns here. */
import type { Admission } from "./loop-calls.ts";
import type { SessionParts } from "./session-parts.ts";
import type { PreparedCall, ToolLimit } from "./tool.ts";

export class TurnLimit {
  readonly #parts: Pick<SessionParts, "gate" | "parent">;
  #current: ToolLimit | null = null;
  #next: ToolLimit | null = null;

  constructor(parts: Pick<SessionParts, "gate" | "parent">) {
    this.#parts = parts;
  }

  get current(): ToolLimit | null {
    return this.#current;
  }

  set current(limit: ToolLimit | null) {
    this.#current = limit;
  }

  /** For the turn to come: a skill that the user names in the prompt. */
  set next(limit: ToolLimit | null) {
    this.#next = limit;
  }

  startTurn(): void {
    this.#current = this.#parts.parent?.limit ?? this.#next;
    this.#next = null;
  }

  /** Why a call is outside the patterns of its tool; null when it fits or there are none. */
  refusal(call: PreparedCall): Extract<Admission, { denied: unknown }> | null {
    if (call.tool.unlimited === true) return null;
    // A skill that a subagent loads lifts nothing of what holds for its parent.
    for (const limit of new Set([this.#parts.parent?.limit, this.#current])) {
      const patterns = limit?.patterns?.[call.tool.name];
      if (!limit || patterns === undefined || this.#parts.gate.fits(call, patterns)) continue;
      const allowed = `${call.tool.name} ${patterns.map((pattern) => `"${pattern}"`).join(" or ")}`;
      const reason = `skill "${limit.skill}" allows only ${allowed} for the rest of this turn`;
      return { denied: { by: "skill", reason } };
    }
    return null;
  }
}
