/** Lines judged against what shells really do with them: bash and a POSIX sh are the oracles, a harmless stub is the denied command. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Gate } from "../src/approval.ts";
import { makeGate, makeWorkspace } from "./support/approval-bench.ts";
import { rounds } from "./support/rounds.ts";

/** Allowed lines that are tried in the real shell. */
const LINES = rounds(60, 120);

let directory: string;
let mark: string;
const gates: Partial<Record<"bash" | "sh", Gate>> = {};
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "shiro-shells-"));
  mark = join(directory, "ran");
  mkdirSync(join(directory, "bin"));
  writeFileSync(join(directory, "bin/danger"), `#!/bin/sh\n: > ${mark}\n`);
  chmodSync(join(directory, "bin/danger"), 0o755);
  const root = makeWorkspace();
  const rules = { bash: { "*": "allow", "danger *": "deny" }, write_file: "allow" };
  gates.bash = makeGate(root, { rules });
  gates.sh = makeGate(root, { rules, shell: "sh" });
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Whether the stub was started by `line`. */
function runsDanger(program: string, line: string): boolean {
  const env = { PATH: `${directory}/bin:/usr/bin:/bin`, HOME: directory };
  const streams = { stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
  Bun.spawnSync([program, "-c", line], { cwd: directory, env, ...streams, timeout: 1_500 });
  const ran = existsSync(mark);
  rmSync(mark, { force: true });
  return ran;
}

function randomFrom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

// Nothing among these changes anything but files of the test's own directory.
const PIECES = [
  ..."danger dan ger echo true false cat f x ' \" ` $( ) ( { } ; | & && || \n \\ <<E <<'E' <<< \nE\n $x ${ ${x:- $' [[ ]] (( )) if then fi else while do done case in esac ;; ! time f() # eval $ * ? [ ] {a,b} x=1 X=danger $X \"$X\" -- 1 2>&1 set \"$@\" $1 trap EXIT &> |& env command exec xargs sh bash -c 'danger' d''anger d\\anger $(echo danger) source test export".split(
    " ",
  ),
  " ",
  " ",
];
const TEMPLATES = [
  "%",
  "% danger %",
  'echo "% danger %"',
  "echo '% danger %'",
  "echo $'% danger %'",
  "cat <<E\n% danger %\nE\n%",
  "case % in %) danger;; esac",
  "echo # % \n danger %",
  "[[ % danger % ]]",
  "echo ${x:-% danger %}",
  "eval '% danger %'",
  "for i in % danger; do % $i; done",
  'sh -c "% danger %"',
  "bash -c '% danger %'",
  "X=danger; % $X",
  "echo danger | % sh",
];

describe.each([
  ["bash", "bash"],
  ["sh", "dash"],
] as const)("as %s reads it (%s)", (kind, program) => {
  test("no line that is allowed starts a denied command", () => {
    if (!Bun.which(program)) return console.error(`SKIPPED: ${program} is not installed, so nothing was compared`);
    const random = randomFrom(kind === "bash" ? 41 : 43);
    const pieces = (): string =>
      Array.from({ length: random(5) }, () => PIECES[random(PIECES.length)]).join(random(2) ? " " : "");
    const wrong: string[] = [];
    let ran = 0;
    for (let round = 0; round < 4_000 && ran < LINES; round++) {
      const line = (TEMPLATES[random(TEMPLATES.length)] ?? "").replace(/%/g, pieces);
      if (!/danger|ger/.test(line) || gates[kind]?.explain("bash", line).decision !== "allow") continue;
      ran++;
      if (runsDanger(program, line)) wrong.push(line);
    }
    expect(wrong).toEqual([]);
    expect(ran).toBe(LINES);
  }, 60_000);
});

// What bash takes for text, or for one command, and a POSIX sh runs.
const READ_OTHERWISE = [
  "echo $'a\\'; danger; echo \\'b'",
  "echo x &> f danger",
  "eval 'echo x &> f danger'",
  "[[ a && danger ]]",
];

test.each(READ_OTHERWISE.map((line) => [line] as const))("where sh reads it otherwise it asks: %j", (line) => {
  expect(gates.sh?.explain("bash", line).decision).not.toBe("allow");
  expect(gates.bash?.explain("bash", `sh -c ${JSON.stringify(line).replaceAll("$", "\\$")}`).decision).not.toBe(
    "allow",
  );
});

test("plain lines are as quiet for sh as for bash", () => {
  for (const line of ["ls -l | head -3", "echo 'a b' > f; cat f", "if test -f x; then cat x; fi", "cat <<E\nhi\nE"])
    expect([line, gates.sh?.explain("bash", line).decision]).toEqual([line, "allow"]);
});
