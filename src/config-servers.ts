/** The `mcpServers` of config.json changed on disk, one entry at a time: comments, order and other keys stay. Checks no entry. */
import { readFileSync } from "node:fs";
import { UserError, errnoOf, messageOf } from "./errors.ts";
import { JsoncError, removeNested, setNested } from "./jsonc.ts";
import { writeStore } from "./store.ts";
import { withLock } from "./store-lock.ts";
import type { JsonObject } from "./types.ts";

const KEY = "mcpServers";

/** Adds or replaces an entry. Throws UserError where the file can't be read, parsed or written. */
export async function saveServer(path: string, name: string, entry: JsonObject): Promise<void> {
  await change(path, (text) => setNested(text, KEY, name, entry));
}

/** Takes an entry out. False where there is none. Throws as `saveServer` does. */
export async function removeServer(path: string, name: string): Promise<boolean> {
  let found = false;
  await change(path, (text) => {
    const without = removeNested(text, KEY, name);
    found = without !== text;
    return without;
  });
  return found;
}

async function change(path: string, edit: (text: string) => string): Promise<void> {
  // Two programs that each add a server must not lose the other's.
  const outcome = await withLock(`${path}.lock`, async () => {
    const text = read(path);
    const changed = edited(path, text, edit);
    return changed === text ? null : writeStore(path, changed);
  });
  const problem = "problem" in outcome ? outcome.problem : outcome.value;
  if (problem) throw new UserError(`${path} could not be written: ${problem.reason}`, { kind: "config" });
}

function edited(path: string, text: string, edit: (text: string) => string): string {
  try {
    return edit(text);
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error;
    throw new UserError(`${path}: ${error.message}. Fix it or move it away`, { kind: "config", cause: error });
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return "";
    throw new UserError(`Cannot read ${path}: ${messageOf(error)}`, { kind: "config", cause: error });
  }
}
