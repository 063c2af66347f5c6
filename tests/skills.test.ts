import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseMarkdownFile, textField } from "../src/markdown-file.ts";
import { openExtensions } from "../src/setup-extensions.ts";
import { BUILTIN_SKILLS } from "../src/skills-builtin.ts";
import { namesTool, parseAllowedTools } from "../src/skills-tools.ts";
import { loadSkills, MAX_SKILL_CHARS, SKILL_NAME, skillsStamp } from "../src/skills.ts";
import { skillLimit, skillTool } from "../src/tool-skill.ts";
import type { ToolLimit } from "../src/tool.ts";
import { bench } from "./support/exec-context.ts";

const made: string[] = [];
afterAll(() => made.forEach((path) => rmSync(path, { recursive: true, force: true })));

/** `work/…` is the project, `home/…` SHIRO_HOME. */
function folder(files: Record<string, string>) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "shiro-skills-")));
  made.push(base);
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(base, name)), { recursive: true });
    writeFileSync(join(base, name), text);
  };
  for (const name of ["work/.git/HEAD", "home/config.json"]) write(name, "");
  for (const [name, text] of Object.entries(files)) write(name, text);
  return { base, write, places: { home: join(base, "home"), cwd: join(base, "work") } };
}

const skill = (name: string, description: string, body = "body", more = "") =>
  `---\nname: ${name}\ndescription: ${description}\n${more}---\n${body}\n`;

test("the builtin skills say when to use them, under their own names, in less than 2 KB each", () => {
  expect(Object.keys(BUILTIN_SKILLS)).toEqual(
    "commit debug migrate perf refactor review security test verify".split(" "),
  );
  for (const [name, text] of Object.entries(BUILTIN_SKILLS)) {
    const file = parseMarkdownFile(text);
    expect([name, textField(file, "name")]).toEqual([name, name]);
    expect(textField(file, "description")).toMatch(/^use (?:when|before) /);
    expect(Buffer.byteLength(text)).toBeLessThan(2048);
    expect(file.body.length).toBeGreaterThan(500);
  }
});

test("of one name the later source wins, and .shiro/skills before the folders of other agents", () => {
  const { base, places } = folder({
    "home/registry/skills/debug.md": skill("debug", "from the registry"),
    "home/registry/skills/one.md": skill("one", "from the registry"),
    "home/skills/one.md": skill("one", "the user's"),
    "home/skills/two.md": skill("two", "the user's"),
    "work/.agents/skills/two.md": skill("two", "agents"),
    "work/.agents/skills/three.md": skill("three", "agents"),
    "work/.claude/skills/three/SKILL.md": skill("three", "claude"),
    "work/.shiro/skills/four.md": skill("four", "here"),
    "work/.claude/skills/four.md": skill("four", "claude"),
  });
  const { list, problems } = loadSkills(places);
  const found = Object.fromEntries(list.map((one) => [one.name, `${one.source}: ${one.description}`]));
  expect(found).toMatchObject({
    debug: "registry: from the registry",
    one: "user: the user's",
    two: "project: agents",
    three: "project: claude",
    four: "project: here",
  });
  expect(list.find((one) => one.name === "three")?.folder).toBe(join(base, "work/.claude/skills/three"));
  expect([problems, list.length]).toEqual([[], 9 + 4]);
});

test("what can't be used is named with its reason, and the rest is there", () => {
  const { base, write, places } = folder({
    "work/.shiro/skills/fine.md": skill("fine", "it is"),
    "work/.shiro/skills/again.md": skill("fine", "it is"),
    "work/.shiro/skills/nameless.md": "---\ndescription: x\n---\n",
    "work/.shiro/skills/silent.md": "---\nname: silent\n---\n",
    "work/.shiro/skills/broken.md": "---\nname: broken\ndescription: [x\n---\n",
    "work/.shiro/skills/wrong.md": skill("Wrong Name", "x"),
    "work/.shiro/skills/long.md": skill("long", "x", "é".repeat(MAX_SKILL_CHARS + 1)),
    "work/.shiro/skills/huge.md": skill("huge", "x", "x".repeat(5_000_000)),
    "work/.shiro/skills/whole.md": skill("whole", "x", "é".repeat(MAX_SKILL_CHARS)),
    "outside/SKILL.md": skill("outside", "x"),
  });
  symlinkSync(join(base, "outside"), join(base, "work/.shiro/skills/link"));
  Bun.spawnSync(["mkfifo", join(base, "work/.shiro/skills/pipe.md")]);
  write("work/.shiro/skills/empty/notes.txt", "no skill");
  const { list, problems, body } = loadSkills(places);
  const own = list.filter((one) => one.source === "project").map((one) => one.name);
  expect(own).toEqual(["fine", "whole"]);
  expect(body("whole").length).toBe(MAX_SKILL_CHARS);
  const reasons = problems.map(
    ({ path, reason }) => `${path.slice(join(base, "work/.shiro/skills/").length)}: ${reason}`,
  );
  expect(reasons).toEqual([
    'broken.md: line 3: the list has no "]"',
    'fine.md: there is another "fine" beside it',
    "huge.md: its body is longer than 20000 characters; move a part to files beside it",
    `link/SKILL.md: leads outside of ${join(base, "work")}`,
    "long.md: its body is longer than 20000 characters; move a part to files beside it",
    'nameless.md: its frontmatter has no "name"',
    "pipe.md: is no regular file",
    'silent.md: its frontmatter has no "description"',
    'wrong.md: "Wrong Name" is no name: small letters, digits and -, at most 64',
  ]);
});

test("the body is read when it is asked for", () => {
  const { base, write, places } = folder({ "work/.shiro/skills/one.md": skill("one", "x", "first") });
  const { body } = loadSkills(places);
  write("work/.shiro/skills/one.md", skill("one", "x", "second"));
  expect(body("one")).toBe("second");
  rmSync(join(base, "work/.shiro/skills/one.md"));
  expect(() => body("one")).toThrow('The skill "one" is gone');
  expect(() => body("debgu")).toThrow('There is no skill "debgu". Did you mean "debug"?');
});

test("a skill is found from below the repository's root, and what a reviewer can't see is left out", () => {
  const { places } = folder({ "work/.shiro/skills/one.md": skill("one", "a\u200bb", "x\u{E0041}y"), "work/sub/x": "" });
  const { list, body } = loadSkills({ ...places, cwd: join(places.cwd, "sub") });
  expect(list.find((one) => one.name === "one")?.description).toBe("ab");
  expect(body("one")).toBe("xy");
});

test("a skill added, changed or removed meanwhile is noticed, and nothing else is", () => {
  const { base, write, places } = folder({});
  const extensions = openExtensions(places, { skills: true });
  const names = () =>
    extensions
      .skills()
      .list.filter((one) => one.source !== "builtin")
      .map((one) => one.name);
  expect([names(), extensions.rereadSkills("changed")]).toEqual([[], false]);
  write("work/.shiro/skills/one/SKILL.md", skill("one", "x"));
  expect([extensions.rereadSkills("changed"), names()]).toEqual([true, ["one"]]);
  const stamp = skillsStamp(places);
  write("work/src/other.md", "x");
  expect([skillsStamp(places) === stamp, extensions.rereadSkills("changed")]).toEqual([true, false]);
  write("work/.shiro/skills/one/SKILL.md", skill("one", "x", "another body, same description"));
  expect(extensions.rereadSkills("changed")).toBe(false);
  rmSync(join(base, "work/.shiro/skills/one"), { recursive: true });
  expect([extensions.rereadSkills("changed"), names()]).toEqual([true, []]);
  expect(openExtensions(places, { skills: false }).skills().list).toEqual([]);
});

test.each([
  ["Read", ["read_file", "read_many_files"], null],
  ["Edit", ["edit_file", "multi_edit", "apply_patch"], null],
  ["Bash(git add:*)", ["bash"], "git add *"],
  ["Bash(*)", ["bash"], null],
  ["bash(npm test)", ["bash"], "npm test"],
  ["grep", ["grep"], null],
  ["mcp__server__tool", ["mcp__server__tool"], null],
  ["mcp__server__*", ["mcp__server__*"], null],
  ["mcp__server", ["mcp__server__*"], null],
  ["gre*", [], null],
  ["KillShell", [], null],
])("allowed-tools %s means %p", (written, tools, pattern) => {
  expect(parseAllowedTools([written])).toEqual([{ written, tools, pattern }]);
});

test("a family of MCP tools is named with what it holds, any other tool by its own name", () => {
  const limit = { allowed: ["mcp__docs__*", "grep"] };
  const tools = ["mcp__docs__find", "grep", "mcp__other__find", "mcp_call", "gre"];
  expect(tools.filter((tool) => namesTool(limit, tool))).toEqual(["mcp__docs__find", "grep"]);
});

test("entries are divided by commas or blanks, and one without a pattern lifts those with one", () => {
  const limit = (...entries: string[]) => skillLimit({ name: "x", allowedTools: parseAllowedTools(entries) });
  expect(limit("Grep Bash(git add *) Bash(ls)")).toEqual({
    skill: "x",
    allowed: ["grep", "bash"],
    patterns: { bash: ["git add *", "ls"] },
  });
  expect(limit("Bash(ls)", "Bash")).toEqual({ skill: "x", allowed: ["bash"] });
  expect(limit("mcp__docs__find")).toEqual({
    skill: "x",
    allowed: ["mcp__docs__find", "mcp_call"],
    patterns: { mcp_call: ["mcp__docs__find"] },
  });
  expect(limit("mcp__docs")).toEqual({
    skill: "x",
    allowed: ["mcp__docs__*", "mcp_call"],
    patterns: { mcp_call: ["mcp__docs__*"] },
  });
  expect(limit("Nothing")).toEqual({ skill: "x", allowed: [] });
  expect(skillLimit({ name: "x", allowedTools: null })).toBeNull();
});

test("the tool hands over the body, opens the folder for reading and replaces the limit before", async () => {
  const { base, places } = folder({
    "home/skills/one/SKILL.md": skill("one", "x", "Do it.", "allowed-tools: [Read]\n"),
    "home/skills/one/script.sh": "echo",
  });
  const limits: (ToolLimit | null)[] = [];
  const at = bench({}, { limitTools: (limit) => void limits.push(limit) });
  const tool = skillTool(() => loadSkills(places));
  const path = join(base, "home/skills/one/script.sh");
  expect(() => at.context.workspace.locate(path, "read")).toThrow("outside the workspace");
  const { text } = await at.run(tool, { name: "one" });
  expect(text).toBe(
    `Skill "one"\nIts folder is ${dirname(path)}; beside it: script.sh.\nFor the rest of this turn only these tools work: read_file, read_many_files.\n\nDo it.`,
  );
  expect(at.context.workspace.locate(path, "read").real).toBe(path);
  expect(() => at.context.workspace.locate(path, "write")).toThrow();
  await at.run(tool, { name: "debug" });
  expect(limits).toEqual([{ skill: "one", allowed: ["read_file", "read_many_files"] }, null]);
  expect(at.run(tool, { name: "on" })).rejects.toThrow('Did you mean "one"?');
});

test.each([
  ["a", true],
  ["a-1", true],
  ["A", false],
  ["-a", false],
  ["a_b", false],
  ["", false],
  ["../a", false],
])("%j as a name: %p", (name, valid) => expect(SKILL_NAME.test(name)).toBe(valid));

test("a .shiro that is a file, or a link to itself, is no folder of skills", () => {
  const { base, places } = folder({ "work/.shiro": "x" });
  expect([loadSkills(places).problems, skillsStamp(places) === skillsStamp(places)]).toEqual([[], true]);
  rmSync(join(base, "work/.shiro"));
  symlinkSync(".shiro", join(base, "work/.shiro"));
  expect(loadSkills(places).problems.map(({ reason }) => reason)).toEqual([expect.stringContaining("ELOOP")]);
  expect(skillsStamp(places)).toBe(skillsStamp(places));
});
