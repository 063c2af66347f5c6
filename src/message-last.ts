/** What the model said last in a run: the text of its last step, pieces of one cut answer joined. Prints nothing. */
import { isPrompt } from "./message.ts";
import type { AgentEvent, Message } from "./types.ts";

export class LastMessage {
  text = "";
  /** How much of it has been handed out as a remark. */
  #remarked = 0;
  #calledTools = false;

  /** Returns the remark that a call or a further step has just followed, when there is one. */
  take(event: AgentEvent): string | null {
    if (event.agent !== undefined) return null;
    if (event.type === "message" && this.#begins(event.message)) return this.#next();
    if (event.type === "text") this.text += event.text;
    if (event.type === "tool-call") {
      this.#calledTools = true;
      return this.#remark();
    }
    return event.type === "step-start" && this.#calledTools ? this.#next() : null;
  }

  /** A prompt, or what the loop puts in after calls: the request it stops a turn with begins no step. */
  #begins(message: Message): boolean {
    return (message.role === "user" && this.#calledTools) || isPrompt(message);
  }

  #next(): string | null {
    const remark = this.#remark();
    this.text = "";
    this.#remarked = 0;
    this.#calledTools = false;
    return remark;
  }

  #remark(): string | null {
    const remark = this.text.slice(this.#remarked);
    this.#remarked = this.text.length;
    return remark.trim() === "" ? null : remark;
  }
}
