/** What becomes of a subagent's events: some go on under its label, the rest make its report. Pure. */
import type { AgentJob, AgentReport } from "./tool.ts";
import type { AgentEvent, DoneReason } from "./types.ts";

const LABEL_CHARS = 32;

/** A short name from the description, unique among `used`, which takes it in. */
export function agentLabel(job: Pick<AgentJob, "description" | "kind">, used: Set<string>): string {
  const words = job.description.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const slug = [...words.join("-")].slice(0, LABEL_CHARS).join("").replace(/-$/, "") || job.kind;
  let label = slug;
  for (let count = 2; used.has(label); count++) label = `${slug}#${count}`;
  used.add(label);
  return label;
}

/** The event as others see it; null for what only the subagent's own turn is about. */
export function agentEvent(event: AgentEvent, label: string): AgentEvent | null {
  switch (event.type) {
    case "done":
    case "session":
    case "message":
    case "step-start":
    case "usage":
    case "todos":
      return null;
    // The run goes on: a script must not take this for its failure.
    case "error":
      return { type: "notice", level: "warning", message: event.message, agent: label };
    case "tool-start":
    case "tool-call":
    case "tool-begin":
    case "tool-output":
    case "tool-result":
    case "tool-error":
    case "tool-denied":
    case "tool-end":
    case "approval":
      return { ...event, id: `${label}/${event.id}`, agent: label };
    case "text":
    case "reasoning":
    case "compacted":
    case "notice":
    case "retry":
      return { ...event, agent: label };
    default:
      return event satisfies never;
  }
}

/** Follows a subagent to its end. */
export class Outcome {
  readonly #label: string;
  #text = "";
  #problem = "";
  #reason: DoneReason = "error";

  constructor(label: string) {
    this.#label = label;
  }

  take(event: AgentEvent): void {
    if (event.type === "message" && event.message.role === "assistant") {
      const texts = event.message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
      const said = texts.join("\n").trim();
      if (said !== "") this.#text = said;
    }
    if (event.type === "error") this.#problem = event.message;
    if (event.type === "notice" && event.level !== "info") this.#problem = event.message;
    if (event.type === "done") this.#reason = event.reason;
  }

  report(): AgentReport {
    if (this.#reason === "completed") return { label: this.#label, text: this.#text, isError: false };
    const why = this.#problem || `it ended as ${this.#reason}`;
    const said = this.#text === "" ? "" : `\nWhat it had said by then:\n${this.#text}`;
    if (this.#reason === "partial" && said !== "")
      return { label: this.#label, text: `${this.#text}\n(incomplete: ${why})`, isError: false };
    return { label: this.#label, text: `No report: ${why}${said}`, isError: true };
  }
}
