import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { agentVariants, findAgent, VARIANTS } from "../src/agents.ts";
import { loadCustomAgents } from "../src/custom-agents.ts";
import { commandTrust, loadCustomCommands } from "../src/custom-commands.ts";
import { splitArguments } from "../src/custom-template-arguments.ts";
import { expandTemplate } from "../src/custom-template.ts";
import { projectTrustItems } from "../src/trust-project.ts";
import { recordTrust } from "../src/trust.ts";

const made: string[] = [];
afterAll(() => made.forEach((path) => rmSync(path, { recursive: true, force: true })));

function folder(files: Record<string, string>) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "shiro-custom-")));
  made.push(base);
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(base, name)), { recursive: true });
    writeFileSync(join(base, name), text);
  };
  for (const name of ["work/.git/HEAD", "home/config.json"]) write(name, "");
  for (const [name, text] of Object.entries(files)) write(name, text);
  return { base, write, places: { home: join(base, "home"), cwd: join(base, "work") } };
}

/** Pieces as text: commands in angle brackets, files in braces. */
const expanded = (template: string, args = "") =>
  expandTemplate(template, args)
    .map((piece) =>
      piece.kind === "text" ? piece.text : piece.kind === "command" ? `<${piece.command}>` : `{${piece.path}}`,
    )
    .join("");

test.each([
  ["all: $ARGUMENTS.", "a  'b c'", "all: a  'b c'."],
  ["$1 and $2 and $3", "one 'two words'", "one and two words and "],
  ["costs $10, $ARGUMENTSX", "x", "costs $10, $ARGUMENTSX\n\nx"],
  ["no place", "for this", "no place\n\nfor this"],
  ["no place", "", "no place"],
  ["run !`git log $1` now", "v1", "run <git log v1> now"],
  ["see @src/$1.ts, and (@b).", "a", "see {src/a.ts}, and ({b})."],
  ["mail me@x.org !no `code` !``", "", "mail me@x.org !no `code` !``"],
  ["say $ARGUMENTS", "!`rm x` @secret $1", "say !`rm x` @secret $1"],
  ["!`echo $1`", "`x` @y", "<echo '`x`'>"],
])("%j with %j", (template, args, expected) => expect(expanded(template, args)).toBe(expected));

test.each([
  ["", []],
  ["a b", ["a", "b"]],
  ["'a b' \"c d\"e", ["a b", "c de"]],
  ['"q \\" q" x', ['q " q', "x"]],
  ["''", [""]],
  ["'open end", ["open end"]],
])("%j is divided as a shell does", (args, words) => {
  expect(splitArguments(args)).toEqual(words);
});

describe("files", () => {
  test("sub-folders are groups, a project's comes before the user's, what is wrong is named", () => {
    const { base, places } = folder({
      "home/commands/both.md": "the user's",
      "home/commands/mine.md":
        "---\ndescription: what it does\nargument-hint: [number] [title]\nagent: plan\nmodel: m\n---\nDo $1",
      "work/.shiro/commands/both.md": "the project's\nsecond line",
      "work/.shiro/commands/git/pr.md": "!`git log`",
      "work/.shiro/commands/skill/commit.md": "instead of the skill",
      "work/.shiro/commands/git/deep/er.md": "too deep",
      "work/.shiro/commands/no name.md": "x",
      "work/.shiro/commands/empty.md": "---\ndescription: x\n---\n",
      "work/.shiro/commands/broken.md": "---\nx: [\n---\nx",
      "outside.md": "x",
      "work/.env": "KEY=1",
    });
    symlinkSync(join(base, "outside.md"), join(base, "work/.shiro/commands/link.md"));
    symlinkSync(join(base, "work/.env"), join(base, "work/.shiro/commands/keys.md"));
    const { list, problems } = loadCustomCommands(places);
    expect(list.map(({ name, description, source, runs }) => [name, description, source, runs])).toEqual([
      ["both", "the project's", "project", false],
      ["git:pr", "!`git log`", "project", true],
      ["mine", "what it does", "user", false],
    ]);
    expect(list[2]).toMatchObject({ argumentHint: "[number] [title]", agent: "plan", model: "m", template: "Do $1" });
    expect(problems.map(({ reason }) => reason)).toEqual([
      'line 2: the list has no "]"',
      "it is empty",
      `leads to ${join(base, "work/.env")}, which usually holds secrets`,
      `leads outside of ${join(base, "work")}`,
      '"no name" is no name for a command: a letter, then letters, digits, . _ -',
      "/skill:… stands for skills, so it can't be a command",
    ]);
  });

  test("a tree of folders holds no more commands than one folder", () => {
    const names = Array.from({ length: 30 }, (_, at) => `work/.shiro/commands/d${at % 3}/c${at}.md`);
    const { base, places } = folder(Object.fromEntries(names.map((name) => [name, "x"])));
    for (const group of ["e", "f"]) {
      mkdirSync(join(base, "work/.shiro/commands", group));
      for (let at = 0; at < 300; at++) writeFileSync(join(base, "work/.shiro/commands", group, `c${at}.md`), "x");
    }
    const { list, problems } = loadCustomCommands(places);
    expect([list.length, problems.map(({ reason }) => reason)]).toEqual([500, ["only the first 500 commands count"]]);
  });

  test("a project's command runs something only as it was when it was trusted", async () => {
    const { write, places } = folder({
      "home/commands/own.md": "!`date`",
      "work/.shiro/commands/run.md": "!`date`",
      "work/.shiro/commands/text.md": "only text",
    });
    const states = () => loadCustomCommands(places).list.map((one) => [one.name, commandTrust(one, places.home)]);
    expect(states()).toEqual([
      ["own", "trusted"],
      ["run", "unknown"],
      ["text", "trusted"],
    ]);
    const { items } = projectTrustItems(places.cwd, places.home);
    expect(items.map(({ what, state }) => [what, state])).toEqual([["command /run", "unknown"]]);
    for (const item of items) await recordTrust(places.home, item, new Date(0));
    expect(states()[1]).toEqual(["run", "trusted"]);
    write("work/.shiro/commands/run.md", "!`date -u`");
    expect(states()[1]).toEqual(["run", "changed"]);
  });
});

describe("agents", () => {
  const builtin = VARIANTS.map((variant) => variant.name);

  test("files of the user's, the configuration over them, and a project's beside them", () => {
    const { places } = folder({
      "home/agents/docs.md":
        "---\ndescription: from the file\nthinking: low\ntools: Read, grep\nsteps: 7\n---\nWrite plainly.",
      "home/agents/both.md": "---\ndescription: from the file\n---\n",
      "work/.shiro/agents/extra.md": "---\nname: more\ntools: read-only\nsteps: 5000\n---\nLook.",
      "work/.shiro/agents/plan.md": "---\ntools: all\n---\n",
      "work/.shiro/agents/docs.md": "---\ntools: all\n---\n",
      "work/.shiro/agents/wrong.md": "---\nthinking: very\n---\n",
    });
    const { agents, problems } = loadCustomAgents(places, { both: { description: "configured" } }, builtin);
    expect(findAgent("docs", agents)).toEqual({
      name: "docs",
      description: "from the file",
      thinking: "low",
      tools: ["read_file", "read_many_files", "grep"],
      maxSteps: 7,
      taskList: true,
      appendix: "Write plainly.",
    });
    expect(findAgent("more", agents)).toMatchObject({ tools: "read-only", maxSteps: 80, appendix: "Look." });
    expect(findAgent("both", agents).description).toBe("configured");
    expect(findAgent("plan", agents).tools).toBe("read-only");
    expect(agentVariants(agents).map((one) => one.name)).toEqual([...builtin, "both", "docs", "more"]);
    expect(problems.map(({ reason }) => reason)).toEqual([
      'thinking: "very" is none of off, low, medium, high, max',
      'there is an agent "docs" already, which a project can\'t replace',
      'there is an agent "plan" already, which a project can\'t replace',
    ]);
    expect(() => findAgent("nobody", agents)).toThrow(`Available: ${builtin.join(", ")}, both, docs, more`);
  });
});
