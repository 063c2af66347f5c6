/** Takes a leading `<think>…</think>` out of streamed content, tags cut across deltas included. Keeps state for one answer. */

const OPEN = /^\s*<(think|thinking|thought)>/;
const OPENINGS = ["<think>", "<thinking>", "<thought>"];

export interface Split {
  reasoning: string;
  text: string;
}

/** Only the very start of an answer may open the tag: later ones are what the model wants to say about them. */
export class ThinkTag {
  #state: "start" | "inside" | "after" | "text" = "start";
  #held = "";
  #close = "";

  push(piece: string): Split {
    switch (this.#state) {
      case "start":
        return this.#atStart(this.#held + piece);
      case "inside":
        return this.#inside(this.#held + piece);
      case "after":
        return this.#after(piece);
      case "text":
        return { reasoning: "", text: piece };
      default:
        return this.#state satisfies never;
    }
  }

  /** What was held back in case it became a tag. */
  end(): Split {
    const held = this.#held;
    this.#held = "";
    return this.#state === "inside" ? { reasoning: held, text: "" } : { reasoning: "", text: held };
  }

  #atStart(text: string): Split {
    this.#held = "";
    const opened = OPEN.exec(text);
    if (opened) {
      this.#close = `</${opened[1]}>`;
      this.#state = "inside";
      return this.#inside(text.slice(opened[0].length));
    }
    const start = text.trimStart();
    if (OPENINGS.some((tag) => tag.startsWith(start))) {
      this.#held = text;
      return { reasoning: "", text: "" };
    }
    this.#state = "text";
    return { reasoning: "", text };
  }

  #inside(text: string): Split {
    this.#held = "";
    const end = text.indexOf(this.#close);
    if (end >= 0) {
      this.#state = "after";
      return { reasoning: text.slice(0, end), text: this.#after(text.slice(end + this.#close.length)).text };
    }
    const keep = partialTail(text, this.#close);
    this.#held = text.slice(text.length - keep);
    return { reasoning: text.slice(0, text.length - keep), text: "" };
  }

  /** The blank lines between thinking and answer belong to neither. */
  #after(text: string): Split {
    const rest = text.trimStart();
    if (rest !== "") this.#state = "text";
    return { reasoning: "", text: rest };
  }
}

/** How many characters at the end of the text could begin the tag. */
function partialTail(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (tag.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
