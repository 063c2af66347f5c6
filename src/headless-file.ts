/** `-o FILE`: the last message into a file, whole or not at all. Devices and pipes are written to, never replaced. */
import { realpathSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { UserError, messageOf } from "./errors.ts";
import { createFile, replaceFile, statIfAny } from "./text-file-write.ts";

/** Refuses, before anything is spent, a path that can't become a file. Throws UserError. */
export function checkLastMessageFile(path: string): void {
  if (path === "" || isDirectory(path)) throw new UserError(`-o needs the name of a file, not "${path}"`);
  if (!isDirectory(dirname(path))) throw new UserError(`-o ${path}: there is no directory ${dirname(path)}`);
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // not there, behind a file, or not ours to look at: no place for a file in any case
  }
}

/** Writes the text with one final newline. A link stays, and what it leads to is written. Throws UserError. */
export async function writeLastMessage(path: string, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text === "" || text.endsWith("\n") ? text : `${text}\n`);
  try {
    const target = statSync(path, { throwIfNoEntry: false });
    if (target?.isFile()) replaceFile(realpathSync(path), bytes);
    else if (target === undefined && statIfAny(path) === null) createFile(path, bytes);
    else await writeFile(path, bytes);
  } catch (error) {
    throw new UserError(`-o ${path} could not be written: ${messageOf(error)}`, { cause: error });
  }
}
