/** Opens the user's own editor on a draft. Lends it the terminal and gives back what was saved. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UserError, messageOf } from "./errors.ts";
import type { Terminal } from "./terminal.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * `$VISUAL`, then `$EDITOR`, then `vi`; each may hold arguments (`code --wait`). The draft lies in a private
 * directory and is removed afterwards. Throws UserError when the editor can't be run or says it failed.
 */
export async function editExternally(text: string, terminal: Terminal, env: Env): Promise<string> {
  const editor = env.VISUAL || env.EDITOR || "vi";
  const directory = await mkdtemp(join(tmpdir(), "shiro-draft-"));
  const file = join(directory, "prompt.md");
  try {
    await writeFile(file, text, { mode: 0o600 });
    const code = await terminal.lend(() => runEditor(editor, file, env));
    if (code !== 0) throw new UserError(`${editor} ended with ${code}; the draft is as it was.`);
    return (await readFile(file, "utf8")).replace(/\r\n?/g, "\n").replace(/\n+$/, "");
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`Could not run the editor "${editor}": ${messageOf(error)}`, { cause: error });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function runEditor(editor: string, file: string, env: Env): Promise<number> {
  // Through a shell, as git does it: the variable holds a command line. The file name is never part of it.
  const child = Bun.spawn(["/bin/sh", "-c", `${editor} "$1"`, "sh", file], {
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
    env: { ...env },
  });
  return child.exited;
}
