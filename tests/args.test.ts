import { describe, expect, test } from "bun:test";
import { commandUsage, usage } from "../src/args-usage.ts";
import { FLAGS, SUBCOMMANDS, parseArgs, parseDuration } from "../src/args.ts";
import { UserError } from "../src/errors.ts";
import { TOPICS } from "../src/help.ts";

const options = (...argv: string[]) => parseArgs(argv).options;

test.each([
  [["-p", "hi"], "hi", true],
  [["-p", "-"], "-", true],
  [["--json", "hi"], "hi", true],
  [["hello there"], "hello there", false],
  [["-p", "--", "--not-a-flag"], "--not-a-flag", true],
  [["--", "doctor"], "doctor", false],
  [["-p", "doctor"], "doctor", true],
  [[], null, false],
] as const)("%j is a run with its prompt", (argv, prompt, print) => {
  const args = parseArgs(argv);
  expect([args.action, args.prompt, args.options.print]).toEqual(["run", prompt, print]);
});

test("a subcommand takes the words after it", () => {
  const args = parseArgs(["permissions", "explain", "bash", "git push", "--json"]);
  expect([args.action, args.command, args.rest]).toEqual(["command", "permissions", ["explain", "bash", "git push"]]);
  expect(args.options.json).toBe(true);
});

test.each([
  [["--agnet", "x"], "Unknown option --agnet. Did you mean --agent? (shiro --help lists them)"],
  [["-Z"], "Unknown option -Z (shiro --help lists them)"],
  [["--think", "hard"], 'Unknown thinking level "hard". Available: off, low, medium, high, max'],
  [["--model"], "--model needs a value: --model <id>"],
  [["--json=yes"], "--json takes no value"],
  [["fix", "it"], 'Several prompts given ("fix", "it" …): quote the prompt'],
  [["--max-tokens", "-3"], '--max-tokens needs a positive whole number, not "-3"'],
  [["--max-spend-usd", "free"], '--max-spend-usd needs a positive number, not "free"'],
  [["--timeout", "soon"], '--timeout needs a time such as 90, 90s or 10m, not "soon"'],
  [["--approvals", "yaml", "x"], 'Unknown value "yaml" for --approvals. Available: jsonl'],
  [["--approvals", "jsonl"], "--approvals jsonl needs a prompt argument, since stdin carries the answers"],
] as const)("%j is refused in one line", (argv, message) => {
  expect(() => parseArgs(argv)).toThrow(new UserError(message));
});

test.each([
  ["90", 90_000],
  ["90s", 90_000],
  ["10m", 600_000],
  ["1.5h", 5_400_000],
  ["250ms", 250],
  ["0", null],
  ["-1s", null],
  ["10 m", null],
])("the time %p is %p ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

test("short switches combine and the last may carry its value", () => {
  expect(options("-pqomessage.txt", "hi")).toMatchObject({ print: true, quiet: true, outputFile: "message.txt" });
});

test("repeatable flags collect in order", () => {
  expect(options("--allow", "bash(git *)", "--allow=bash(ls)", "--deny", "bash(rm *)")).toMatchObject({
    allow: ["bash(git *)", "bash(ls)"],
    deny: ["bash(rm *)"],
  });
});

test("approvals over JSON lines imply --json and --no-stdin", () => {
  expect(options("--approvals", "jsonl", "go")).toMatchObject({ json: true, stdin: "never", print: true });
});

test("--version and --help win over everything else that parses", () => {
  expect(parseArgs(["-p", "hi", "--version"]).action).toBe("version");
  expect(parseArgs(["--help", "permissions"])).toMatchObject({ action: "help", rest: ["permissions"] });
});

describe("usage", () => {
  test("names every flag and every subcommand", () => {
    const text = usage();
    for (const flag of FLAGS) expect(text).toContain(`--${flag.name}`);
    for (const command of SUBCOMMANDS) expect(text).toContain(`shiro ${command.usage}`);
  });
  test("fits eighty columns, the whole and that of each subcommand", () => {
    const texts = [usage(), ...SUBCOMMANDS.map(({ name }) => commandUsage(name) ?? "")];
    expect(texts.flatMap((text) => text.split("\n")).filter((line) => line.length > 80)).toEqual([]);
  });
  test("of a subcommand says its forms, its flags and where more is said", () => {
    expect(commandUsage("doctor")).toBe(
      [
        "shiro doctor [--online]",
        "  check this installation and show where each setting comes from",
        "",
        "Options",
        "      --online               with doctor: also ask the endpoint",
        "",
        "More: shiro help config",
        "",
      ].join("\n"),
    );
    expect(commandUsage("mcp")).toContain("shiro mcp add NAME -- command args…\n");
    expect(commandUsage("doctr")).toBeNull();
  });
  test("points to topics and subcommands that exist", () => {
    const names = SUBCOMMANDS.map((command) => command.name);
    expect(SUBCOMMANDS.flatMap(({ topic }) => topic ?? []).filter((topic) => !Object.hasOwn(TOPICS, topic))).toEqual(
      [],
    );
    expect(FLAGS.flatMap((flag) => flag.of ?? []).filter((name) => !names.includes(name))).toEqual([]);
  });
  test("no two flags share a name or a letter", () => {
    const names = FLAGS.flatMap((flag) => [flag.name, ...(flag.short ? [flag.short] : [])]);
    expect(new Set(names).size).toBe(names.length);
  });
});
