/** Ordinary programs give the same results in the sandbox as outside of it. */
import { afterAll, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { landlockAbi, launch, openGround, planFor, type Ground } from "./support/sandbox-run.ts";

const abi = landlockAbi();
if (abi < 1) console.warn("NO LANDLOCK HERE: programs are not compared inside and outside of the sandbox");

const grounds: Ground[] = [];
afterAll(() => grounds.forEach(({ base }) => rmSync(base, { recursive: true, force: true })));

/** Each needs its program; what isn't installed is said and left out. */
const WORK: Record<string, { needs: string; script: string }> = {
  git: {
    needs: "git",
    script: `git init -q . && echo a > a && git add a && git commit -qm one && echo b >> a && git status --short && git commit -qam two
      git log --format='%H %s' && git gc -q && git branch x && git checkout -q x && git merge -q - 2>&1; git fsck 2>&1 | tail -1; git config --get user.name`,
  },
  node: {
    needs: "node",
    script: `cat > child.js <<'X'
process.send(process.argv[2] * 2); process.disconnect();
X
cat > main.js <<'X'
const { fork } = require("child_process"); const { Worker } = require("worker_threads"); const fs = require("fs");
fork("./child.js", ["21"]).on("message", (m) => console.log("fork", m));
new Worker("require('worker_threads').parentPort.postMessage(7)", { eval: true }).on("message", (m) => console.log("worker", m)).on("exit", () => { fs.truncateSync("main.js", 0); console.log(fs.statSync("main.js").size); });
X
node main.js | sort`,
  },
  npm: {
    needs: "npm",
    script: `echo '{"name":"x","version":"1.0.0","scripts":{"test":"node --test"}}' > package.json
      echo 'require("node:test")("adds", () => require("node:assert").equal(1 + 1, 2))' > a.test.js
      npm test --silent 2>/dev/null | grep -E '^(# |ℹ )(pass|fail)'`,
  },
  python3: {
    needs: "python3",
    script: `python3 - <<'X'
import sqlite3, subprocess, tempfile, multiprocessing, os
db = sqlite3.connect("t.db"); db.execute("create table t(a)"); db.execute("insert into t values(1)"); db.commit()
print(db.execute("select count(*) from t").fetchone(), subprocess.check_output(["echo", "sub"]))
with tempfile.NamedTemporaryFile() as f: print(os.path.dirname(f.name) == os.environ.get("TMPDIR", "/tmp"))
q = multiprocessing.get_context("fork").Pool(2); print(q.map(abs, [-1, -2])); q.close(); q.join()
X`,
  },
  gcc: {
    needs: "gcc",
    script: `printf '#include <stdio.h>\\nint f(void);int main(void){printf("%%d\\\\n",f());return 3;}' > m.c; echo 'int f(void){return 42;}' > f.c
      printf 'p: m.o f.o\\n\\t$(CC) -o p m.o f.o\\n' > Makefile; make -s -j2 CC=gcc; ./p; echo $?`,
  },
  cargo: {
    needs: "rustc",
    script: `printf 'fn main() { println!("{}", std::env::args().count()); }' > m.rs; rustc -C opt-level=0 m.rs && ./m a b`,
  },
  shell: {
    needs: "tar",
    script: `mkdir d; echo x > d/e; tar cf - d | tar tf -; sed -i s/x/y/ d/e; cat d/e <(echo sub) - <<< here; mkfifo p; (echo f > p &) ; cat p; find d -type f | xargs wc -c; mv d e2; ls; ln -s e2 l; readlink l; echo $((1 << 4)); trap 'echo bye' EXIT; (exit 9); echo $?`,
  },
};

const ENV = {
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@example.org",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@example.org",
  GIT_AUTHOR_DATE: "2026-01-01T00:00:00Z",
  GIT_COMMITTER_DATE: "2026-01-01T00:00:00Z",
  HOME: process.env["HOME"] ?? "/",
  LANG: "C.UTF-8",
  PATH: process.env["PATH"] ?? "",
};

test.skipIf(abi < 1).each(Object.keys(WORK))("%s", async (name) => {
  const work = WORK[name];
  if (!work) throw new Error(name);
  if (Bun.which(work.needs) === null)
    return console.warn(`NO ${work.needs} HERE: not compared inside and outside of the sandbox`);
  const [inside, outside] = [openGround(), openGround()];
  grounds.push(inside, outside);
  for (const at of [inside, outside]) writeFileSync(join(at.work, "script.sh"), work.script);
  const argv = ["bash", "script.sh"];
  const plan = planFor(inside, { sharedMemory: true });
  const confined = await launch({ plan, argv, env: { ...ENV, TMPDIR: inside.tmp } });
  const plain = Bun.spawn(argv, {
    cwd: outside.work,
    env: { ...ENV, TMPDIR: outside.tmp },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(plain.stdout).text(),
    new Response(plain.stderr).text(),
    plain.exited,
  ]);
  const clean = (text: string, at: Ground): string => text.replaceAll(at.base, "BASE");
  expect([confined.code, clean(confined.stdout, inside), clean(confined.stderr, inside)]).toEqual([
    code,
    clean(stdout, outside),
    clean(stderr, outside),
  ]);
  expect(stdout).not.toBe("");
});
