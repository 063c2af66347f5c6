/** What the built program leaves out: the parts of the packages that nothing in it reaches, and the size that this keeps it to. */
import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { BINARY } from "./support/binary.ts";

const PACKAGES = join(import.meta.dir, "../node_modules");
const isOurs = process.env["SHIRO_TEST_BINARY"] === undefined;

/** A text that only the part left out holds, and the file that shows it is still spelt so. */
const LEFT_OUT = [
  ["/fine_tuning/jobs", "openai/resources/fine-tuning/jobs/jobs.mjs"],
  ["/v1/messages/batches", "@anthropic-ai/sdk/resources/messages/batches.mjs"],
  ["strictTypes", "ajv/dist/core.js"],
] as const;

test("it holds none of the API that it doesn't call, and no compiler of schemas", () => {
  const program = readFileSync(BINARY);
  expect(LEFT_OUT.map(([text, path]) => readFileSync(join(PACKAGES, path), "utf8").includes(text))).toEqual([
    true,
    true,
    true,
  ]);
  expect(LEFT_OUT.filter(([text]) => program.includes(text))).toEqual([]);
  // What is left in: the text of a module of the same package.
  expect(program.includes("/chat/completions")).toBe(true);
});

// Any compiled program adds 1.8 of them. Another build may be for a platform whose Bun is of another size.
test.skipIf(!isOurs)("it adds less than 10.8 MB to Bun", () => {
  expect(statSync(BINARY).size - statSync(process.execPath).size).toBeLessThan(10_800_000);
});
