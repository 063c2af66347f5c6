/** Homes and workspaces of their own for judging policies. Nothing is confined in them. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PolicyPlaces } from "../../src/sandbox-policy.ts";

export type Places = PolicyPlaces & { home: string };

let base: string | null = null;
let count = 0;

/** A home with the given directories, and a workspace beside it. `closePlaces` in an `afterAll` clears them away. */
export function places(...directories: string[]): Places {
  base ??= realpathSync(mkdtempSync(join(tmpdir(), "shiro-policy-")));
  const root = join(base, `case-${count++}`);
  const [home, workspace, stateHome] = [join(root, "home"), join(root, "work"), join(root, "home/.shiro-neko")];
  for (const path of [workspace, stateHome, ...directories.map((name) => join(home, name))])
    mkdirSync(path, { recursive: true });
  return { home, workspace, extraDirs: [], homes: [home], stateHome, readable: () => [] };
}

export function closePlaces(): void {
  if (base !== null) rmSync(base, { recursive: true, force: true });
  base = null;
}
