/** A process that takes and releases one lock as fast as it can, and now and then dies holding it. Prints a line when another live process held it too. Arguments: directory, milliseconds. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tryLock } from "../../src/store-lock.ts";

const [directory = "", duration = "500"] = process.argv.slice(2);
const owner = join(directory, "owner");
const end = Date.now() + Number(duration);

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Nobody holds it.
    return "";
  }
}

const isAlive = (pid: string) => /\) [^Z]/.test(read(`/proc/${pid}/stat`));

while (Date.now() < end) {
  const attempt = tryLock(join(directory, "x.lock"));
  if (attempt.state === "failed") console.log(attempt.problem.reason);
  if (attempt.state !== "taken") continue;
  const before = read(owner);
  if (before !== "" && before !== String(process.pid) && isAlive(before)) console.log(`also held by ${before}`);
  writeFileSync(owner, String(process.pid));
  if (read(owner) !== String(process.pid)) console.log("taken away");
  if (Math.random() < 0.002) process.kill(process.pid, "SIGKILL");
  rmSync(owner, { force: true });
  attempt.lock.release();
}
