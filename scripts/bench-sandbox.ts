/** What the sandbox adds to one command, against the command alone. */
import { closeSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxPlan } from "../src/sandbox-plan.ts";
import { interleaved, timed, type Figure, type Group } from "./bench-measure.ts";
import { buildPrograms } from "./bench-yardsticks.ts";

const ROUNDS = 40;
const LIMIT_MS = 15;
const ENTRIES = 300;

export const sandbox: Group = {
  name: "sandbox",
  about:
    "one command, confined by the kernel; a home directory with three hundred entries and a secret is walked around",
  run: measure,
};

async function* measure(folder: string, shared: string): AsyncGenerator<Figure> {
  if (process.platform !== "linux") return;
  const { shiro } = await buildPrograms(shared);
  const plan = JSON.stringify(planIn(folder));
  const plain = ["bash", "-c", "true"];
  const confined = [shiro, "__sandbox", plan, "--", ...plain];
  const { alone, inside } = await interleaved(ROUNDS, { alone: () => run(plain), inside: () => run(confined) });
  yield { what: "bash -c true, confined", value: inside, unit: "ms", baseline: { what: "alone", value: alone } };
  yield {
    what: "added by the sandbox",
    value: inside - alone,
    unit: "ms",
    baseline: { what: "the limit", value: LIMIT_MS },
  };
}

function planIn(folder: string): SandboxPlan {
  const [home, work] = [join(folder, "home"), join(folder, "work")];
  for (const path of [join(home, ".ssh"), work]) mkdirSync(path, { recursive: true });
  for (let index = 0; index < ENTRIES; index++) writeFileSync(join(home, `file-${index}`), "");
  return {
    cwd: work,
    write: [work],
    deny: [join(home, ".ssh")],
    read: [],
    devices: [],
    sharedMemory: true,
    network: "off",
    unixSockets: "off",
    protect: [process.pid],
    accept: "fs1",
  };
}

/** With the pipe that the launcher reports to, for both alike. */
async function run(argv: string[]): Promise<number> {
  return timed(async () => {
    const child = Bun.spawn(argv, { cwd: "/", stdio: ["ignore", "ignore", "ignore", "pipe"] });
    const fd = child.stdio[3];
    if ((await child.exited) !== 0) throw new Error(`${argv[0]} failed; is there a kernel with Landlock?`);
    if (typeof fd === "number") closeSync(fd);
  });
}
