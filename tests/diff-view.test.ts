/** Diffs on screen: readable without colour, safe, folded. */
import { expect, test } from "bun:test";
import { diffCounts, diffView } from "../src/diff-view.ts";

const DIFF = "--- a/x.ts\n+++ b/x.ts\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
const PLAIN = { colour: false, ascii: true };

test("without colour the signs alone tell", () => {
  expect(diffView(DIFF, PLAIN)).toBe(
    "  --- a/x.ts\n  +++ b/x.ts\n  @@ -1,3 +1,3 @@\n   one\n  -two\n  +TWO\n   three\n",
  );
});

test("with colour additions are green, removals red, and the signs stay", () => {
  const shown = diffView(DIFF, { colour: true, ascii: false });
  expect(shown).toContain("\x1b[32m+TWO\x1b[39m");
  expect(shown).toContain("\x1b[31m-two\x1b[39m");
});

test("a long one is folded and counted", () => {
  const long = Array.from({ length: 100 }, (_, index) => `+line ${index}`).join("\n");
  const shown = diffView(long, { ...PLAIN, maxLines: 10, rest: "/last shows all" });
  expect(shown.split("\n").length).toBe(12);
  expect(shown).toEndWith("  ... 90 more lines (/last shows all)\n");
});

test("what it holds can't act on the terminal", () => {
  expect(diffView("+\x1b[2Jx\r\n", PLAIN)).toBe("  +\\x1b[2Jx\\r\n");
});

test("counts leave the headers out", () => {
  expect(diffCounts(DIFF)).toEqual({ added: 1, removed: 1 });
});
