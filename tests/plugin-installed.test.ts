/** Installed plugins: which manifests on disk count, and that a session takes up new ones from its next turn on. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "../src/args.ts";
import { pluginTable } from "../src/command-plugins.ts";
import { doctorReport } from "../src/doctor.ts";
import { headerLines } from "../src/interactive-header.ts";
import { readInstalledPlugins } from "../src/plugin-installed.ts";
import { removeItem, saveItem } from "../src/registry-store.ts";
import { setUp, type Setup } from "../src/setup.ts";
import type { AgentEvent } from "../src/types.ts";
import { collect } from "./support/scripted.ts";
import { startModelServer, type ModelServer } from "./support/model-server.ts";
import { manifestText } from "./support/registry-server.ts";

const base = realpathSync(mkdtempSync(join(tmpdir(), "shiro-installed-")));
afterAll(() => rmSync(base, { recursive: true, force: true }));
let count = 0;

/** A home with these files among its installed manifests. */
function homeWith(files: Record<string, string>): string {
  const home = join(base, `home-${count++}`);
  mkdirSync(join(home, "registry/plugins"), { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, "registry/plugins", name), text);
  return home;
}

const FILES = {
  "a-good.json": manifestText("a-good"),
  "broken.json": "{",
  "guard.json": manifestText("guard"),
  "huge.json": manifestText("huge") + " ".repeat(64 * 1024),
  "notes.txt": "no manifest",
  "other-name.json": manifestText("a-good"),
  "slow.json": manifestText("slow", { deny: [{ tools: ["bash"], commandPattern: "(x+)+y", reason: "r" }] }),
};
const SKIPPED = [
  ["broken.json", expect.stringContaining("not valid JSON")],
  ["guard.json", '"guard" is the name of a builtin plugin'],
  ["huge.json", "it is larger than 64 KB"],
  ["other-name.json", 'it calls itself "a-good", not "other-name"'],
  ["slow.json", expect.stringContaining("repeated group")],
];

function envOf(home: string, server?: ModelServer): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: base,
    SHIRO_HOME: home,
    SHIRO_PROVIDER: "openai",
    SHIRO_BASE_URL: server?.url ?? "http://127.0.0.1:9/v1",
    SHIRO_MODEL: "some-model",
    SHIRO_API_KEY: "some-key",
  };
}

function open(home: string, flags: string[] = [], server?: ModelServer): Promise<Setup> {
  const { options } = parseArgs(["--ephemeral", "--no-memory", "--no-instructions", ...flags]);
  return setUp({ options, env: envOf(home, server), cwd: base, interactive: true, onNotice: () => {} });
}

describe("manifests on disk", () => {
  test("those that fit are plugins; what doesn't fit is skipped with the reason", () => {
    const { plugins, problems } = readInstalledPlugins(homeWith(FILES));
    expect(plugins.map(({ name }) => name)).toEqual(["a-good"]);
    expect(problems.map(({ file, problem }) => [file, problem])).toEqual(SKIPPED);
    expect(readInstalledPlugins(join(base, "nowhere"))).toEqual({ plugins: [], manifests: [], problems: [] });
  });

  test("a pipe in their place is not waited for", () => {
    const home = homeWith({});
    Bun.spawnSync(["mkfifo", join(home, "registry/plugins/pipe.json")]);
    expect(readInstalledPlugins(home).problems).toEqual([{ file: "pipe.json", problem: "it is no regular file" }]);
  });

  test("/plugins, the header, the start and doctor tell which count and which don't", async () => {
    const home = homeWith({ "a-good.json": FILES["a-good.json"], "broken.json": "{" });
    const setup = await open(home);
    expect(setup.plugins.plugins.map(({ name }) => name)).toEqual(["guard", "protect", "secrets", "time", "a-good"]);
    const rows = pluginTable({ setup }).split("\n");
    expect(rows.map((row) => row.split(/ {2,}/).slice(0, 2))).toEqual([
      ["guard", "on"],
      ["protect", "on"],
      ["secrets", "on"],
      ["time", "on"],
      ["bell", "off"],
      ["a-good", "installed"],
      ["broken.json", "skipped"],
    ]);
    expect(headerLines(setup).join("\n")).toContain("plugins guard protect secrets time a-good");
    expect(setup.notices.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^plugin manifest broken\.json was skipped: not valid JSON/),
    );
    await setup.close();
    const { options } = parseArgs([]);
    const { text, failed } = await doctorReport({ options, env: envOf(home), cwd: base, online: false });
    expect(failed).toBe(true);
    expect(text).toMatch(/^ {4,}plugins +guard, protect, secrets, time, a-good$/m);
    expect(text).toMatch(/^FAIL plugins +broken\.json was skipped: not valid JSON/m);
  });

  test("--no-plugins leaves installed ones out too, and doesn't look at them", async () => {
    const setup = await open(homeWith(FILES), ["--no-plugins"]);
    setup.reloadPlugins();
    expect([setup.plugins.plugins, setup.pluginProblems]).toEqual([[], []]);
    await setup.close();
  });
});

test("a plugin installed while a turn runs counts from the next turn on, and a removed one no longer", async () => {
  const home = homeWith({});
  const deploy = { calls: [{ name: "bash", input: { command: "echo deploy to prod" } }] };
  const manifest = manifestText("no-prod", {
    deny: [{ tools: ["bash"], commandPattern: "^echo deploy .*prod", reason: "not from here" }],
  });
  const during: (() => Promise<void> | void)[] = [];
  const server = await startModelServer(async (_, index) => {
    await during[index]?.();
    return index % 2 === 0 ? deploy : { text: "over" };
  });
  const setup = await open(home, ["--yolo"], server);
  const item = { kind: "plugin", name: "no-prod" } as const;
  const outcome = async (): Promise<string[]> => {
    const events: AgentEvent[] = await collect(setup.session.send("go", null, new AbortController().signal));
    return events.flatMap((event) =>
      event.type === "tool-denied" ? [`${event.by}: ${event.reason}`] : event.type === "tool-result" ? ["ran"] : [],
    );
  };
  during[0] = async () => {
    await saveItem(home, { ...item, text: manifest, url: "https://example.test/x" }, new Date(0));
    setup.reloadPlugins();
  };
  expect(await outcome()).toEqual(["ran"]);
  during[2] = async () => {
    await removeItem(home, item);
    setup.reloadPlugins();
  };
  expect(await outcome()).toEqual(["plugin: no-prod: not from here"]);
  expect(await outcome()).toEqual(["ran"]);
  await setup.close();
  await server.close();
});
