/** A whole session in this process: the real set-up, tools, gate and files in temporary directories; the model is a script or a server. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "../../src/args.ts";
import type { Provider } from "../../src/provider.ts";
import type { AskUser } from "../../src/session-parts.ts";
import { type Notice, setUp, type Setup } from "../../src/setup.ts";
import type { AgentEvent, Message } from "../../src/types.ts";
import { collect } from "./scripted.ts";

export interface StageOptions {
  /** Commands run without the sandbox unless this says "on": in this process its launcher is the whole program as source. */
  config?: Record<string, unknown>;
  files?: Record<string, string>;
  env?: Record<string, string>;
  /** In place of the configured endpoint's. */
  provider?: Provider;
  args?: string[];
  /** False: nobody can be asked. */
  interactive?: boolean;
}

export interface Stage {
  dir: string;
  home: string;
  setup: Setup;
  notices: Notice[];
  path(name: string): string;
  read(name: string): string;
  write(name: string, text: string): void;
  messages(): Message[];
  say(text: string, ask?: AskUser | null, signal?: AbortSignal): Promise<AgentEvent[]>;
  /** A new process: the session is set up again from what is on disk. `kill`: without saving first. */
  resume(options?: { kill?: boolean; args?: string[]; provider?: Provider }): Promise<void>;
}

const places: string[] = [];

/** What a kill at this moment would leave. The session that lives on in this process keeps the old place to itself. */
function snapshot(home: string): string {
  const copy = `${home}+`;
  cpSync(home, copy, { recursive: true });
  for (const lock of new Bun.Glob("**/*.lock").scanSync(copy)) rmSync(join(copy, lock));
  return copy;
}

/** For an `afterAll`. */
export function clearStages(): void {
  for (const place of places.splice(0)) rmSync(place, { recursive: true, force: true });
}

export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "shiro-stage-")));
  places.push(base);
  const [dir, home] = [join(base, "work"), join(base, "home")];
  mkdirSync(dir);
  mkdirSync(home);
  mkdirSync(join(base, "tmp"));
  const config = { sandbox: "off", ...options.config };
  writeFileSync(join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: base,
    TMPDIR: join(base, "tmp"),
    SHIRO_HOME: home,
    SHIRO_PROVIDER: "openai",
    SHIRO_BASE_URL: "http://127.0.0.1:9/v1",
    SHIRO_MODEL: "test-model",
    SHIRO_API_KEY: "canary-key-2718281828",
    ...options.env,
  };
  const notices: Notice[] = [];
  const begin = async (args: string[], provider: Provider | undefined): Promise<Setup> => {
    const { options: parsed } = parseArgs(args);
    const setup = await setUp({
      options: parsed,
      env,
      cwd: dir,
      interactive: options.interactive ?? true,
      onNotice: (notice) => void notices.push(notice),
    });
    notices.push(...setup.notices);
    if (provider) setup.session.setChoice({ ...setup.session.choice, provider });
    return setup;
  };
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  };
  for (const [name, text] of Object.entries(options.files ?? {})) write(name, text);
  const stage: Stage = {
    dir,
    home,
    notices,
    setup: await begin(options.args ?? ["--yolo"], options.provider),
    path: (name) => join(dir, name),
    read: (name) => readFileSync(join(dir, name), "utf8"),
    write,
    messages: () => stage.setup.session.parts.file.record.messages,
    say: (text, ask = null, signal = new AbortController().signal) =>
      collect(stage.setup.session.send(text, ask, signal)),
    async resume({ kill = false, args = ["-c", "--yolo"], provider = options.provider } = {}) {
      if (kill) stage.home = snapshot(stage.home);
      else await stage.setup.close();
      env.SHIRO_HOME = stage.home;
      stage.setup = await begin(args, provider);
    },
  };
  return stage;
}
