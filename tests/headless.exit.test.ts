/** How headless runs end: exit code, last line of stderr, and the events of every failure. */
import { afterAll, describe, expect, test } from "bun:test";
import { type Bench, type BenchOptions, type RunResult, closeBenches, openBench } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";
import { runInside } from "./support/inside.ts";
import type { Reply } from "./support/model-server.ts";

afterAll(closeBenches);

type Run = (at: Bench, args: string[]) => Promise<RunResult>;
const asProgram: Run = (at, args) => at.run(args);

/** What must hold of every failure, in text and in JSON. Events are the same in this process, which costs less than a start. */
async function expectFailure(
  at: Bench,
  args: string[],
  exit: number,
  kind: string | RegExp,
  last: RegExp,
  run: Run = asProgram,
): Promise<RunResult> {
  const text = await run(at, args);
  expect(text.code).toBe(exit);
  expect(text.stderr.trimEnd().split("\n").at(-1)).toMatch(/^shiro: ./);
  expect(text.stderr).toMatch(last);
  expect(text.stderr).not.toMatch(/^\s+at /m);
  const json = await (args.includes("-C") ? at.run([...args, "--json"]) : runInside(at, [...args, "--json"]));
  expect(json.code).toBe(exit);
  expect(await eventFaults(json.events)).toEqual([]);
  expect(json.events.at(-1)).toMatchObject({ type: "done", exit });
  const error = json.events.find((event) => event.type === "error");
  expect(String(error?.kind)).toMatch(typeof kind === "string" ? new RegExp(`^${kind}$`) : kind);
  expect(json.stderr.trimEnd().split("\n").at(-1)).toMatch(/^shiro: ./);
  return text;
}

const refused = (status: number, message: string, more: object = {}): Reply[] => [
  { status, json: { error: { message, ...more } } },
];
const noRetry: BenchOptions = { config: { maxRetries: 0 } };
/** One for each exit code; what the others add is the message. */
const AS_PROGRAM: ReadonlySet<string> = new Set(["401", "500", "404 for the model", "an unknown session"]);

// Not at once: in one process every run would add its listeners for signals.
describe("what the provider says", () => {
  test.each<[string, Reply[], number, string, RegExp]>([
    ["401", refused(401, "Incorrect API key"), 3, "auth", /shiro: .*Incorrect API key/],
    ["402", refused(402, "Insufficient Balance"), 3, "quota", /Insufficient Balance/],
    ["403", refused(403, "not allowed for you"), 3, "auth", /not allowed for you/],
    [
      "429 without quota",
      refused(429, "You exceeded your current quota", { code: "insufficient_quota", type: "insufficient_quota" }),
      3,
      "quota",
      /quota/,
    ],
    ["429 for speed", refused(429, "Slow down"), 4, "rate", /Slow down/],
    ["500", refused(500, "The server had an error"), 4, "server", /server had an error/],
    ["503 without a body", [{ status: 503, body: "" }], 4, "server", /503/],
    [
      "HTML from a proxy",
      [
        {
          status: 502,
          body: "<html><title>Bad Gateway</title>\n<body>x</body></html>",
          headers: { "content-type": "text/html" },
        },
      ],
      4,
      "server",
      /shiro: .*(Bad Gateway|502)/,
    ],
    [
      "HTML with a 200",
      [{ status: 200, body: "<html><h1>Login</h1></html>", headers: { "content-type": "text/html" } }],
      4,
      "content",
      /shiro: .*web page/,
    ],
    ["400", refused(400, "Your request is odd"), 4, "request", /Your request is odd/],
    [
      "404 for the model",
      refused(404, "The model `test-model` does not exist", { code: "model_not_found" }),
      2,
      "request",
      /does not exist/,
    ],
    ["a content filter", [{ text: "", stop: "content_filter" }], 4, "request", /content filter/],
    ["two empty answers", [{ text: "" }], 4, "shape", /empty answer twice/],
  ])("%s", async (name, script, exit, kind, last) => {
    const at = await openBench(script, noRetry);
    const run = AS_PROGRAM.has(name) ? asProgram : runInside;
    const { stdout } = await expectFailure(at, ["-p", "hi"], exit, kind, last, run);
    expect(stdout).toBe("");
    expect(at.server.faults).toEqual([]);
  });

  test("a refusal on the messages wire", async () => {
    const at = await openBench([{ text: "I can't", stop: "refusal" }], { ...noRetry, wire: "anthropic" });
    await expectFailure(at, ["-p", "hi"], 4, "request", /shiro: .*refused to answer/);
  });

  test("nobody listens", async () => {
    const at = await openBench([], noRetry);
    await at.server.close();
    await expectFailure(at, ["-p", "hi"], 4, "network", /127\.0\.0\.1/);
  });

  test("status and request id are in the error event", async () => {
    const at = await openBench([
      { status: 401, json: { error: { message: "no" } }, headers: { "x-request-id": "req_77" } },
    ]);
    const { events } = await at.run(["-p", "hi", "--json"]);
    expect(events.find((event) => event.type === "error")).toMatchObject({
      kind: "auth",
      status: 401,
      requestId: "req_77",
    });
  });

  test("a failure after tool calls keeps stdout empty and the session whole", async () => {
    const at = await openBench(
      [
        { text: "I look.", calls: [{ name: "list_dir", input: {} }] },
        { status: 500, json: { error: { message: "gone" } } },
      ],
      noRetry,
    );
    const { code, stdout, stderr } = await at.run(["-p", "hi"]);
    expect([code, stdout]).toEqual([4, ""]);
    expect(stderr).toMatch(/I look\.[^]*\nshiro: .*gone.*\n$/);
  });

  test("a stream cut in the middle prints what was said", async () => {
    const choices = [{ index: 0, delta: { content: "half an answer" }, finish_reason: null }];
    const chunk = { id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices };
    const at = await openBench([{ raw: `data: ${JSON.stringify(chunk)}\n\n` }], noRetry);
    await expectFailure(at, ["-p", "hi"], 4, "network", /shiro: ./);
    expect((await at.run(["-p", "hi"])).stdout).toBe("half an answer\n");
  });
});

describe("what the command line says", () => {
  test.each<[string, string[], RegExp]>([
    ["an unknown session", ["-p", "hi", "-r", "0000"], /No session begins with "0000"/],
    ["no session to continue", ["-p", "hi", "-c"], /no session of this directory/],
    ["an unknown agent", ["-p", "hi", "--agent", "turbo"], /Unknown agent "turbo".*default, quick, deep, plan, review/],
    ["an unknown provider", ["-p", "hi", "--provider", "acme"], /acme.*anthropic.*openai/],
    ["a directory that isn't there", ["-p", "hi", "-C", "nowhere"], /-C nowhere: there is no such directory$/m],
    [
      "a schema file that isn't there",
      ["-p", "hi", "--schema", "none.json"],
      /--schema none\.json: there is no such file$/m,
    ],
    ["an unreadable rule", ["-p", "hi", "--allow", "bash(git"], /bash\(git/],
    ["an extra directory that isn't there", ["-p", "hi", "--add-dir", "nowhere"], /nowhere/],
  ])("%s", async (name, args, last) => {
    const at = await openBench([{ text: "never" }]);
    const run = AS_PROGRAM.has(name) || args.includes("-C") ? asProgram : runInside;
    const { stdout } = await expectFailure(at, args, 2, /^(?:usage|config)$/, last, run);
    expect(stdout).toBe("");
    expect(at.server.requests).toEqual([]);
  });

  test.each<[string, string[], RegExp]>([
    [
      "an unknown flag, with the nearest",
      ["-p", "hi", "--jsn"],
      /^shiro: Unknown option --jsn\. Did you mean --json\?/,
    ],
    [
      "an unknown level",
      ["--think", "huge"],
      /^shiro: Unknown thinking level "huge"\. Available: off, low, medium, high, max\n$/,
    ],
    ["several prompts", ["-p", "one", "two"], /quote the prompt/],
    ["a value that is missing", ["-p", "hi", "--model"], /--model needs a value/],
    ["a number that is none", ["-p", "hi", "--max-steps", "many"], /--max-steps needs a positive whole number/],
    ["a time that is none", ["-p", "hi", "--timeout", "soon"], /--timeout needs a time/],
    ["approvals without a prompt", ["--approvals", "jsonl"], /needs a prompt argument/],
    ["approvals with the prompt on stdin", ["--approvals", "jsonl", "-p", "-"], /needs a prompt argument/],
  ])("%s is plain text even with --json", async (_, args, message) => {
    const at = await openBench([]);
    expect(await at.run(["--json", ...args])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(message),
    });
  });

  test("no key anywhere: exit 3, with the two ways to give one", async () => {
    const at = await openBench([], { endpoint: false });
    await expectFailure(at, ["-p", "hi"], 3, "auth", /ANTHROPIC_API_KEY.*\/provider/);
  });

  test("--max-spend-usd without a known price is refused", async () => {
    const at = await openBench([{ text: "never" }]);
    await expectFailure(at, ["-p", "hi", "--max-spend-usd", "1"], 2, "config", /--max-tokens/);
    expect(at.server.requests).toEqual([]);
  });

  test("a config file with a syntax error names line and column, and stays as it is", async () => {
    const at = await openBench([]);
    await Bun.write(`${at.home}/config.json`, '{\n  "model": oops\n}\n');
    await expectFailure(at, ["-p", "hi"], 2, "config", /config\.json.*2.*12/);
    expect(await Bun.file(`${at.home}/config.json`).text()).toBe('{\n  "model": oops\n}\n');
  });

  test("an endpoint with one model needs none configured; with several they are listed", async () => {
    const one = await openBench([{ text: "ok" }], { models: ["only"], env: { SHIRO_MODEL: undefined } });
    expect((await one.run(["-p", "hi"], { env: { SHIRO_MODEL: undefined } })).code).toBe(0);
    expect(one.server.requests[0]?.body.model).toBe("only");
    const two = await openBench([], { models: ["a-model", "b-model"] });
    const { code, stderr } = await two.run(["-p", "hi"], { env: { SHIRO_MODEL: undefined } });
    expect(code).toBe(2);
    expect(stderr).toMatch(/shiro: .*a-model, b-model/);
    expect(await two.run(["models", "B-"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^b-model\b.*\n$/),
    });
    expect(JSON.parse((await two.run(["models", "a-m", "--json"])).stdout)).toMatchObject([{ id: "a-model" }]);
  });
});
