/** The built program in a directory that holds a libc.so of somebody else's: loading by a bare name may find it there. */
import { afterAll, expect, test } from "bun:test";
import { copyFileSync, existsSync } from "node:fs";
import { closeBenches, openBench } from "./support/binary.ts";

afterAll(closeBenches);

const compiler = ["cc", "gcc", "clang"].find((name) => Bun.which(name));
if (!compiler) console.error("!! no C compiler is installed: a library planted in the directory is not tried");

/** Loading it is enough to run this. */
const SOURCE = `#include <stdio.h>
__attribute__((constructor)) static void run(void) { FILE *file = fopen("PWNED", "w"); if (file) fclose(file); }
`;

test.skipIf(!compiler)("no library is taken from the directory it is started in", async () => {
  const bench = await openBench([{ text: "fine" }], { files: { "trap.c": SOURCE } });
  const built = Bun.spawnSync([compiler ?? "", "-shared", "-fPIC", "-o", "trap.so", "trap.c"], { cwd: bench.dir });
  expect([built.exitCode, built.stderr.toString()]).toEqual([0, ""]);
  for (const name of ["libc.so", "libc.so.6", "libc.dylib", "libSystem.B.dylib", "libm.so.6"])
    copyFileSync(bench.path("trap.so"), bench.path(name));
  expect((await bench.run(["--version"])).code).toBe(0);
  expect(await bench.run(["-p", "hi"])).toMatchObject({ code: 0, stdout: "fine\n" });
  expect(existsSync(bench.path("PWNED"))).toBe(false);
  // The trap itself works.
  await bench.run(["--version"], { env: { LD_PRELOAD: bench.path("libc.so") } });
  expect(existsSync(bench.path("PWNED"))).toBe(process.platform === "linux");
});
