/** `ask`: a question to the person at the terminal. How it is put on the screen is dialog.ts. */
import * as v from "valibot";
import { ToolError } from "./errors.ts";
import { defineTool } from "./tool.ts";

const label = v.pipe(v.string(), v.trim(), v.minLength(1));

export const askTool = defineTool({
  name: "ask",
  description:
    "Ask the user one question that only they can decide. Options are numbered, the one you recommend first; they may answer in their own words.",
  set: "session",
  input: v.object({
    question: v.pipe(v.string(), v.trim(), v.minLength(1)),
    options: v.optional(v.array(v.object({ label, detail: v.optional(v.string()) }))),
    multiple: v.optional(v.boolean()),
  }),
  mutates: false,
  permission: "allow",
  unlimited: true,
  mainOnly: true,
  // The question itself is on the screen; there is nothing else to match a rule with.
  subjects: () => [],
  concurrencySafe: () => false,
  async run({ question, options, multiple }, context) {
    if (!context.ask) throw new ToolError("Nobody can be asked here. Decide yourself and state the assumption.");
    const answer = await context.ask({
      question,
      options: (options ?? []).map(({ label: text, detail }) => (detail ? { label: text, detail } : { label: text })),
      multiple: multiple ?? false,
    });
    if (answer === null || answer.trim() === "")
      return { text: "The user dismissed this; use your best judgement.", note: "dismissed" };
    return { text: `The user answers: ${answer}` };
  },
});
