/** The interactive loop over a host without a model, in a pseudo-terminal: started, spoken to, and cleared away. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPty, type Pty, type PtyOptions } from "./pty.ts";

export const FAKE = join(import.meta.dir, "fake-repl.ts");
const opened: Pty[] = [];
const directories: string[] = [];

/** For an `afterEach`. */
export function endRepls(): void {
  for (const pty of opened.splice(0)) pty.kill("SIGKILL");
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
}

/** Resolves when the prompt is up. */
export function startRepl(options: PtyOptions = {}, ...args: string[]): Promise<Pty> {
  return startProgram([process.execPath, FAKE, ...args], options);
}

/** The same for a program around it, such as a shell. */
export async function startProgram(argv: string[], options: PtyOptions = {}, prompt = "> "): Promise<Pty> {
  const pty = openPty(argv, options);
  opened.push(pty);
  await pty.expect(prompt, 10_000);
  return pty;
}

export function temp(): string {
  const directory = mkdtempSync(join(tmpdir(), "shiro-repl-"));
  directories.push(directory);
  return directory;
}

/** Sends a prompt and waits for the end of its turn: the figures, then the prompt. */
export async function turn(pty: Pty, text: string): Promise<void> {
  pty.write(`${text}\r`);
  await pty.expect(/ in \([^\n]*\n/);
  await pty.expect("> ");
}

/** What the model was sent, as the host tells it. */
export async function sent(pty: Pty): Promise<string[]> {
  pty.write("/sent\r");
  const line = await pty.expect(/\[".*\](?=\r)/);
  await pty.expect("> ");
  return JSON.parse(line);
}
