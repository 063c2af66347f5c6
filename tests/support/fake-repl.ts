/** The interactive loop over a host without a model: what a prompt says decides what the turn does. Run it in a pseudo-terminal. */
import { writeSync } from "node:fs";
import { CommandSet } from "../../src/commands.ts";
import { viewCommands } from "../../src/command-view.ts";
import { Channel } from "../../src/channel.ts";
import { TurnAbort } from "../../src/errors.ts";
import { watchCrashes } from "../../src/interactive-crash.ts";
import { type Ask, type Question, type ReplHost, runRepl } from "../../src/repl.ts";
import { indicatorFrames, openTerminal } from "../../src/terminal.ts";
import { processIo, systemClock } from "../../src/terminal-process.ts";
import { terminalTraits } from "../../src/terminal-traits.ts";
import type { AgentEvent, DoneReason } from "../../src/types.ts";

const env = process.env;
let abort = new AbortController();
let running: (() => void) | null = null;
const sent: string[] = [];
const saved: string[] = JSON.parse(env.FAKE_HISTORY ?? "[]");

function done(reason: DoneReason = "completed"): AgentEvent {
  return {
    type: "done",
    exit: reason === "completed" ? 0 : 130,
    reason,
    steps: 1,
    inputTokens: 1200,
    outputTokens: 34,
    cacheReadTokens: 600,
    costUsd: 0.0123,
  };
}

async function* send(text: string, ask: Ask, question: Question): AsyncGenerator<AgentEvent> {
  sent.push(text);
  abort = new AbortController();
  yield { type: "step-start", step: 1 };
  const [word = "", ...rest] = text.split(" ");
  if (word === "long") yield* longAnswer(Number(rest[0]));
  else if (word === "slow") yield* slowAnswer();
  else if (word === "bash") yield* bash(rest.join(" "));
  else if (word === "hang") yield* hang();
  else if (word === "approve") yield* approve(rest.join(" "), ask);
  else if (word === "busy") {
    // Nothing is read meanwhile: what is typed waits in the terminal's driver.
    writeSync(1, "not reading\n");
    const until = performance.now() + 400;
    while (performance.now() < until);
    yield* approve(rest.join(" "), ask);
  } else if (word === "question")
    yield {
      type: "text",
      text: `answer: ${await question({ question: "Which?", options: [{ label: "red" }, { label: "blue" }], multiple: false })}`,
    };
  else if (word === "think") yield* think();
  else if (word === "crash") {
    setTimeout(() => {
      throw new TypeError("a bug\x1b[2J nobody caught");
    });
    yield* hang();
  } else if (word === "fail") throw new TypeError("a bug");
  else yield { type: "text", text: `got ${JSON.stringify(text)}` };
  yield done(abort.signal.aborted ? "interrupted" : "completed");
}

async function* longAnswer(lines: number): AsyncGenerator<AgentEvent> {
  for (let line = 1; line <= lines; line++) {
    yield { type: "text", text: `Line ${line} says **something** about \`code\` and goes on for a while, ` };
    yield { type: "text", text: "as answers do.\n" };
  }
}

/** Writes a piece on each tick until it is stopped; `slow` lines come one by one. */
async function* slowAnswer(): AsyncGenerator<AgentEvent> {
  yield { type: "text", text: "begins" };
  for (let piece = 0; !abort.signal.aborted; piece++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    yield { type: "text", text: piece % 5 === 4 ? ` piece ${piece}\n` : ` piece ${piece}` };
  }
}

async function* hang(): AsyncGenerator<AgentEvent> {
  await new Promise<void>((resolve) => abort.signal.addEventListener("abort", () => resolve()));
}

async function* think(): AsyncGenerator<AgentEvent> {
  yield { type: "reasoning", text: "first I think" };
  yield* hang();
}

async function* bash(command: string): AsyncGenerator<AgentEvent> {
  yield { type: "tool-begin", id: "1", name: "bash", title: command };
  const channel = new Channel<AgentEvent>();
  const child = Bun.spawn(["sh", "-c", command], { stdout: "pipe", stderr: "ignore", stdin: "ignore" });
  running = () => child.kill("SIGKILL");
  const pump = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout)
      channel.push({ type: "tool-output", id: "1", text: decoder.decode(chunk, { stream: true }) });
    channel.close();
  })();
  yield* channel;
  await pump;
  const code = await child.exited;
  running = null;
  yield { type: "tool-result", id: "1", name: "bash", output: "" };
  yield { type: "tool-end", id: "1", name: "bash", outcome: code === 0 ? "ok" : "failed", ms: 12 };
  yield { type: "text", text: "and the turn goes on" };
}

async function* approve(subject: string, ask: Ask): AsyncGenerator<AgentEvent> {
  const answer = await ask({
    tool: "bash",
    title: "run a command",
    subject: JSON.parse(subject),
    rule: 'bash "*": ask',
    grants: [{ text: "npm test", pattern: "npm test *" }],
    diff: null,
    worker: false,
  });
  yield { type: "text", text: `decision ${JSON.stringify(answer)}` };
}

const commands: CommandSet = new CommandSet(() => [
  ...viewCommands(() => commands, { names: () => ["keys"], text: (name) => (name === "keys" ? "about keys" : null) }),
  {
    name: "model",
    args: "[name]",
    summary: "choose a model",
    complete: () => ["alpha-one", "alpha-two"],
    run: (args, ui) => ui.print(`model ${args}`),
  },
  { name: "models", args: "", summary: "list models", run: (_, ui) => ui.print("none") },
  {
    name: "pick",
    args: "",
    summary: "a list",
    async run(_, ui) {
      const choice = await ui.dialog.pick("Colours", [
        { value: 1, label: "red" },
        { value: 2, label: "green" },
        { value: 3, label: "grey" },
      ]);
      ui.print(`picked ${choice}`);
    },
  },
  {
    name: "key",
    args: "",
    summary: "a secret",
    async run(_, ui) {
      ui.print(`secret of ${(await ui.dialog.secret("API key"))?.length ?? "nothing"}`);
    },
  },
  {
    name: "wait",
    args: "",
    summary: "work that takes long and says nothing",
    run: () =>
      new Promise((_, reject) => {
        running = () => reject(new TurnAbort());
      }),
  },
  { name: "sent", args: "", summary: "what was sent", run: (_, ui) => ui.printStyled(`${JSON.stringify(sent)}\n`) },
]);

const host: ReplHost = {
  header: () => ["fake 1.0"],
  farewell: () => ["resume with: fake -r 1"],
  send,
  interruptTurn: () => abort.abort(),
  killCommands() {
    if (!running) return false;
    running();
    return true;
  },
  promptState: () => ({
    variant: env.FAKE_VARIANT ?? "default",
    contextShare: env.FAKE_SHARE ? Number(env.FAKE_SHARE) : null,
  }),
  commands,
  history: { load: async () => saved, append: async (line) => void saved.push(line) },
  paths: async () => ["src/main.ts", "src/loop.ts", "README.md", "docs/loop.md"],
  async runShell(command, _tell, output) {
    const child = Bun.spawn(["sh", "-c", command], { stdout: "pipe", stdin: "ignore" });
    running = () => child.kill("SIGKILL");
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) output(decoder.decode(chunk, { stream: true }));
    const code = await child.exited;
    running = null;
    return { code: child.signalCode ? null : code, signal: child.signalCode ? String(child.signalCode) : null, ms: 5 };
  },
  remember: async (text) => `remembered: ${text}`,
  reasoning: () => "first I think\x1b[2J",
  todos: (todos) => todos.map((todo) => todo.content).join("\n"),
  notices: null,
  close: async () => {
    running?.();
    if (env.FAKE_CLOSED) await Bun.write(env.FAKE_CLOSED, "closed");
  },
};

const traits = terminalTraits(env, {
  stdinIsTty: process.stdin.isTTY ?? false,
  stdoutIsTty: process.stdout.isTTY ?? false,
  platform: process.platform,
  plain: process.argv.includes("--plain"),
});
const stop = new AbortController();
const crashes = watchCrashes(process, {
  debug: env.SHIRO_DEBUG,
  onCrash: () => stop.abort(1),
  write: (text) => void process.stderr.write(text),
});
process.on("SIGTERM", () => stop.abort(143));
process.on("SIGHUP", () => stop.abort(129));
const terminal = openTerminal(processIo(process), traits, await indicatorFrames(traits.ascii));
const code = await runRepl(host, terminal, {
  clock: systemClock,
  env,
  stop: stop.signal,
  ...(env.FAKE_FIRST === undefined ? {} : { firstPrompt: env.FAKE_FIRST }),
});
crashes.stop();
if (crashes.text !== null) writeSync(2, `${crashes.text}\n`);
process.exit(code);
