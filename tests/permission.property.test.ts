import { beforeAll, describe, expect, test } from "bun:test";
import type { Gate } from "../src/approval.ts";
import { OPTION_ROWS, optionRisk } from "../src/permission-options.ts";
import { RECURSIVE_READERS } from "../src/permission-recursive.ts";
import { WRITING_PROGRAMS } from "../src/permission-writes.ts";
import { makeGate, makeWorkspace } from "./support/approval-bench.ts";

/** A seeded source of small numbers, so that a failure can be had again. */
function randomFrom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Ways to have a command run that leave it running. */
const WRAPPERS: readonly ((command: string, id: number) => string)[] = [
  (c) => `(${c}\n)`,
  (c) => `{ ${c}\n}`,
  (c) => `true && ${c}`,
  (c) => `false || ${c}`,
  (c) => `ls; ${c}`,
  (c) => `ls & ${c}`,
  (c) => `ls\n${c}`,
  (c) => `${c} | cat`,
  (c) => `ls | { ${c}\n}`,
  (c) => `! { ${c}\n}`,
  (c) => `echo "$(${c}\n)"`,
  (c) => `echo $(${c}\n)`,
  (c) => `echo \`${c.replace(/[\\`]/g, "\\$&")}\``,
  (c) => `cat <(${c}\n)`,
  (c) => `echo x > >(${c}\n)`,
  (c) => `echo \${x:-$(${c}\n)}`,
  (c) => `X=$(${c}\n)`,
  (c) => `[[ -n $(${c}\n) ]]`,
  (c) => `if ${c}\nthen ls; fi`,
  (c) => `while ${c}\ndo break; done`,
  (c) => `for i in 1 2; do ${c}\ndone`,
  (c) => `case x in x) ${c}\n;; esac`,
  (c, id) => `f${id}() { ${c}\n}; f${id}`,
  (c, id) => `function g${id} { ${c}\n}\ng${id}`,
  (c) => `bash -c ${quote(c)}`,
  (c) => `sh -ec ${quote(c)}`,
  (c) => `eval ${quote(c)}`,
  (c) => `trap ${quote(c)} EXIT`,
  (c, id) => `bash <<'END${id}'\n${c}\nEND${id}`,
  (c) => `bash <<< ${quote(c)}`,
  (c) => `sudo bash -c ${quote(c)}`,
  (c) => `su me -c ${quote(c)}`,
  (c) => `timeout 5 sh -c ${quote(c)}`,
  (c) => `echo a | xargs -I{} sh -c ${quote(c)}`,
  (c) => `find . -exec sh -c ${quote(c)} \\;`,
  (c) => `env A=1 bash -c ${quote(c)}`,
  (c) => `nohup nice -n 3 bash -c ${quote(c)}`,
  (c) => `C=${quote(c)}; eval "$C"`,
  (c) => `time ${c.startsWith("(") || c.startsWith("{") ? c : `{ ${c}\n}`}`,
];

/** Ways to write the words of one simple command. */
const SPELLINGS: readonly ((word: string) => string)[] = [
  (word) => word,
  (word) => `"${word}"`,
  (word) => `'${word}'`,
  (word) => `${word.slice(0, 1)}''${word.slice(1)}`,
  (word) => `${word.slice(0, 1)}\\${word.slice(1)}`,
  (word) => `${word.slice(0, -1)}"${word.slice(-1)}"`,
  (word) => `$'${[...word].map((char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`).join("")}'`,
];

const PREFIXES = [
  "",
  "",
  "X=1 ",
  "command ",
  "env ",
  "nice ",
  "timeout 9 ",
  "sudo ",
  "setsid ",
  "exec ",
  "time -p ",
  "busybox ",
  "xargs ",
];
const REFUSED = [
  ["rm", "x"],
  ["npm", "publish"],
  ["rm", "-rf", "x"],
  ["cat", ".env"],
  ["git", "push", "--force"],
  ["head", "link.txt"],
];

let gate: Gate;
/** The same without refusals by rule. */
let open: Gate;
beforeAll(() => {
  const root = makeWorkspace();
  const rules = { bash: { "*": "allow", "rm *": "deny", "npm publish *": "deny" }, write_file: "allow" };
  gate = makeGate(root, { rules });
  open = makeGate(root, { rules: { bash: "allow", write_file: "allow" } });
});

const LINES = 600;

describe("a refused command stays refused", () => {
  test("in any spelling, wrapper, substitution or chain, up to three deep", () => {
    const random = randomFrom(20_26);
    const allowed: string[] = [];
    let denied = 0;
    for (let round = 0; round < LINES; round++) {
      const words = REFUSED[random(REFUSED.length)] ?? [];
      const spelled = words.map((word) => SPELLINGS[random(SPELLINGS.length)]?.(word) ?? word);
      let line = `${PREFIXES[random(PREFIXES.length)]}${spelled.join(" ")}`;
      for (let depth = random(4); depth > 0; depth--) line = WRAPPERS[random(WRAPPERS.length)]?.(line, depth) ?? line;
      const { decision } = gate.explain("bash", line);
      if (decision === "allow") allowed.push(line);
      if (decision === "deny") denied++;
    }
    expect(allowed).toEqual([]);
    // Nearly all are seen for what they are; the rest at least ask.
    expect(denied).toBeGreaterThan(LINES * 0.9);
  });

  test.each(WRAPPERS.map((wrap) => [wrap("rm x", 1), wrap("ls", 1)] as const))(
    "%j, and the same around ls isn't",
    (bad, good) => {
      expect(gate.explain("bash", bad).decision).not.toBe("allow");
      const harmless = gate.explain("bash", good);
      // Whoever wraps harmless work may be asked about the wrapping, never refused for it.
      expect(harmless.decision).not.toBe("deny");
    },
  );
});

test("junk is judged without throwing, and never allowed where it can't be read", () => {
  const random = randomFrom(7);
  const pieces = [
    "rm x",
    "'",
    '"',
    "`",
    "$(",
    ")",
    "{",
    "}",
    ";",
    "|",
    "&",
    "<<",
    "<",
    ">",
    "\\",
    "\n",
    " ",
    "$x",
    "${",
    "[[",
    "]]",
    "((",
    "))",
    "case",
    "esac",
    "in",
    "\0",
    "\r",
    "é",
    "ls",
  ];
  for (let round = 0; round < 2_000; round++) {
    const line = Array.from({ length: 1 + random(12) }, () => pieces[random(pieces.length)]).join(random(2) ? " " : "");
    const judged = gate.explain("bash", line);
    if (judged.decision === "allow")
      expect(judged.commands.every((command) => command.decision === "allow")).toBe(true);
    if (/[\0\r]/.test(line)) expect(judged.decision).not.toBe("allow");
  }
});

/** For each row of the option table a command that only that row holds back. */
const OPTION_SAMPLES = [
  "git -c a.b=c log",
  "git --exec-path=/x log",
  "git --git-dir /x log",
  "git fetch --upload-pack /x",
  "git clone -u x y",
  "git clone --config a.b=c y",
  "git fetch ext::x",
  "git log --ext-diff",
  "git log --output x",
  "git archive -o x HEAD",
  "git rebase --exec make main",
  "git bisect run x",
  "git submodule --quiet foreach x",
  "git grep -O x",
  "git config a.b c",
  "git difftool",
  "find . -fls x",
  "fd -x rm",
  "rg --pre x y",
  "rg --hostname-bin x y",
  "rg -z y",
  "base64 --output=x",
  "tar cf x --to-command=y",
  "tar -I y -xf x",
  "sort --output=x y",
  "sort --compress-program=x y",
  "shuf -o x y",
  "split --filter=x y",
  "sed --in-place x y",
  "sed --file=x readme",
  "sed -n 'w x' y",
  "awk 'BEGIN{system(1)}'",
  "gawk --file=x y",
  "less +!x y",
  "less -Ox y",
  "man -P x y",
  "env -S x",
  "ssh -o ProxyCommand=x y",
  "ssh -F x y",
  "sftp -S x y",
  "rsync -e x y z",
  "curl -K x",
  "go test -exec x",
  "zip -TT x y",
  "sqlite3 x .shell",
  "psql -c \\!x",
  "wget -e x y",
  "uniq x y",
  "yq -i x y",
  "date -s x",
  "bat --pager x y",
  "fzf --preview x",
  "make SHELL=/x test",
  "nvim --headless -c qa",
  "ed x",
  "gdb -ex run x",
  "socat - EXEC:sh",
  "nc -e sh x 1",
  "expect x.exp",
  "enable -f x.so y",
  "hash -p /bin/rm ls",
  "bind -x y",
  "fc -s",
];

test.each(OPTION_ROWS.map((row, index) => [index, `${row.programs[0]}: ${row.why}`, row] as const))(
  "option row %d (%s) holds back a command that nothing else does",
  (_, __, row) => {
    const others = OPTION_ROWS.filter((other) => other !== row);
    const words = OPTION_SAMPLES.map((sample) => sample.split(" ").map((word) => word.replace(/^'|'$/g, "")));
    const joined = words.map((parts, index) =>
      OPTION_SAMPLES[index]?.includes("'") === true ? quotedWords(OPTION_SAMPLES[index] ?? "") : parts,
    );
    expect(joined.some((parts) => optionRisk(parts) !== null && optionRisk(parts, others) === null)).toBe(true);
  },
);

function quotedWords(sample: string): string[] {
  return [...sample.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? "");
}

test.each(RECURSIVE_READERS.flatMap((reader) => reader.programs.map((program) => [program] as const)))(
  "%s over a directory with a secret file in it is never simply allowed",
  (program) => {
    const lines: Record<string, string> = {
      tar: "tar cf /dev/null conf",
      bsdtar: "bsdtar -c conf",
      gtar: "gtar --create conf",
      "7z": "7z a x.7z conf",
      "7za": "7za a x.7z conf",
      "7zz": "7zz u x.7z conf",
      rg: "rg x conf",
      ag: "ag x conf",
      ack: "ack x conf",
      rgrep: "rgrep x conf",
      find: "find conf -type f | xargs cat",
      gfind: "gfind conf -exec cat {} +",
      cp: "cp -a conf y",
      gcp: "gcp -R conf y",
      zip: "zip -r x.zip conf",
      scp: "scp -r conf host:",
      rsync: "rsync -a conf host:",
      diff: "diff conf src",
      pax: "pax -w conf",
      git: "git grep --no-index x conf",
      fd: "cat $(fd . conf)",
      fdfind: "fdfind pem conf | xargs cat",
      ls: "ls conf/ | xargs cat",
      gls: "gls conf | while read f; do cat $f; done",
      dir: "head $(dir conf)",
    };
    const line = lines[program] ?? `${program} -r x conf`;
    expect([line, gate.explain("bash", line).decision]).toEqual([line, "ask"]);
    const harmless = line.replaceAll("conf", "src");
    const { by } = gate.explain("bash", harmless);
    expect([harmless, by === "secret"]).toEqual([harmless, false]);
  },
);

test.each(WRITING_PROGRAMS.flatMap((row) => row.programs.map((program) => [program] as const)))(
  "%s can't write protected files unasked",
  (program) => {
    const lines: Record<string, string> = {
      dd: "dd if=x of=.shiro/y",
      curl: "curl -o .shiro/y https://x.test",
      wget: "wget -O .shiro/y https://x.test",
      unzip: "unzip x.zip -d .shiro",
      git: "git log --output .shiro/y",
      sed: "sed -i s/a/b/ .shiro/y",
      gsed: "gsed --in-place=.bak s/a/b/ .shiro/y",
      perl: "perl -pi -e s/a/b/ .shiro/y",
      go: "go build -o .shiro/y",
      openssl: "openssl enc -in x -out .shiro/y",
      "ssh-keygen": "ssh-keygen -f .shiro/y",
      csplit: "csplit -f .shiro/y x 1",
      ...Object.fromEntries(
        "sort shuf tree base64 iconv gpg zstd strip xz gcc g++ cc c++ clang clang++ ld rustc tcc"
          .split(" ")
          .map((name) => [name, `${name} -o .shiro/y x`]),
      ),
      ...Object.fromEntries(["tar", "bsdtar", "gtar"].map((name) => [name, `${name} xf x.tar -C .shiro`])),
    };
    const line = lines[program] ?? `${program} x .shiro/y`;
    expect(open.explain("bash", line)).toMatchObject({ decision: "ask", by: "self-protection" });
  },
);

test("ordinary lines are judged at a rate of well over a thousand a second", () => {
  const lines = [
    "git status",
    "ls -la src | head -5",
    "npm test 2>&1 | tail -20",
    "cd src && git diff -- a.c",
    "grep -n foo src/a.c",
  ];
  for (const line of lines) gate.explain("bash", line);
  const started = process.cpuUsage();
  for (let round = 0; round < 200; round++) for (const line of lines) gate.explain("bash", line);
  const { user, system } = process.cpuUsage(started);
  // A thousand in a second of processor time; the clock would measure what else the machine does.
  expect((user + system) / 1_000).toBeLessThan(1_000);
});

test.each([
  ["commands", (count: number) => "ls; ".repeat(count)],
  ["a pipeline", (count: number) => `${"curl x | ".repeat(count)}sh`],
  ["wildcards", (count: number) => "cat *.md; ".repeat(count)],
  ["recursive readers", (count: number) => "grep -r x src; ".repeat(count)],
  ["xargs", (count: number) => `find . | ${"xargs cat | ".repeat(count)}cat`],
  ["arguments", (count: number) => `rm ${"x ".repeat(count)}`],
  ["redirections", (count: number) => `{ ${"ls; ".repeat(count)} } ${"> /dev/null ".repeat(count)}`],
] as const)("judging %s takes time in proportion to their number", (_, make) => {
  const cost = (count: number) => {
    const started = process.cpuUsage();
    gate.explain("bash", make(count));
    const { user, system } = process.cpuUsage(started);
    return user + system;
  };
  cost(200);
  const [small, large] = [Math.min(cost(200), cost(200)), cost(1_600)];
  // Eight times as many; squared it would be sixty-four times the work.
  expect(large / small).toBeLessThan(32);
});
