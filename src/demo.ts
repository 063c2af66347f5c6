/** `shiro demo`: the whole agent on a tiny broken project, with a scripted model on loopback. Real tools, approvals and streaming; no key, no network. */
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Args } from "./args.ts";
import { DEMO_FILES, DEMO_MODEL, DEMO_PROMPT, startDemoModel } from "./demo-model.ts";
import { openDialog, type AloneDialog } from "./dialog-alone.ts";
import { EXIT, TurnAbort, UserError, messageOf } from "./errors.ts";
import type { Output } from "./output.ts";
import { Renderer } from "./render.ts";
import { sanitize } from "./sanitize.ts";
import type { AskUser } from "./session-parts.ts";
import { setUp, type Setup } from "./setup.ts";
import { systemClock } from "./terminal-process.ts";
import { terminalTraits, type TerminalTraits } from "./terminal-traits.ts";
import { wrapWords } from "./text-wrap.ts";
import { renderTodos } from "./todo.ts";

interface DemoIo {
  stdout: Output;
  stderr: Output;
  env: Record<string, string | undefined>;
  cwd: string;
}

export async function runDemo(args: Args, io: DemoIo): Promise<number> {
  const traits = terminalTraits(io.env, {
    stdinIsTty: process.stdin.isTTY === true,
    stdoutIsTty: process.stdout.isTTY === true,
    platform: process.platform,
    plain: args.options.plain,
  });
  if (!args.options.yes && !process.stdin.isTTY)
    throw new UserError("shiro demo asks for approvals: run it in a terminal, or give --yes");
  if (Bun.which("sh", { PATH: io.env["PATH"] ?? "" }) === null)
    throw new UserError(
      "shiro demo tests its project with sh, and there is none on PATH. Install one and run it again",
    );
  const folder = makeProject();
  const model = startDemoModel();
  const controller = new AbortController();
  const alone = args.options.yes ? null : openDialog(traits, () => controller.abort(new TurnAbort()));
  const own = (text: string): string =>
    traits.plain ? sanitize(text) : wrapWords(sanitize(text), (process.stdout.columns || 80) - 1);
  const print = (text: string): void => (alone ? alone.terminal.screen.write(text) : io.stdout.write(text));
  try {
    print(own(intro(folder.project)));
    const setup = await demoSetup(args, io, folder, model.url);
    try {
      return await play(setup, alone, print, traits, controller);
    } finally {
      await setup.close();
    }
  } finally {
    print(own(`The project is in ${folder.project}; look at it, or delete it.\n`));
    alone?.terminal.screen.flush();
    alone?.close();
    model.stop();
  }
}

function intro(project: string): string {
  return [
    "This is a demonstration: the model is a script inside this program, so no key and no network are needed.",
    "Everything else is real: the tools, the approvals, the streaming over HTTP, the test run.",
    `Project: ${project}`,
    "",
    `> ${DEMO_PROMPT}`,
    "",
    "",
  ].join("\n");
}

function makeProject(): { project: string; home: string } {
  try {
    const base = realpathSync(mkdtempSync(join(tmpdir(), "shiro-demo-")));
    const project = join(base, "project");
    mkdirSync(project);
    for (const [name, text] of Object.entries(DEMO_FILES)) writeFileSync(join(project, name), text);
    return { project, home: join(base, "home") };
  } catch (error) {
    throw new UserError(`The demo project could not be made in ${tmpdir()}: ${messageOf(error)}`, { cause: error });
  }
}

/** A home and an environment of its own: the demo neither reads nor changes the user's configuration. */
async function demoSetup(
  args: Args,
  io: DemoIo,
  folder: { project: string; home: string },
  url: string,
): Promise<Setup> {
  const env = {
    ...io.env,
    SHIRO_HOME: folder.home,
    SHIRO_PROVIDER: "openai",
    SHIRO_BASE_URL: url,
    SHIRO_MODEL: DEMO_MODEL,
    SHIRO_API_KEY: "demo",
    SHIRO_WIRE: undefined,
  };
  const options = {
    ...args.options,
    ephemeral: true,
    memory: false,
    instructions: false,
    yolo: false,
    continue: false,
    resume: null,
  };
  return setUp({
    options,
    env,
    cwd: folder.project,
    interactive: true,
    onNotice: (notice) => io.stderr.write(`shiro: ${sanitize(notice.message)}\n`),
  });
}

async function play(
  setup: Setup,
  alone: AloneDialog | null,
  print: (text: string) => void,
  traits: TerminalTraits,
  controller: AbortController,
): Promise<number> {
  const renderer = new Renderer(
    { write: print, setStatus: (text) => alone?.terminal.screen.setStatus(text) },
    { traits, columns: () => process.stdout.columns || 80, now: systemClock.now, todos: renderTodos },
  );
  const ask: AskUser = async (prompt) => {
    if (alone) {
      renderer.asked(prompt.diff);
      return alone.dialog.approve(prompt);
    }
    // What the sandbox stopped is answered by nobody but a person.
    if (prompt.choices !== undefined) return { decision: "deny" };
    print(sanitize(`approved by --yes: ${prompt.title}\n`));
    return { decision: "once" };
  };
  let exit: number = EXIT.internal;
  let lastRun = "";
  renderer.startTurn();
  for await (const event of setup.session.send(DEMO_PROMPT, ask, controller.signal)) {
    renderer.event(event);
    // Reading the test's source shows these words as well; only running it proves anything.
    if (event.type === "tool-result" && event.name === "bash") lastRun = event.output;
    if (event.type === "done") exit = event.exit;
  }
  renderer.endTurn();
  const passed = lastRun.includes("all tests passed");
  print(`\n${verdict(passed, exit)}\n`);
  return exit === EXIT.done && !passed ? EXIT.denied : exit;
}

function verdict(passed: boolean, exit: number): string {
  if (passed) return "The tests pass.";
  return exit === EXIT.sigint
    ? "Stopped before the tests passed."
    : "The tests don't pass: a step was denied or failed.";
}
