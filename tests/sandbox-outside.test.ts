/** What programs outside of the sandbox don't take from where commands write. */
import { afterAll, expect, test } from "bun:test";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { captureLogin } from "../src/sandbox-login.ts";
import { afterLinking, programOutside, shielded } from "../src/sandbox-outside.ts";
import { closePlaces, places } from "./support/sandbox-places.ts";

afterAll(closePlaces);
const bashProgram = Bun.which("bash");
if (bashProgram === null) console.warn("NO bash HERE: start-up files are not tried");

/** A workspace and a home, each with an executable `tool`; a link from the home's to the workspace's. */
function lay() {
  const at = places("bin", "linked");
  for (const file of [join(at.workspace, "tool"), join(at.home, "bin/tool")])
    writeFileSync(file, "#!/bin/sh\n", { mode: 0o755 });
  symlinkSync(join(at.workspace, "tool"), join(at.home, "linked/tool"));
  return { at, roots: [at.workspace] };
}

test("a program is not taken from where commands write, nor through a link to it, nor from a relative place", () => {
  const { at, roots } = lay();
  const find = (...path: string[]) => programOutside("tool", path.join(":"), roots);
  expect(find(at.workspace, ".", "", join(at.home, "linked"), join(at.home, "bin"))).toBe(join(at.home, "bin/tool"));
  expect(find(at.workspace, join(at.home, "linked"))).toBeNull();
  expect(programOutside("tool", at.workspace, [])).toBe(join(at.workspace, "tool"));
});

test("PATH keeps its order through a start-up file that changes it, and loaders come back where it set none", () => {
  const { at, roots } = lay();
  const env = {
    PATH: `/usr/bin:${at.workspace}:/bin:rel`,
    LD_PRELOAD: "x.so",
    PYTHONPATH: `${at.workspace}/lib`,
    NODE_OPTIONS: "--no-warnings",
    PERL5LIB: `${at.workspace}/perl`,
    HOME: at.home,
  };
  const shield = shielded(env, roots);
  expect(shield.env).toEqual({
    PATH: "/usr/bin:/dev/null/shiro-1:/bin:/dev/null/shiro-3",
    NODE_OPTIONS: "--no-warnings",
    HOME: at.home,
  });
  const made = { ...shield.env, PATH: `/first:${shield.env["PATH"]}`, PERL5LIB: "/own" };
  expect(shield.restore(made)).toEqual({ ...env, PATH: `/first:${env.PATH}`, PERL5LIB: "/own" });
});

test.skipIf(bashProgram === null)("a start-up file runs no program that a command put on PATH", async () => {
  const { at, roots } = lay();
  writeFileSync(join(at.workspace, "tool"), `#!/bin/sh\necho x > '${at.home}/ran'\n`, { mode: 0o755 });
  writeFileSync(join(at.home, ".bash_profile"), "PATH=$OURS; tool; export DONE=yes OURS\n");
  const env = { HOME: at.home, PATH: `${at.workspace}:${process.env["PATH"]}` };
  const shield = shielded(env, roots);
  const login = await captureLogin(bashProgram ?? "", { ...shield.env, OURS: shield.env["PATH"] ?? "" }, () => at.home);
  expect([login?.env["DONE"], await Bun.file(join(at.home, "ran")).exists()]).toEqual(["yes", false]);
  expect(shield.restore(login?.env ?? {})["PATH"]).toBe(env.PATH);
});

test("what the linker loads is set behind the launcher", () => {
  const env = { A: "1", LD_LIBRARY_PATH: "lib", LD_PRELOAD: "a b=c" };
  expect(afterLinking(["bash", "-c", "x"], env)).toEqual({
    argv: ["env", "LD_LIBRARY_PATH=lib", "LD_PRELOAD=a b=c", "bash", "-c", "x"],
    env: { A: "1" },
  });
  expect(afterLinking(["true"], { A: "1" })).toEqual({ argv: ["true"], env: { A: "1" } });
});
