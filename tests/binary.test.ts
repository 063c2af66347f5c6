/** The built program as a whole: what it answers without a model, and what a hostile directory can't do to it. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { closeBenches, openBench } from "./support/binary.ts";

afterAll(closeBenches);

describe.concurrent("a directory with files meant for the runtime", () => {
  const HOSTILE: [string, Record<string, string>][] = [
    [
      "bunfig.toml with a preload",
      { "bunfig.toml": 'preload = ["./p.js"]\n', "p.js": 'require("fs").writeFileSync("PWNED", "")' },
    ],
    ["bunfig.toml with a missing preload", { "bunfig.toml": 'preload = ["./missing.js"]\n' }],
    ["bunfig.toml that is no TOML", { "bunfig.toml": "preload = [\n" }],
    [".env with settings", { ".env": "SHIRO_BASE_URL=http://127.0.0.1:9\nSHIRO_MODEL=evil-model\n" }],
    ["tsconfig.json with paths", { "tsconfig.json": '{"compilerOptions":{"jsx":"react","paths":{"*":["./p.js"]}}' }],
    [
      "package.json that is no JSON",
      {
        "package.json": "{",
        "node_modules/openai/package.json": '{"main":"p.js"}',
        "node_modules/openai/p.js": 'require("fs").writeFileSync("PWNED", "")',
      },
    ],
  ];
  test.each(HOSTILE)("%s changes nothing", async (_, files) => {
    const bench = await openBench([{ text: "fine" }], { files });
    const version = await bench.run(["--version"]);
    expect(version).toMatchObject({ code: 0, stderr: "" });
    expect(version.stdout).toStartWith("shiro ");
    const answer = await bench.run(["-p", "hi"]);
    expect([answer.code, answer.stdout]).toEqual([0, "fine\n"]);
    expect(bench.server.requests[0]?.body.model).toBe("test-model");
    expect(existsSync(bench.path("PWNED"))).toBe(false);
    expect(bench.server.faults).toEqual([]);
  });
});
