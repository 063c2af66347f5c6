/** Questions about messages: what of a prompt stands for it in lists. */
import { expect, test } from "bun:test";
import { withoutStdin } from "../src/message.ts";
import { withStdin } from "../src/stdin.ts";

test.each([
  ["short input", { text: "diff --git a b\n", cut: false, gaveUp: false }],
  ["input that holds such a block itself", { text: "a\n\n<stdin>\nb\n</stdin>\n", cut: false, gaveUp: false }],
  ["input that was cut", { text: "a", cut: true, gaveUp: false }],
  ["no input", { text: "", cut: false, gaveUp: false }],
])("a prompt with %s is titled by its own words", (_, content) => {
  expect(withoutStdin(withStdin("review\nthis", content))).toBe("review\nthis");
});

test.each([
  "what does <stdin> mean in this traceback?",
  "explain:\n\n<stdin>\nan element that never ends",
  "\n\n<stdin>\nnothing but a block\n</stdin>",
])("%j is left whole", (text) => {
  expect(withoutStdin(text)).toBe(text);
});
