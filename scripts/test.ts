/** Runs the tests: builds the binary first when the sources are newer, since half the tests drive it. Arguments go to `bun test`. */
import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { build, root } from "./build.ts";

const binary = join(root, "dist/shiro");
if (stale()) await build(binary);

// Ends with a line that says how many passed and failed, which bun's own summary spreads over several.
// Twice as many workers as cores: many tests wait for a child, a signal or a limit, and the processor would wait with them.
const workers = `--parallel=${availableParallelism() * 2}`;
const child = Bun.spawn([process.execPath, "test", workers, "--timeout", "60000", ...process.argv.slice(2)], {
  cwd: root,
  stdin: "ignore",
  stdout: "inherit",
  stderr: "pipe",
  env: { ...process.env, NO_COLOR: "1" },
});
let text = "";
const decoder = new TextDecoder();
for await (const piece of child.stderr) {
  process.stderr.write(piece);
  text += decoder.decode(piece, { stream: true });
}
const code = await child.exited;
const count = (word: string): number => Number(new RegExp(`^\\s*(\\d+) ${word}$`, "m").exec(text)?.[1] ?? 0);
const [passed, failed, skipped] = [count("pass"), count("fail"), count("skip")];
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = code !== 0 ? code : passed === 0 ? 1 : 0;

function stale(): boolean {
  const built = statSync(binary, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  // One pattern each: Bun's glob finds nothing for alternatives that hold slashes.
  const inputs = ["src/**/*", "scripts/build*.ts", "package-lock.json"].flatMap((pattern) => [
    ...new Bun.Glob(pattern).scanSync({ cwd: root }),
  ]);
  return inputs.some((path) => (statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0) > built);
}
