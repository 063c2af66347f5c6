/** The completion scripts in the shells they are for: what each offers where. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FLAGS, SUBCOMMANDS } from "../src/args.ts";
import { UserError } from "../src/errors.ts";
import { completionScript } from "../src/shell-completions.ts";
import { BINARY } from "./support/binary.ts";

const dir = mkdtempSync(join(tmpdir(), "shiro-complete-"));
const ID = "01a22df3-30cc-7198-a3bd-8b39145a8462";
const env = { PATH: `${join(dir, "bin")}:${process.env.PATH}`, HOME: dir, SHIRO_HOME: join(dir, "home"), TERM: "dumb" };

beforeAll(() => {
  for (const name of ["bin", "work/a folder", "home/sessions"])
    mkdirSync(join(dir, name), { recursive: true, mode: 0o700 });
  symlinkSync(BINARY, join(dir, "bin/shiro"));
  writeFileSync(join(dir, "work/answer.json"), "");
  const header = { version: 1, id: ID, createdAt: "2026-01-01T00:00:00Z", updatedAt: "2026-01-01T00:00:00Z" };
  const record = { ...header, cwd: join(dir, "work"), title: "No 1: it's a [title]", turns: 1, messages: [] };
  writeFileSync(join(dir, "home/sessions", `${ID}.json`), JSON.stringify(record));
  for (const shell of ["bash", "zsh", "fish"]) writeFileSync(join(dir, shell), completionScript(shell));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function has(shell: string): boolean {
  if (Bun.which(shell)) return true;
  console.error(`SKIPPED: completion in ${shell}, which is not installed`);
  return false;
}

/** The lines before the cursor, and some of what must and must not be offered there. */
const CASES: [string[], string[], string[]][] = [
  [["shiro", ""], SUBCOMMANDS.map((command) => command.name), ["explain"]],
  [
    ["shiro", "--ma"],
    ["--max-tokens", "--max-spend-usd"],
    ["--model", "doctor"],
  ],
  [
    ["shiro", "--think", ""],
    ["off", "low", "medium", "high", "max"],
    ["doctor", "answer.json"],
  ],
  [["shiro", "--agent", "p"], ["plan"], ["quick"]],
  [["shiro", "-p", "--provider", ""], ["anthropic", "openai"], ["doctor"]],
  [["shiro", "-r", ""], [ID], ["No", "doctor"]],
  [["shiro", "mcp", ""], ["list", "add", "remove", "test", "login"], ["doctor"]],
  [["shiro", "help", "se"], ["sessions", "security"], ["config"]],
  [["shiro", "completions", ""], ["bash", "zsh", "fish"], ["doctor"]],
];

test.skipIf(!has("bash"))("bash offers subcommands, flags, values and sessions", () => {
  const all: typeof CASES = [
    ...CASES,
    [["shiro", "--think", "=", "m"], ["medium", "max"], ["low"]],
    [["shiro", "-C", "a"], ["a folder"], []],
  ];
  const ask = all.map(([words]) => `ask ${words.map((word) => `'${word}'`).join(" ")}`);
  const script = `. ../bash
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shiro; printf '%s\\n' "\${COMPREPLY[@]}" --; }
complete -p shiro
${ask.join("\n")}`;
  const { stdout, stderr } = Bun.spawnSync(["bash", "--norc", "-c", script], { cwd: join(dir, "work"), env });
  expect(stderr.toString()).toBe("");
  const [registered = "", ...rest] = stdout.toString().split("\n");
  expect(registered).toContain("-F _shiro shiro");
  const answers = rest.join("\n").split("--\n");
  for (const [index, [words, wanted, unwanted]] of all.entries()) {
    const offered = (answers[index] ?? "").split("\n");
    expect([words, wanted.filter((word) => !offered.includes(word))]).toEqual([words, []]);
    expect([words, unwanted.filter((word) => offered.includes(word))]).toEqual([words, []]);
  }
});

test.skipIf(!has("fish"))("fish offers subcommands, flags, values and sessions", () => {
  const all: typeof CASES = [
    ...CASES,
    [["shiro", "--think=m"], ["--think=medium", "--think=max"], []],
    [["shiro", "-o", "ans"], ["answer.json"], []],
  ];
  const ask = all.map(([words]) => `complete -C '${words.join(" ")}'; echo ====`);
  const { stdout, stderr } = Bun.spawnSync(["fish", "--no-config", "-c", `source ../fish\n${ask.join("\n")}`], {
    cwd: join(dir, "work"),
    env,
  });
  expect(stderr.toString()).toBe("");
  const answers = stdout.toString().split("====\n");
  for (const [index, [words, wanted, unwanted]] of all.entries()) {
    const offered = (answers[index] ?? "").split("\n").map((line) => line.split("\t")[0] ?? "");
    expect([words, wanted.filter((word) => !offered.includes(word))]).toEqual([words, []]);
    expect([words, unwanted.filter((word) => offered.includes(word))]).toEqual([words, []]);
  }
});

/** A shell with a line editor; its control sequences are its own, so what it writes is looked at as it comes. */
function typeInto(argv: string[]) {
  const decoder = new TextDecoder();
  const heard: (() => void)[] = [];
  let text = "";
  const data = (_: unknown, bytes: Uint8Array): void => {
    // Colours and the like may stand anywhere within a word.
    text = (text + decoder.decode(bytes, { stream: true })).replaceAll(/\x1b\[[0-9;?]*[a-zA-Z]/g, "");
    for (const look of heard.splice(0)) look();
  };
  const child = Bun.spawn(argv, {
    cwd: join(dir, "work"),
    env: { ...env, TERM: "xterm-256color" },
    terminal: { cols: 200, rows: 60, data },
  });
  const limit = setTimeout(() => child.kill("SIGKILL"), 20_000);
  void child.exited.then(() => heard.splice(0).forEach((look) => look()));
  return {
    type: (keys: string): void => void child.terminal?.write(keys),
    /** Waits for the text behind what was seen last. */
    async see(what: RegExp): Promise<void> {
      for (let found = what.exec(text); ; found = what.exec(text)) {
        if (found) return void (text = text.slice(found.index + found[0].length));
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`${what} did not come: ${JSON.stringify(text)}`);
        await new Promise<void>((resolve) => heard.push(resolve));
      }
    },
    async close(): Promise<void> {
      await child.exited;
      clearTimeout(limit);
      child.terminal?.close();
    },
  };
}

test.skipIf(!has("zsh"))("zsh offers subcommands, flags, values and sessions", async () => {
  const zsh = typeInto(["zsh", "-f"]);
  zsh.type("PS1='rea''dy> '; autoload -U compinit; compinit -D -u; setopt no_beep; source ../zsh\r");
  await zsh.see(/ready> /);
  for (const [typed, shown] of [
    ["shiro doc\t", /shiro doctor /],
    ["shiro --max-sp\t", /--max-spend-usd/],
    ["shiro --think=\t", /high +low +max +medium +off/],
    ["shiro -p --agent=pl\t", /--agent=plan/],
    ["shiro mcp te\t", /mcp test /],
    ["shiro help se\t\t", /security +sessions/],
    ["shiro -r 01a2\t", new RegExp(ID.slice(4))],
    ["shiro \t", /models +-- list what the endpoint offers/],
  ] as const) {
    zsh.type(typed);
    await zsh.see(shown);
    zsh.type("\x15");
  }
  zsh.type("\x15exit\r");
  await zsh.close();
});

describe("the tables behind them", () => {
  test("the words a subcommand takes are those of its usage", () => {
    for (const { usage, verbs } of SUBCOMMANDS)
      for (const verb of verbs ?? []) expect([usage, new RegExp(`[ |[]${verb}\\b`).test(usage)]).toEqual([usage, true]);
  });
  test("what a flag takes belongs to a flag with a value", () => {
    expect(FLAGS.filter((flag) => flag.takes !== undefined && flag.value === undefined)).toEqual([]);
  });
  test.each([undefined, "csh"])("%p is refused with the list", (shell) => {
    expect(() => completionScript(shell)).toThrow(new UserError("shiro completions needs a shell: bash, zsh, fish"));
  });
});
