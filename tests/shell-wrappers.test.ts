/** What commands really run: names reduced, wrappers peeled, code in arguments parsed, pipes walked back. */
import { describe, expect, test } from "bun:test";
import { effectiveCommands, parseShell, stdinOf, upstream, type Effective, type SimpleCommand } from "../src/shell.ts";
import { wrapperTable } from "../src/shell-wrapper-table.ts";

function effectiveOf(line: string): Effective[] {
  const parsed = parseShell(line);
  if (!parsed.ok) throw new Error(`${line}: ${parsed.reason}`);
  return parsed.commands.flatMap((command) => effectiveCommands(command, parsed));
}

/** Marks: `?` unknown name, `+` more arguments at run time, `~` transparent. */
function shown(line: string): string[] {
  return effectiveOf(line).map(
    ({ normalised, unknownName, appended, transparent }) =>
      normalised + (unknownName ? " ?" : "") + (appended ? " +" : "") + (transparent ? " ~" : ""),
  );
}

describe("a command is reduced to what runs", () => {
  test.each<[string, string[]]>([
    ["X=1 git status", ["git status"]],
    ["/bin/rm x", ["rm x"]],
    ["\\rm 'a b'", ["rm a b"]],
    ["r''m x", ["rm x"]],
    ["$'\\x72m' x", ["rm x"]],
    ["X=1", [""]],
    ["> f", [""]],
    ["[ -f x ]", ["[ -f x ]"]],
    ["exec 3<&0", ["exec"]],
    ["$X y", ["$X y ?", "y ?"]],
    ['"$(x)"', ["$(x) ?", "x"]],
    ["/bin/r? x", ["r? x ?"]],
    ["X='rm -r y'; $X", ["", "rm -r y"]],
    ["for c in status push; do git $c; done", ["git status", "git push"]],
    ["{rm,-r,x}", ["rm -r x"]],
    ["echo ${x@P}", ["echo ${x@P} ?"]],
  ])("%s", (line, expected) => {
    expect(shown(line)).toEqual(expected);
  });
});

describe("every wrapper shows the command inside", () => {
  test.each([
    "env - rm x",
    "npx rm x",
    "npx -y -p pkg rm x",
    "npx -c 'rm x'",
    "npm exec -- rm x",
    "npm --prefix sub exec rm x",
    "npm x -c 'rm x'",
    "pnpm dlx rm x",
    "yarn exec rm x",
    "bunx rm x",
    "uv run --with a --python 3.12 rm x",
    "poetry run rm x",
    "conda run -n env rm x",
    "bundle exec rm x",
    "mise exec node@20 -- rm x",
    "aws-vault exec profile -- rm x",
    "nix develop -c rm x",
    "nix shell nixpkgs#a --command rm x",
    "nix-shell -p a --run 'rm x'",
    "cross-env A=1 rm x",
    "concurrently 'ls' 'rm x'",
    "cargo watch -s 'rm x'",
    "tmux new -d 'rm x'",
    "tmux send-keys 'rm x'",
    "screen -S a -dm rm x",
    "echo rm x | at now",
    "at now <<< 'rm x'",
    "gdb -q --args rm x",
    "rr record rm x",
    "tini -- rm x",
    "gosu me rm x",
    "setarch x86_64 -R rm x",
    "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
    "echo 'rm x' | cat | tee f | sh",
    "{ echo ls; echo 'rm x'; } | sh",
    "echo x | xargs -I{} rm {}",
    "xargs -I% sh -c 'rm %' <<< x",
    "$(echo rm) x",
    "`printf rm` x",
    "rm $(echo x)",
    "command rm x",
    "command -p rm x",
    "builtin rm x",
    "exec -a n rm x",
    "env rm x",
    "env -i A=1 B='2 3' rm x",
    "env -u A -- rm x",
    "env -S 'rm x'",
    "env -S'-i rm' x",
    "env --split-string='rm x'",
    "nohup rm x",
    "nice rm x",
    "nice -n 5 rm x",
    "nice -5 rm x",
    "nice --adjustment=5 rm x",
    "time -p rm x",
    "time -f %e rm x",
    "timeout 5 rm x",
    "timeout -k 1 -s KILL 5s rm x",
    "timeout --signal=KILL --foreground 5 rm x",
    "timeout --sig KILL 5 rm x",
    "stdbuf -oL rm x",
    "sudo rm x",
    "sudo -u root A=1 rm x",
    "sudo -nu root -- rm x",
    "sudo --user=root rm x",
    "doas -u root rm x",
    "xargs -n1 rm x",
    "xargs -0 -P 4 rm x",
    "busybox rm x",
    "setsid -f rm x",
    "ionice -c2 -n 7 rm x",
    "chroot --userspec=a:b /mnt rm x",
    "unshare -r --map-user=0 rm x",
    "nsenter -t 1 -m rm x",
    "watch -n 1 rm x",
    "watch 'rm x'",
    "parallel rm x",
    "parallel -j4 'rm x' ::: a",
    "parallel ::: 'rm x' 'ls'",
    "flock f rm x",
    "flock -n f -c 'rm x'",
    "su -c 'rm x'",
    "su root -c 'rm x'",
    "su - root -lc 'rm x'",
    "su --command='rm x' root",
    "runuser -u me rm x",
    "sg g -c 'rm x'",
    "script -qc 'rm x' /dev/null",
    "script -q f rm x",
    "strace -f -o t rm x",
    "find . -name y -exec rm x \\;",
    "find . -execdir rm x ';'",
    "find . -ok ls {} \\; -okdir rm x \\;",
    "fd y -x rm x",
    "sh -c 'rm x'",
    "bash -lc 'rm x'",
    "bash -o pipefail -ec 'rm x'",
    "bash +x -c 'rm x'",
    "bash --norc -c 'rm x' name",
    "/bin/zsh -c 'rm x'",
    "sh -c 'rm \"$1\"' _ x",
    "sh -c '\"$@\"' _ rm x",
    "sh -c \"bash -c 'rm x'\"",
    "eval 'rm x'",
    "eval rm x",
    "eval -- rm x",
    "trap 'rm x' EXIT",
    "alias l='rm x'",
    "mapfile -C 'rm x' -c 1 a",
    "taskset -c 0,1 rm x",
    "hyperfine 'ls' 'rm x'",
    "perf stat -e cycles rm x",
    "bash <<E\nrm x\nE",
    "bash -s <<'E'\nrm x\nE",
    "bash <<< 'rm x'",
    "sh /dev/stdin <<< 'rm x'",
    "{ sh; } <<E\nrm x\nE",
    "echo 'rm x' | sh",
    "echo rm x | sh -s",
    "printf 'rm x\\n' | bash",
    "cat <<E | sudo bash\nrm x\nE",
    "bash <(echo rm x)",
    ". <(echo rm x)",
    'sh -c "$(echo rm x)"',
    "sudo env nice sh -c 'eval \"rm x\"'",
    "sudo --unknown y rm x",
    "sudo --unknown rm x",
    "timeout $T rm x",
    "sudo $OPTIONS rm x",
    "$SUDO rm x",
    "echo x | xargs rm",
    "coproc rm x",
    "a=rm; b=x; $a $b",
    "command eval 'rm x'",
    "bash -c -- 'rm x'",
    "bash -c -x 'rm x'",
    "bash --rcfile <(echo rm x) -i",
    "env -S \"bash -c 'rm x'\"",
    ". /dev/stdin <<< 'rm x'",
    "find . -exec sh -c 'rm x' {} +",
    "x() { rm x; }; y",
    ": ${y:=$(rm x)}",
    "[[ -n $(rm x) ]]",
    "case $(rm x) in *) ;; esac",
    "for i in $(rm x); do :; done",
    "a[$(rm x)]=1",
    'echo "${a[$(rm x)]}" ${a:$(rm x)}',
    "exec 3< <(rm x)",
    'cat <<< "$(rm x)"',
    'let "y=$(rm x)"',
    "echo `echo \\`rm x\\``",
    "time { rm x; }",
  ])("%s", (line) => {
    expect(effectiveOf(line).map((effective) => effective.normalised)).toContain("rm x");
  });

  test("no wrapper of the table can be lost unseen", () => {
    const rows: Record<string, string> = {
      find: "find . -exec",
      fd: "fd y -x",
      flock: "flock f",
      trap: "trap 'rm x' EXIT",
      alias: "alias l='rm x'",
    };
    const code = new Set(["shell", "eval", "all-code", "parallel"]);
    for (const [name, wrapper] of wrapperTable()) {
      const start =
        rows[wrapper.special ?? ""]?.replace(/^\w+/, name) ??
        [
          name,
          ...wrapper.subcommands.slice(0, 1),
          ...wrapper.after.slice(0, 1),
          ...Array(wrapper.operands).fill("1"),
        ].join(" ");
      const takesCode =
        code.has(wrapper.special ?? "") || (wrapper.code.length > 0 && wrapper.special !== "env" && !wrapper.runner);
      const line = /EXIT|l=/.test(start)
        ? start
        : wrapper.special === "source" || wrapper.special === "stdin"
          ? `${name} ${wrapper.special === "source" ? "<(echo rm x)" : "<<< 'rm x'"}`
          : takesCode
            ? `${name} ${wrapper.special === "eval" || wrapper.special === "all-code" || wrapper.special === "parallel" ? "" : (wrapper.code[0] ?? "-c")} 'rm x'`
            : `${start} rm x`;
      expect([line, effectiveOf(line).some(({ normalised }) => normalised === "rm x")]).toEqual([line, true]);
      const without = new Map(wrapperTable());
      without.delete(name);
      const parsed = parseShell(line);
      const outer = parsed.ok ? parsed.commands[0] : undefined;
      expect(outer && effectiveCommands(outer, parsed, without).some(({ normalised }) => normalised === "rm x")).toBe(
        false,
      );
    }
  });
});

describe("what is known about the way there", () => {
  test("only harmless wrappers leave the judging to the inner command", () => {
    expect(shown("time timeout 5 nice nohup stdbuf -oL command git log")).toEqual([
      "time timeout 5 nice nohup stdbuf -oL command git log ~",
      "timeout 5 nice nohup stdbuf -oL command git log ~",
      "nice nohup stdbuf -oL command git log ~",
      "nohup stdbuf -oL command git log ~",
      "stdbuf -oL command git log ~",
      "command git log ~",
      "git log",
    ]);
    expect(shown("sudo timeout 5 git log")).toEqual(["sudo timeout 5 git log", "timeout 5 git log", "git log"]);
    expect(effectiveOf("timeout 5 git log").map(({ via, harmless }) => [via, harmless])).toEqual([
      [[], true],
      [["timeout"], true],
    ]);
  });

  test("asking what a name is runs nothing", () => {
    expect(shown("command -v rm; command -V rm")).toEqual(["command -v rm", "command -V rm"]);
    expect(shown("timeout 5")).toEqual(["timeout 5"]);
  });

  test("arguments that come at run time are marked, those the line spells out are filled in", () => {
    expect(shown("find . -exec cat {} +")).toEqual(["find . -exec cat {} +", "cat {} +"]);
    expect(shown("ls | xargs git")).toEqual(["ls", "xargs git", "git +"]);
    expect(shown("echo -rf y | xargs rm")).toEqual(["echo -rf y", "xargs rm", "rm -rf y +"]);
    expect(
      effectiveOf("xargs -I{} cp {} x")
        .at(-1)
        ?.args.map((arg) => arg.dynamic),
    ).toEqual([false, true, false]);
  });

  test("code that isn't known, or doesn't parse, makes the name unknown", () => {
    expect(shown('sh -c "$X"')).toEqual(["sh -c $X", "$X ?"]);
    expect(shown('sh -c "rm $X"')).toEqual(["sh -c rm $X", "rm $X ?"]);
    expect(shown("sh -c 'echo \"'")).toEqual(['sh -c echo " ?']);
    expect(shown("cat x | sh")).toEqual(["cat x", "sh ?"]);
    expect(shown("bash <(x)")).toEqual(["bash <(x) ?", "x"]);
    expect(shown("sh -c 'echo ${x@P}'").some((one) => one.endsWith("?"))).toBe(true);
  });

  test("a script without a slash may be a program on PATH", () => {
    expect(shown("sh script.sh")).toEqual(["sh script.sh", "script.sh"]);
    expect(shown(". deploy now")).toEqual([". deploy now", "deploy now"]);
    expect(shown("source -- deploy")).toEqual(["source -- deploy", "deploy"]);
    expect(shown("cat x | . /dev/stdin$y")).toEqual(["cat x", ". /dev/stdin$y ?"]);
    expect(shown("sh ./script.sh")).toEqual(["sh ./script.sh"]);
  });

  test("functions of the line are told from programs, behind wrappers they are programs", () => {
    const calls = (line: string) =>
      effectiveOf(line)
        .filter(({ functionCall }) => functionCall)
        .map(({ normalised }) => normalised);
    expect(calls("f() { a; }; f x; command f; sudo f; eval 'f y'; sh -c 'f z'")).toEqual(["f x", "f y"]);
  });

  test("variables reach code as far as they are known", () => {
    expect(shown("F=.env; eval 'cat $F'").at(-1)).toBe("cat .env");
    expect(shown("F=.env sh -c 'cat $F'").at(-1)).toBe("cat .env");
    expect(shown("env F=.env sh -c 'cat $F'").at(-1)).toBe("cat .env");
    expect(
      effectiveOf("F=.env; sh -c 'cat $F'")
        .at(-1)
        ?.args.map((arg) => [arg.text, arg.dynamic]),
    ).toEqual([
      ["cat", false],
      [".env", true],
    ]);
  });

  test("assignments on the way and changed directories are kept", () => {
    expect(effectiveOf("A=1 env -C sub B=2 c").at(-1)?.assignments).toEqual([
      { name: "A", value: "1" },
      { name: "B", value: "2" },
    ]);
    expect(effectiveOf("cd a && env --chdir=sub c").at(-1)?.command.cwds).toEqual(["a/sub"]);
  });

  test("code nested without end is given up as unknown, in bounded time", () => {
    let line = "rm x";
    for (let depth = 0; depth < 12; depth++) line = `sh -c ${"'" + line.replaceAll("'", "'\\''") + "'"}`;
    expect(line.length > 100_000 || effectiveOf(line).some(({ unknownName }) => unknownName)).toBe(true);
    expect(effectiveOf(`${"sudo --a ".repeat(3000)}rm x`).some(({ unknownName }) => unknownName)).toBe(true);
  });
});

describe("pipes", () => {
  const names = (commands: Iterable<SimpleCommand>): string[] =>
    [...commands].map((command) => command.words[0]?.shape ?? "");
  const feeding = (line: string, name: string): string[] => {
    const parsed = parseShell(line);
    const found = parsed.ok ? parsed.commands.findLast((command) => command.words[0]?.value === name) : undefined;
    return found ? names(upstream(found)).sort() : [];
  };

  test.each<[string, string[]]>([
    ["a | b | sh", ["a", "b"]],
    ["a; b | sh", ["b"]],
    ["{ a; b; } | sh", ["a", "b"]],
    ["a | { b; sh; }", ["a"]],
    ["a | (b | c; sh)", ["a"]],
    ["a | while read x; do sh; done", ["a"]],
    ["sh < <(a | b)", ["a", "b"]],
    ["echo $(a) | sh", ["a", "echo"]],
    ["cat <<E | sh\n$(a)\nE", ["a", "cat"]],
    ["f() { a; }; f | sh", ["a", "f"]],
    ["f() { sh; }; a | f", ["a", "f"]],
    ["a | tee >(sh)", ["a", "tee"]],
    ["a > >(sh)", ["a"]],
    ["while x; do b; done < <(a) | sh", ["", "a", "b", "x"]],
    ["echo $(sh) | a", []],
    ["sh", []],
  ])("%s", (line, expected) => {
    expect(feeding(line, "sh")).toEqual(expected);
  });

  test("code inside a pipeline is fed by it", () => {
    const inner = effectiveOf("a | sh -c 'bash'").at(-1);
    expect(inner && names(upstream(inner.command))).toEqual(["a"]);
  });

  test("the nearest redirection of standard input counts", () => {
    const parsed = parseShell("{ a <x 2<y; b; c <<< d; } < z");
    const [a, b, c] = parsed.ok ? parsed.commands : [];
    expect([a, b, c].map((command) => command && stdinOf(command)?.target?.value)).toEqual(["x", "z", "d"]);
  });
});
