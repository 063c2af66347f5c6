/** Changing one MCP server in config.json leaves everything else as it was written. */
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeServer, saveServer } from "../src/config-servers.ts";
import { UserError } from "../src/errors.ts";

const folder = mkdtempSync(join(tmpdir(), "shiro-servers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let next = 0;
function file(text: string | null): string {
  const path = join(folder, `${next++}.json`);
  if (text !== null) writeFileSync(path, text);
  return path;
}

const WRITTEN = `{
  // mine
  "model": "x", // the quick one
  "mcpServers": {
    // for the issues
    "issues": { "url": "https://example.com" }, // remote
    "files": {
      "command": "npx"
    }
  },
  "unknown": [1,2]
}
`;

test("adding and removing keeps comments, order, spacing and unknown keys", async () => {
  const path = file(WRITTEN);
  await saveServer(path, "more", { command: "run", args: ["-x"] });
  expect(readFileSync(path, "utf8")).toBe(
    WRITTEN.replace(
      '"command": "npx"\n    }',
      '"command": "npx"\n    },\n    "more": {\n      "command": "run",\n      "args": [\n        "-x"\n      ]\n    }',
    ),
  );
  expect(await removeServer(path, "more")).toBe(true);
  expect(readFileSync(path, "utf8")).toBe(WRITTEN);
});

test("replacing changes the one entry alone", async () => {
  const path = file(WRITTEN);
  await saveServer(path, "issues", { url: "https://other.example" });
  const text = readFileSync(path, "utf8");
  expect(text).toBe(
    WRITTEN.replace('{ "url": "https://example.com" }', '{\n      "url": "https://other.example"\n    }'),
  );
});

test("a missing file is made, for its owner alone; a missing name changes nothing", async () => {
  const path = file(null);
  expect(await removeServer(path, "none")).toBe(false);
  expect(existsSync(path)).toBe(false);
  await saveServer(path, "one", { command: "a" });
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ mcpServers: { one: { command: "a" } } });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("servers added at the same time are all kept", async () => {
  const path = file(WRITTEN);
  const names = ["a", "b", "c", "d"];
  await Promise.all(names.map((name) => saveServer(path, name, { command: name })));
  const text = readFileSync(path, "utf8");
  for (const name of names) expect(text).toContain(`"command": "${name}"`);
  for (const name of names) await removeServer(path, name);
  expect(readFileSync(path, "utf8")).toBe(WRITTEN);
});

test.each([
  ["{ broken", "line 1"],
  ['{ "mcpServers": [] }', '"mcpServers" must be an object'],
  ["[]", "must hold one object"],
])("%p is refused and left alone", async (text, message) => {
  const path = file(text);
  const attempt = saveServer(path, "a", { command: "a" });
  await expect(attempt).rejects.toThrow(UserError);
  await expect(attempt).rejects.toThrow(message);
  expect(readFileSync(path, "utf8")).toBe(text);
});
