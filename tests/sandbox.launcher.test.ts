/** The kernel's side, from the built program: what a confined command may and may not do, as root and as an unprivileged user, and that nothing runs where a step fails. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxPlan } from "../src/sandbox-plan.ts";
import {
  asUser,
  binaryCopy,
  landlockAbi,
  launch,
  NOBODY,
  openGround,
  planFor,
  type Ground,
} from "./support/sandbox-run.ts";

const abi = landlockAbi();
const isRoot = process.getuid?.() === 0;
const gcc = Bun.which("gcc");
if (abi < 1) console.warn("NO LANDLOCK HERE: the tests of the sandbox's file rules are skipped");
if (gcc === null) console.warn("NO gcc HERE: the tests of the sandbox that need a compiled probe are skipped");
if (!isRoot) console.warn("NOT ROOT: the sandbox is tried as this user only");

const grounds: Ground[] = [];
const ground = (uid?: number): Ground => {
  const made = openGround(uid);
  grounds.push(made);
  return made;
};
const workshop = mkdtempSync(join(tmpdir(), "shiro-attempts-"));
afterAll(() => {
  const copy = binaryCopy();
  for (const path of [...grounds.map(({ base }) => base), workshop, ...(copy === null ? [] : [copy])])
    rmSync(path, { recursive: true, force: true });
});

const attempts = join(workshop, "attempts");
if (gcc !== null && abi >= 1) {
  Bun.spawnSync(["chmod", "755", workshop]);
  const built = Bun.spawnSync([gcc, "-w", "-o", attempts, join(import.meta.dir, "support/sandbox-attempts.c")]);
  if (!built.success) throw new Error(`The probe does not compile:\n${built.stderr}`);
}

const users: [string, number | undefined][] = isRoot
  ? [
      ["root", undefined],
      ["an unprivileged user", NOBODY],
    ]
  : [["this user", undefined]];

/** Runs every attempt; name → errno. */
async function tried(uid: number | undefined, more: Partial<SandboxPlan> = {}): Promise<Record<string, number>> {
  const at = ground(uid);
  const victim = Bun.spawn([...asUser(uid), "sleep", "60"], { detached: true, stdout: "ignore" });
  try {
    // setpriv becomes the other user first: until then it could not be reached anyway.
    while (uid !== undefined && !readFileSync(`/proc/${victim.pid}/status`, "utf8").includes(`Uid:\t${uid}`))
      await Bun.sleep(1);
    const plan = planFor(at, { protect: [victim.pid], ...more });
    const run = await launch({ plan, uid, argv: [attempts, at.work, at.tmp, at.out, String(victim.pid), at.secret] });
    expect([run.code, run.stderr]).toEqual([0, ""]);
    // Not stopped, not gone; without Landlock it may be traced, which stops it.
    if (more.abiLimit !== 0)
      expect(readFileSync(`/proc/${victim.pid}/stat`, "utf8").replace(/^.*\) /, "")).toMatch(/^[SRD]/);
    return Object.fromEntries(
      run.stdout
        .trim()
        .split("\n")
        .map((line) => [line.split(" ")[0] ?? "", Number(line.split(" ")[1])]),
    );
  } finally {
    victim.kill("SIGKILL");
  }
}

const [EPERM, EACCES, EXDEV, ENOSYS] = [1, 13, 18, 38];

/** What must be refused, with the reason it is refused for; all else must work. */
const REFUSED: Record<string, number> = {
  ...Object.fromEntries(
    "create append truncate readonly-truncate unlink mkdir rename-out rename-in symlink shm system-v device proc"
      .split(" ")
      .map((name) => [`write.${name}`, EACCES]),
  ),
  ...Object.fromEntries("read symlink dots root truncate".split(" ").map((name) => [`secret.${name}`, EACCES])),
  "secret.hardlink": EXDEV,
  ...Object.fromEntries("environ maps mem cwd root fd".split(" ").map((name) => [`process.${name}`, EACCES])),
  ...Object.fromEntries(
    "attach vm getfd signal0 stop group thread limit".split(" ").map((name) => [`process.${name}`, EPERM]),
  ),
  ...Object.fromEntries(
    "tcp4 tcp6 mptcp udp raw packet vsock unix unix-datagram datagram-pair raw-pair"
      .split(" ")
      .map((name) => [`net.${name}`, EACCES]),
  ),
  "net.io-uring": ENOSYS,
  "system.tiocsti": EACCES,
  "system.tioclinux": EACCES,
  "system.keyctl": EPERM,
  "system.mount": EPERM,
  "system.setns": EACCES,
  "system.userns": EPERM,
  "system.grandchild": EACCES,
};

const refusals = (result: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(result).filter(([, errno]) => errno !== 0));

describe.skipIf(abi < 6 || gcc === null)("every attempt on a kernel that can do everything", () => {
  test.each(users)("as %s", async (_, uid) => {
    expect(refusals(await tried(uid))).toEqual(REFUSED);
  });

  test("what is opened by settings works, and nothing more", async () => {
    const result = refusals(await tried(users.at(-1)?.[1], { network: "on", unixSockets: "on", sharedMemory: true }));
    const opened = [
      "net.tcp4",
      "net.tcp6",
      "net.mptcp",
      "net.udp",
      "net.unix",
      "net.unix-datagram",
      "net.datagram-pair",
      "net.raw-pair",
      "write.shm",
      "write.system-v",
    ];
    const expected = Object.fromEntries(Object.entries(REFUSED).filter(([name]) => !opened.includes(name)));
    // Raw sockets are the kernel's own matter now: root's capability for them was dropped.
    expect(result).toEqual({ ...expected, "net.raw": EPERM });
  });
});

describe.skipIf(abi < 1 || gcc === null)("older kernels, emulated", () => {
  // Link and rename across directories need a right that the first version can't give; what follows them finds no file.
  const first = {
    "inside.rename": EXDEV,
    "inside.link": 2,
    "inside.unlink": 2,
    "inside.move": 2,
    "write.rename-out": 2,
  };
  const guarded = { "process.getfd": ENOSYS };
  test.each<[number, Record<string, number>]>([
    [1, { ...REFUSED, ...guarded, "inside.truncate": EACCES, ...first }],
    [2, { ...REFUSED, ...guarded, "inside.truncate": EACCES }],
    [3, { ...REFUSED, ...guarded }],
    [5, { ...REFUSED, ...guarded }],
  ])("ABI %i: the filter stands in for what Landlock can't do", async (limit, expected) => {
    if (limit > abi) return console.warn(`ABI ${limit} IS NOT HERE: not emulated`);
    expect(refusals(await tried(users.at(-1)?.[1], { abiLimit: limit }))).toEqual(expected);
  });

  test("without Landlock the network is still closed", async () => {
    const result = await tried(users.at(-1)?.[1], { abiLimit: 0 });
    expect([
      result["net.tcp4"],
      result["net.unix"],
      result["system.tiocsti"],
      result["process.stop"],
      result["write.create"],
    ]).toEqual([EACCES, EACCES, EACCES, EPERM, 0]);
  });
});

describe.skipIf(abi < 1)("a confined process", () => {
  const sh = (at: Ground, script: string, more: Partial<SandboxPlan> = {}) =>
    launch({ plan: planFor(at, more), argv: ["bash", "-c", script] });

  test("has plain signals, three descriptors, a group of its own, one thread, no rights to gain, and its environment", async () => {
    const at = ground();
    let pid = 0;
    const script =
      'grep -E "^(SigIgn|SigBlk|Threads|NoNewPrivs|Seccomp|CapEff):" /proc/self/status; ls /proc/self/fd | wc -l; ps -o pid=,pgid=,sid= $$ | tr -s " "; pwd; env | sort';
    const env = { PATH: process.env["PATH"] ?? "", HOME: "/", ODD: "ü \n=x" };
    const inside = await launch({ plan: planFor(at), argv: ["bash", "-c", script], env, onStart: (id) => (pid = id) });
    const plain = Bun.spawnSync(["bash", "-c", "env | sort"], {
      cwd: at.work,
      env: { ...env, LANG: "C.UTF-8" },
      stdin: "ignore",
    });
    const lines = inside.stdout.split("\n");
    expect(lines.slice(0, 5)).toEqual([
      "Threads:\t1",
      "SigBlk:\t0000000000000000",
      "SigIgn:\t0000000000000000",
      expect.stringMatching(/^CapEff:\t0000000000000(4eb|000)$/),
      "NoNewPrivs:\t1",
    ]);
    expect([lines[5], lines[6], lines[7]?.trim(), lines[8]]).toEqual([
      "Seccomp:\t2",
      "4",
      `${pid} ${pid} ${pid}`,
      at.work,
    ]);
    const without = (text: string) => text.split("\n").filter((line) => !/^(SHLVL|_|OLDPWD)=/.test(line));
    expect(without(lines.slice(9).join("\n"))).toEqual(without(plain.stdout.toString()));
  });

  test("reads its input, writes both outputs, keeps exit codes and signals", async () => {
    const at = ground();
    const big = new Uint8Array(3_000_000).fill(97);
    const counted = await launch({ plan: planFor(at), argv: ["bash", "-c", "cat <(wc -c) >&2; exit 7"], stdin: big });
    expect([counted.code, counted.stderr.trim(), counted.stdout, counted.report.state]).toEqual([
      7,
      "3000000",
      "",
      "started",
    ]);
    const fault = await sh(at, "bash -c 'kill -SEGV $$'; echo $?; kill -KILL $$");
    expect([fault.stdout, fault.signal]).toEqual(["139\n", "SIGKILL"]);
    expect(await sh(at, "exit 125")).toMatchObject({ code: 125, report: { state: "started" } });
  });

  test("a group signal reaches its handler, and one during the start ends it", async () => {
    const at = ground();
    const stopped = await launch({
      plan: planFor(at),
      argv: ["bash", "-c", 'trap "exit 7" TERM; kill -TERM -$$; sleep 9'],
    });
    expect(stopped.code).toBe(7);
    const early = await Promise.all(
      (["SIGTERM", "SIGKILL"] as const).flatMap((signal) =>
        [0, 4, 8].map((ms) =>
          launch({
            plan: planFor(at),
            argv: ["sleep", "9"],
            onStart: (pid) => void Bun.sleep(ms).then(() => process.kill(-pid, signal)),
          }),
        ),
      ),
    );
    expect(early.map((one) => one.signal)).toEqual(["SIGTERM", "SIGTERM", "SIGTERM", "SIGKILL", "SIGKILL", "SIGKILL"]);
  });

  test("may be confined again, sixteen deep", async () => {
    const at = ground();
    const { BINARY } = await import("./support/binary.ts");
    const plan = JSON.stringify(planFor(at));
    const script = `exec 3>/dev/null; exec '${BINARY}' __sandbox "$1" -- touch twice`;
    const nested = await launch({ plan, argv: ["bash", "-c", script, "bash", plan] });
    expect([nested.code, existsSync(join(at.work, "twice"))]).toEqual([0, true]);
    // Each level starts the next; the kernel has room for sixteen.
    const level = `n=$1; echo $n; exec 3>report; '${BINARY}' __sandbox "$2" -- bash -c "$3" bash $((n + 1)) "$2" "$3"; code=$?; [ $code = 125 ] && [ ! -e last ] && cp report last; exit $code`;
    const deep = await launch({ plan, argv: ["bash", "-c", level, "bash", "1", plan, level] });
    expect([
      deep.code,
      deep.stdout.trim().split("\n").at(-1),
      readFileSync(join(at.work, "last"), "utf8").trim(),
    ]).toEqual([125, "16", '{"fail":"restrict","errno":7}']);
  });

  test.skipIf(!isRoot)("a setuid program gains nothing", async () => {
    const at = ground(NOBODY);
    const tool = join(at.out, "id");
    Bun.spawnSync(["sh", "-c", `cp "$(command -v id)" '${tool}' && chmod 4755 '${tool}'`]);
    const plain = Bun.spawnSync([...asUser(NOBODY), tool, "-u"]);
    const inside = await launch({ plan: planFor(at), uid: NOBODY, argv: [tool, "-u"] });
    expect([plain.stdout.toString().trim(), inside.stdout.trim()]).toEqual(["0", String(NOBODY)]);
  });

  test("a foreign call ends it with SIGSYS", async () => {
    if (process.arch !== "x64") return console.warn("NOT x64: calls of the 32-bit kind are not tried");
    const at = ground();
    const source = join(at.work, "foreign.s");
    // exit(0) by int 0x80, and getpid by its x32 number.
    writeFileSync(
      source,
      ".globl _start\n_start:\n cmpq $1, (%rsp)\n jne x32\n movl $1, %eax\n xorl %ebx, %ebx\n int $0x80\nx32:\n movl $0x40000027, %eax\n syscall\n movl $60, %eax\n xorl %edi, %edi\n syscall\n",
    );
    if (gcc === null || !Bun.spawnSync([gcc, "-nostdlib", "-static", "-o", join(at.work, "foreign"), source]).success)
      return console.warn("NO gcc HERE: foreign calls are not tried");
    const run = await sh(at, "./foreign; echo $?; ./foreign x; echo $?");
    expect(run.stdout).toBe("159\n159\n");
  });
});

describe.skipIf(abi < 1)("what is denied", () => {
  test("is found through links, around a home of a thousand entries", async () => {
    const at = ground();
    const home = join(at.base, "home");
    mkdirSync(join(home, "vault/ssh"), { recursive: true });
    for (let index = 0; index < 1000; index++) writeFileSync(join(home, `file-${index}`), "x");
    writeFileSync(join(home, "vault/ssh/id"), "key");
    writeFileSync(join(home, "vault/open"), "open");
    symlinkSync("vault/ssh", join(home, ".ssh"));
    const plan = planFor(at, { deny: [join(home, "vault/ssh")], read: [] });
    const script = `cd '${home}'; cat .ssh/id; cat vault/ssh/id; cd .ssh && cat id; cat ../open; cat '${home}/file-999' '${home}/file-0'; ls '${home}' | wc -l`;
    const run = await launch({ plan, argv: ["bash", "-c", script] });
    expect(run.stdout).toBe("openxx1001\n");
    expect(run.stderr.match(/Permission denied/g)).toHaveLength(3);
  });

  test("is not opened by a link that took the place of a readable directory", async () => {
    const at = ground();
    symlinkSync(at.out, join(at.work, "skill"));
    const plan = planFor(at, { read: [join(at.work, "skill/secret")] });
    const run = await launch({ plan, argv: ["cat", at.secret] });
    expect([run.stdout, run.code]).toEqual(["", 1]);
  });

  test("may hold a directory that is readable again", async () => {
    const at = ground();
    mkdirSync(join(at.out, "secret/spill"));
    writeFileSync(join(at.out, "secret/spill/long"), "long");
    const run = await launch({
      plan: planFor(at, { read: [join(at.out, "secret/spill")] }),
      argv: ["cat", join(at.out, "secret/spill/long"), at.secret],
    });
    expect([run.stdout, run.code]).toEqual(["long", 1]);
  });
});

describe("the launcher", () => {
  const marker = (at: Ground) => join(at.work, "ran");
  const touch = (at: Ground) => ["touch", marker(at)];

  test.each<[string, (at: Ground) => { plan: SandboxPlan | string; argv?: string[] }, object]>([
    ["a plan that is none", () => ({ plan: "{}" }), { step: "plan" }],
    [
      "a root that is gone",
      (at) => ({ plan: planFor(at, { write: [join(at.base, "gone")] }) }),
      { step: "rule", errno: 2 },
    ],
    [
      "a root that a link leads to",
      (at) => {
        symlinkSync(at.out, join(at.base, "moved"));
        return { plan: planFor(at, { write: [join(at.base, "moved/secret")] }) };
      },
      { step: "rule", errno: 40 },
    ],
    [
      "a directory that is gone",
      (at) => ({ plan: planFor(at, { cwd: join(at.base, "gone") }) }),
      { step: "directory", errno: 2 },
    ],
    [
      "a program that is nowhere",
      (at) => ({ plan: planFor(at), argv: ["no-such-program"] }),
      { step: "program", errno: 2 },
    ],
    [
      "a program that can't be executed",
      (at) => ({ plan: planFor(at), argv: [join(at.out, "file")] }),
      { step: "exec", errno: 13 },
    ],
    [
      "a program relative to where it is",
      (at) => ({ plan: planFor(at), argv: ["./ran"] }),
      { step: "program", errno: 2 },
    ],
    [
      "a kernel that can't do enough",
      (at) => ({ plan: planFor(at, { abiLimit: 0, accept: "fs1" }) }),
      { step: "rung" },
    ],
    [
      "a kernel that isn't good enough",
      (at) => ({ plan: planFor(at, { abiLimit: 5, accept: "full" }) }),
      { step: "rung" },
    ],
  ])("%s: nothing is run", async (_, of, failed) => {
    if (abi < 1) return console.warn("NO LANDLOCK HERE: not tried");
    const at = ground();
    const run = await launch({ argv: touch(at), ...of(at) });
    expect(run).toMatchObject({ code: 125, stdout: "", stderr: "", report: { state: "failed", ...failed } });
    expect(existsSync(marker(at))).toBe(false);
  });

  test.each([
    ["landlock_restrict_self:retval=0", '{"fail":"check","errno":0}'],
    ["seccomp:retval=0", '{"fail":"check","errno":0}'],
    ["seccomp:error=ENOSYS", '{"fail":"filter","errno":38}'],
    ["capget:error=EPERM", '{"fail":"capabilities","errno":1}'],
    ["landlock_add_rule:error=ENOMEM:when=3", '{"fail":"rule","errno":12}'],
  ])("where the system answers %s nothing is run", async (fault, said) => {
    if (abi < 1) return console.warn("NO LANDLOCK HERE: not tried");
    const at = ground();
    const { BINARY } = await import("./support/binary.ts");
    const script = `exec 3>report; exec strace -f -qq -o /dev/null -e inject=${fault} '${BINARY}' __sandbox "$1" -- touch '${marker(at)}'`;
    const run = Bun.spawnSync(["bash", "-c", script, "bash", JSON.stringify(planFor(at))], { cwd: at.base });
    if (/^strace: |not found/.test(run.stderr.toString())) return console.warn("NO strace HERE: faults are not tried");
    expect([readFileSync(join(at.base, "report"), "utf8").trim(), run.exitCode, existsSync(marker(at))]).toEqual([
      said,
      125,
      false,
    ]);
  });

  test("without a descriptor to report to nothing is run", async () => {
    const at = ground();
    const { BINARY } = await import("./support/binary.ts");
    const script = `'${BINARY}' __sandbox "$1" -- touch '${marker(at)}' 3>&-`;
    const argv = ["bash", "-c", script, "bash", JSON.stringify(planFor(at))];
    const run = Bun.spawnSync(argv, { cwd: "/", env: { PATH: process.env["PATH"] ?? "" } });
    const said = 'shiro sandbox: not started: {"fail":"descriptor","errno":9}\n';
    expect([run.exitCode, run.stderr.toString(), existsSync(marker(at))]).toEqual([125, said, false]);
  });

  test("where there can be no descriptor, a plan that says so runs, and failures go to stderr", async () => {
    if (abi < 1) return console.warn("NO LANDLOCK HERE: not tried");
    const at = ground();
    const { BINARY } = await import("./support/binary.ts");
    const run = (plan: SandboxPlan) => {
      const argv = [BINARY, "__sandbox", JSON.stringify({ ...plan, quiet: true }), "--", ...touch(at)];
      const { exitCode, stderr } = Bun.spawnSync(argv, { cwd: "/", env: { PATH: process.env["PATH"] ?? "" } });
      return [exitCode, stderr.toString(), existsSync(marker(at))];
    };
    const failed = 'shiro sandbox: not started: {"fail":"directory","errno":2}\n';
    expect(run(planFor(at, { cwd: join(at.base, "gone") }))).toEqual([125, failed, false]);
    expect(run(planFor(at))).toEqual([0, "", true]);
  });

  test("files of the directory it is started in change nothing", async () => {
    const at = ground();
    const trap = join(at.base, "trap");
    mkdirSync(trap);
    const planted = join(at.base, "planted");
    writeFileSync(join(trap, "evil.ts"), `require("fs").writeFileSync(${JSON.stringify(planted)}, "x")`);
    writeFileSync(join(trap, "bunfig.toml"), 'preload = ["./evil.ts"]\n');
    writeFileSync(join(trap, ".env"), "PLANTED=1\n");
    writeFileSync(join(trap, "tsconfig.json"), '{"compilerOptions":{"paths":{"*":["./evil.ts"]}}}');
    for (const name of ["libc.so", "libc.so.6"]) writeFileSync(join(trap, name), "not a library");
    const run = await launch({
      plan: planFor(at, { accept: "net" }),
      argv: ["bash", "-c", "echo [$PLANTED]; pwd"],
      cwd: trap,
    });
    expect([run.stdout, run.code, existsSync(planted)]).toEqual([`[]\n${at.work}\n`, 0, false]);
  });
});
