/** What a skill's patterns let through: the judge of rules decides, so that quoting, chaining and wrapping don't help. */
import { expect, test } from "bun:test";
import { call, makeGate, makeWorkspace } from "./support/approval-bench.ts";

// The gate's own rules and --yolo make no difference here.
const gate = makeGate(makeWorkspace(), { rules: { bash: "allow" }, yolo: true });

test.each<[string, boolean]>([
  ["git status", true],
  ["git log | head", false],
  ["git log && git status", true],
  ["git log; touch x", false],
  ["$(touch x)git status", false],
  ["git log > out.txt", false],
  ["git log > /dev/null", true],
  ["git -c alias.x='!touch y' x", false],
  ["cat .env", false],
  ["npm test", true],
  ["npm test; npm publish", false],
])("bash %j within git * and npm test: %p", (command, fits) => {
  expect(gate.fits(call("bash", { command }), ["git *", "npm test"])).toBe(fits);
});

test("paths are matched as rules match them", () => {
  expect(gate.fits(call("read_file", { path: "src/a.c" }), ["src/*"])).toBe(true);
  expect(gate.fits(call("read_file", { path: "src/../notes.md" }), ["src/*"])).toBe(false);
});
