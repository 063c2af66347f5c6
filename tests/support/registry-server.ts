/** A registry on loopback whose files a test can change, and a scene that remembers what was shown and asked. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RegistryScene } from "../../src/registry-actions.ts";

type File = string | Uint8Array | ((request: Request) => Response);

export interface RegistryServer {
  url: string;
  /** By path: `/index.json`. */
  files: Record<string, File>;
  paths: string[];
  close(): Promise<void>;
}

/** `listing` becomes /index.json; an entry's url is its path. */
export function startRegistry(files: Record<string, File>): RegistryServer {
  const paths: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url);
      paths.push(pathname);
      const file = registry.files[pathname];
      if (file === undefined) return new Response("nothing here", { status: 404 });
      return typeof file === "function" ? file(request) : new Response(file);
    },
  });
  const url = `http://127.0.0.1:${server.port}/`;
  const registry: RegistryServer = { url, files, paths, close: () => server.stop(true) };
  return registry;
}

export interface TestScene extends RegistryScene {
  /** Everything printed, diffs included, and the questions. */
  shown: string[];
  changes: string[];
}

export function testScene(url: string, answer: boolean | (() => boolean) = true): TestScene {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "shiro-registry-")));
  homes.push(home);
  const shown: string[] = [];
  const changes: string[] = [];
  return {
    home,
    source: { url, env: {} },
    now: () => new Date("2026-03-01T10:00:00Z"),
    print: (text) => void shown.push(text),
    showDiff: (diff) => void shown.push(diff),
    confirm: async (question) => {
      shown.push(question);
      return typeof answer === "boolean" ? answer : answer();
    },
    changed: (kind) => void changes.push(kind),
    shown,
    changes,
  };
}

const homes: string[] = [];

export function removeHomes(): void {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
}

export const skillText = (name: string, body = "Say what changed."): string =>
  `---\nname: ${name}\ndescription: Use when ${name} is wanted.\n---\n${body}\n`;

export const manifestText = (name: string, change: object = {}): string =>
  JSON.stringify(
    {
      name,
      description: "Keeps away from production.",
      deny: [{ tools: ["bash"], commandPattern: "^deploy .*prod", reason: "not from here" }],
      ...change,
    },
    null,
    2,
  );

export const indexText = (entries: object[]): string => JSON.stringify({ version: 1, entries });
