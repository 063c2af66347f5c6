/** The registry against a server that means no good, and what installing, changing and removing do to the disk. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TOPICS } from "../src/help.ts";
import { readHooks } from "../src/hooks-config.ts";
import { checkManifest } from "../src/plugin-installed.ts";
import { runRegistry } from "../src/registry-actions.ts";
import { parseIndex } from "../src/registry-index.ts";
import { fetchBody, fetchIndex } from "../src/registry-body.ts";
import { DEFAULT_REGISTRY_URL, fetchRegistryText, registryAddress } from "../src/registry-fetch.ts";
import { listInstalled, registryFile } from "../src/registry-store.ts";
import { contentHash } from "../src/trust.ts";
import { closeBenches, openBench } from "./support/binary.ts";
import {
  indexText,
  manifestText,
  removeHomes,
  skillText,
  startRegistry,
  testScene,
} from "./support/registry-server.ts";

afterAll(async () => {
  removeHomes();
  await closeBenches();
});

const entry = (change: object = {}) => ({
  kind: "plugin",
  name: "no-prod",
  description: "Keeps away.",
  url: "body",
  ...change,
});
const deny = { tools: ["bash"], commandPattern: "x", reason: "r" };

async function problemOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "(it worked)";
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
}

describe("a hostile registry", () => {
  const redirect = (to: string) => () => new Response(null, { status: 302, headers: { location: to } });
  const BAD_INDEXES: [string, string | (() => Response) | Uint8Array, string][] = [
    ["no JSON", "<html>", "not valid JSON"],
    ["another version", JSON.stringify({ version: 2, entries: [] }), "version"],
    ["a field nobody knows", JSON.stringify({ version: 1, entries: [], run: "x" }), "run"],
    ["an unknown field of an entry", indexText([entry({ exec: "x" })]), "exec"],
    ["a name that is a path", indexText([entry({ name: "../../config" })]), "entries.0.name"],
    ["a name with capitals", indexText([entry({ name: "No-Prod" })]), "entries.0.name"],
    ["a name with a line end", indexText([entry({ name: "no-prod\n" })]), "entries.0.name"],
    ["an unknown kind", indexText([entry({ kind: "code" })]), "entries.0.kind"],
    ["a digest that is none", indexText([entry({ sha256: "abc" })]), "entries.0.sha256"],
    ["the same entry twice", indexText([entry(), entry()]), "plugin:no-prod twice"],
    ["more than 256 KB", `${" ".repeat(256 * 1024)}${indexText([])}`, "larger than 256 KB"],
    ["bytes that are no text", new Uint8Array([0x7b, 0xff, 0xfe]), "not UTF-8"],
    ["a failure", () => new Response("x", { status: 500 }), "HTTP 500"],
    ["a redirect to plain http", redirect("http://example.test/index.json"), "https only"],
    ["a redirect to a file", redirect("file:///etc/passwd"), "https only"],
    ["a redirect with a password", redirect("https://user:secret@example.test/"), "user or password"],
    ["a redirect to itself", redirect("/index.json"), "redirects more than"],
  ];
  test.each(BAD_INDEXES)("an index with %s is refused", async (_, file, reason) => {
    const server = startRegistry({ "/index.json": file, "/body": manifestText("no-prod") });
    const scene = testScene(`${server.url}index.json`);
    const problem = await problemOf(runRegistry("add no-prod", scene));
    await server.close();
    expect(problem).toStartWith("UserError: ");
    expect(problem).toContain(reason);
    expect(problem).not.toContain("secret");
    expect([scene.shown, existsSync(join(scene.home, "registry"))]).toEqual([[], false]);
  });

  const BAD_BODIES: [string, string, object, string][] = [
    ["another name", manifestText("other"), {}, 'calls itself "other"'],
    ["no rule", manifestText("no-prod", { deny: [] }), {}, "deny"],
    ["a field nobody knows", manifestText("no-prod", { allow: ["bash"] }), {}, "allow"],
    [
      "a pattern that doesn't compile",
      manifestText("no-prod", { deny: [{ ...deny, commandPattern: "(" }] }),
      {},
      "pattern (",
    ],
    [
      "a pattern that explodes",
      manifestText("no-prod", { deny: [{ ...deny, commandPattern: "^(a+)+$" }] }),
      {},
      "repeated group",
    ],
    [
      "a pattern over 200 characters",
      manifestText("no-prod", { deny: [{ ...deny, commandPattern: "x".repeat(201) }] }),
      {},
      "commandPattern",
    ],
    ["more than 64 KB", manifestText("no-prod") + " ".repeat(64 * 1024), {}, "larger than 64 KB"],
    ["another digest", manifestText("no-prod"), { sha256: "0".repeat(64) }, "its sha256 is"],
    ["a builtin plugin's name", manifestText("guard"), { name: "guard" }, "builtin plugin"],
    ["an address of another scheme", "", { url: "file:///etc/passwd" }, "https only"],
    ["an address that is data", "", { url: "data:application/json,{}" }, "https only"],
    ["a plain http address", "", { url: "http://example.test/x" }, "https only"],
    ["no file", "", { url: "missing" }, "HTTP 404"],
    ["a skill of another name", skillText("other"), { kind: "skill" }, 'calls itself "other"'],
    ["a skill without frontmatter", "Do as I say.", { kind: "skill" }, "no name"],
    ["a skill without description", "---\nname: no-prod\n---\nx", { kind: "skill" }, "no description"],
    ["a skill with broken frontmatter", "---\nname: no-prod\n", { kind: "skill" }, "line 1"],
    ["a skill that is too long", skillText("no-prod", "x".repeat(20_001)), { kind: "skill" }, "20000"],
  ];
  test.each(BAD_BODIES)("a body with %s is refused", async (_, body, change, reason) => {
    const listed = entry(change);
    const server = startRegistry({ "/index.json": indexText([listed]), "/body": body });
    const scene = testScene(`${server.url}index.json`);
    const problem = await problemOf(runRegistry(`add ${listed.name}`, scene));
    await server.close();
    expect(problem).toStartWith("UserError: ");
    expect(problem).toContain(reason);
    expect([scene.shown, existsSync(join(scene.home, "registry"))]).toEqual([[], false]);
  });

  test("what never ends is given up, in its size and in its time", async () => {
    const endless = () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(16 * 1024)),
        }),
      );
    const silent = () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
    const server = startRegistry({ "/endless": endless, "/silent": silent });
    const query = { maxBytes: 64 * 1024, env: {}, local: true };
    expect(await problemOf(fetchRegistryText({ ...query, url: `${server.url}endless` }))).toContain(
      "larger than 64 KB",
    );
    expect(await problemOf(fetchRegistryText({ ...query, url: `${server.url}silent`, deadlineMs: 50 }))).toContain(
      "did not answer in full within 0.05 s",
    );
    await server.close();
  });

  test("a registry elsewhere can't make us ask this machine", () => {
    expect(() => registryAddress("http://127.0.0.1:1/x", "https://example.test/index.json", false)).toThrow(
      "https only",
    );
    expect(() => registryAddress("//localhost/x", "http://example.test/", true)).not.toThrow();
    expect(() => registryAddress("http://localhost.example.test/x", null, true)).toThrow("https only");
    expect(registryAddress("a/b.json", "https://example.test/r/index.json", false)).toBe(
      "https://example.test/r/a/b.json",
    );
  });

  test("a configured address that isn't https is refused before anything is sent", async () => {
    for (const url of ["http://example.test/index.json", "file:///tmp/index.json", "ftp://example.test/", "nonsense"])
      expect(await problemOf(fetchIndex({ url, env: {} }))).toMatch(/https only|no address/);
  });
});

describe("installing", () => {
  const files = () => ({
    "/index.json": indexText([
      entry({ sha256: contentHash(manifestText("no-prod")).toUpperCase() }),
      entry({ kind: "skill", name: "notes", url: "/notes.md", description: "Notes on\nreleases" }),
      entry({ name: "notes", url: "/notes.json" }),
    ]),
    "/body": manifestText("no-prod"),
    "/notes.md": skillText("notes", "Be brief.\u202e\u001b[2J"),
    "/notes.json": manifestText("notes"),
  });

  test("a skill is shown whole with its hidden characters, and written as it came, for the user alone", async () => {
    const server = startRegistry(files());
    const scene = testScene(`${server.url}index.json`);
    await runRegistry("add skill:notes", scene);
    await server.close();
    expect(scene.shown[0]).toContain("  | description: Use when notes is wanted.\n");
    expect(scene.shown[0]).toContain("  | Be brief.<U+202E>\\x1b[2J");
    expect(scene.shown.slice(1)).toEqual([
      "Install skill:notes?",
      "Installed skill:notes; it counts from the next turn on.",
    ]);
    const path = registryFile(scene.home, { kind: "skill", name: "notes" });
    expect(readFileSync(path, "utf8")).toBe(skillText("notes", "Be brief.\u202e\u001b[2J"));
    expect([path, join(path, ".."), join(path, "../..")].map((one) => statSync(one).mode & 0o777)).toEqual([
      0o600, 0o700, 0o700,
    ]);
    expect(scene.changes).toEqual(["skill"]);
  });

  test("a plugin is shown as its rules; without a yes nothing is written", async () => {
    const server = startRegistry(files());
    const scene = testScene(`${server.url}index.json`, false);
    await runRegistry("add no-prod", scene);
    await server.close();
    expect(scene.shown[0]).toContain("  | bash: a command that matches ^deploy .*prod\n  |   refused: not from here");
    expect(scene.shown.slice(1)).toEqual(["Install plugin:no-prod?", "Not installed."]);
    expect([scene.changes, existsSync(join(scene.home, "registry"))]).toEqual([[], false]);
  });

  test.each([
    ["add notes", "say skill:notes or plugin:notes"],
    ["add no-prd", 'Did you mean "no-prod"?'],
    ["add ../x", "no name of a skill or plugin"],
    ["add plugin:../x", "no name of a skill or plugin"],
    ["add", "Usage: registry add <name>"],
    ["installed x", "Usage: registry installed"],
    ["instal", 'Did you mean "installed"?'],
    ["remove no-prod", "installed"],
  ])("%p is refused, saying how to say it", async (words, reason) => {
    const server = startRegistry(files());
    const problem = await problemOf(runRegistry(words, testScene(`${server.url}index.json`)));
    await server.close();
    expect(problem).toStartWith("UserError: ");
    expect(problem).toContain(reason);
  });

  test("lists are one line per entry, and know what is installed", async () => {
    const server = startRegistry(files());
    const scene = testScene(`${server.url}index.json`);
    await runRegistry("add no-prod", scene);
    scene.shown.length = 0;
    await runRegistry("", scene);
    await runRegistry("search notes releases", scene);
    await runRegistry("search nothing-of-this", scene);
    await runRegistry("installed", scene);
    await server.close();
    expect(scene.shown).toEqual([
      "plugin:no-prod  installed  Keeps away.\nskill:notes     Notes on releases\nplugin:notes    Keeps away.",
      "skill:notes  Notes on releases",
      'Nothing matches "nothing-of-this".',
      `plugin:no-prod  as installed       2026-03-01 ${server.url}body`,
    ]);
  });
});

describe("what changes later", () => {
  async function installed() {
    const server = startRegistry({ "/index.json": indexText([entry()]), "/body": manifestText("no-prod") });
    let answer = true;
    const scene = testScene(`${server.url}index.json`, () => answer);
    await runRegistry("add no-prod", scene);
    scene.shown.length = 0;
    scene.changes.length = 0;
    const path = registryFile(scene.home, { kind: "plugin", name: "no-prod" });
    return { server, scene, path, say: (yes: boolean) => void (answer = yes) };
  }
  const weaker = manifestText("no-prod", { deny: [{ ...deny, commandPattern: "^deploy never" }] });

  test("is shown as a diff, and replaces nothing without a yes", async () => {
    const { server, scene, path, say } = await installed();
    server.files["/body"] = weaker;
    say(false);
    for (const words of ["update", "add no-prod", "update plugin:no-prod"]) await runRegistry(words, scene);
    expect(scene.shown.filter((text) => text.includes('-      "commandPattern": "^deploy .*prod"'))).toHaveLength(3);
    expect(scene.shown).toContain("Kept as it is.");
    expect([readFileSync(path, "utf8"), scene.changes]).toEqual([manifestText("no-prod"), []]);
    say(true);
    await runRegistry("update", scene);
    await server.close();
    expect([readFileSync(path, "utf8"), scene.changes]).toEqual([weaker, ["plugin"]]);
    expect(listInstalled(scene.home)[0]?.origin?.sha256).toBe(contentHash(weaker));
  });

  test("that is nothing is said, and that is refused leaves the old one", async () => {
    const { server, scene, path } = await installed();
    await runRegistry("update", scene);
    expect(scene.shown).toEqual(["plugin:no-prod is up to date."]);
    server.files["/body"] = manifestText("no-prod", { deny: [] });
    expect(await problemOf(runRegistry("update", scene))).toContain("refused: deny");
    server.files["/index.json"] = indexText([]);
    await runRegistry("update", scene);
    await server.close();
    expect(scene.shown.at(-1)).toContain("not in the registry (any more)");
    expect(readFileSync(path, "utf8")).toBe(manifestText("no-prod"));
  });

  test("on disk is seen, and an update says that it takes it back", async () => {
    const { server, scene, path } = await installed();
    writeFileSync(path, weaker);
    await runRegistry("installed", scene);
    expect(scene.shown[0]).toContain("changed on disk");
    await runRegistry("update", scene);
    await server.close();
    expect(scene.shown.some((text) => text.includes("an update takes that back"))).toBe(true);
    expect(readFileSync(path, "utf8")).toBe(manifestText("no-prod"));
  });

  test("removing deletes the file and its record", async () => {
    const { server, scene, path } = await installed();
    await runRegistry("remove no-prod", scene);
    await server.close();
    expect(scene.shown[0]).toBe("Remove plugin:no-prod? Its rules no longer count then.");
    expect([existsSync(path), listInstalled(scene.home), scene.changes]).toEqual([false, [], ["plugin"]]);
  });
});

test("what the help topics show as examples is what is taken", () => {
  const example = (topic: string, part: string): string =>
    [...(TOPICS[topic] ?? "").matchAll(/^ {4}\{\n(?:^ {4}.*\n)*?^ {4}\}$/gm)]
      .map(([text]) => text)
      .find((text) => text.includes(part)) ?? "";
  const listed = example("registry", '"entries"').replaceAll('"…"', `"${"0".repeat(64)}"`);
  expect(parseIndex(listed, "help").map(({ name }) => name)).toEqual(["no-production", "release-notes"]);
  expect(TOPICS["registry"]).toContain(`\`${DEFAULT_REGISTRY_URL}\``);
  expect(checkManifest(example("plugins", '"deny"'), "no-production")).toHaveProperty("plugin");
  const reports: string[] = [];
  const { hooks } = JSON.parse(example("plugins", '"hooks"'));
  expect([Object.keys(readHooks(hooks, "help", reports)), reports]).toEqual([
    ["pre-tool", "post-tool", "turn-end"],
    [],
  ]);
});

test("a digest that is right lets a body through, whatever its letters' case", async () => {
  const text = manifestText("no-prod");
  const server = startRegistry({ "/body": text });
  const source = { url: `${server.url}index.json`, env: {} };
  const sha256 = contentHash(text).toUpperCase();
  const body = await fetchBody({ kind: "plugin", name: "no-prod", description: "d", url: "body", sha256 }, source);
  await server.close();
  expect([body.text, body.url]).toEqual([text, `${server.url}body`]);
});

test("from a shell nothing changes without a terminal or --yes, and never by a command of the agent's", async () => {
  const server = startRegistry({ "/index.json": indexText([entry()]), "/body": manifestText("no-prod") });
  const config = { registryUrl: `${server.url}index.json` };
  const bench = await openBench([], { endpoint: false, config });
  const refused = await bench.run(["registry", "add", "no-prod"]);
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toContain("run it in a terminal, or give --yes");
  expect(server.paths).toEqual([]);
  const added = await bench.run(["registry", "add", "no-prod", "--yes"]);
  expect([added.code, added.stderr]).toEqual([0, ""]);
  expect(added.stdout).toContain("  | bash: a command that matches ^deploy .*prod");
  const judged = await bench.run(["permissions", "explain", "bash", "sudo deploy to prod", "--json"]);
  expect(JSON.parse(judged.stdout)).toMatchObject({ decision: "deny", by: "plugin", rule: "plugin no-prod" });
  const inside = await bench.run(["registry", "remove", "no-prod", "--yes"], { env: { SHIRO_CALL: "c1.x" } });
  expect([inside.code, inside.stderr]).toEqual([2, expect.stringContaining("from inside a session")]);
  bench.write(".shiro/commands/run.md", `!\`echo ${" ".repeat(300)}x\`\r\nTrusted.`);
  expect((await bench.run(["trust", "--force"])).stdout).toContain("  | !`echo[301 spaces]x`\\r\n  | Trusted.\n");
  for (const args of [
    ["trust", "--force"],
    ["mcp", "add", "x", "--", "sh"],
  ]) {
    const { code, stderr } = await bench.run(args, { env: { SHIRO_CALL: "c1.x" } });
    expect([code, stderr]).toEqual([2, expect.stringContaining("from inside a session")]);
  }
  expect((await bench.run(["registry", "installed"])).stdout).toContain("plugin:no-prod  as installed");
  await server.close();
});
