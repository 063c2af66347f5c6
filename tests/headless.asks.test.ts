/** Headless runs in which everything that could wait for a person comes up: all of it is answered without one, by rule or by a script. */
import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { closeBenches, openBench } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";
import { serverEntry } from "./support/mcp-server.ts";
import type { Received, Reply } from "./support/model-server.ts";

const guarded = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => new Response("no", { status: 401, headers: { "www-authenticate": 'Bearer realm="x"' } }),
});
afterAll(async () => {
  await guarded.stop(true);
  await closeBenches();
});

test("a command, a question, a worker, an elicitation, a login, a key command and an untrusted project hold nobody up", async () => {
  const elicit = { message: "how many?", requestedSchema: { type: "object", properties: { n: { type: "integer" } } } };
  const calls: Reply["calls"] = [
    { id: "c1", name: "bash", input: { command: "touch made" } },
    { id: "c2", name: "ask", input: { question: "Which base?", options: [{ label: "a" }, { label: "b" }] } },
    { id: "c3", name: "task", input: { description: "w", prompt: "work", kind: "worker" } },
    { id: "c4", name: "mcp_call", input: { server: "tiny", tool: "elicit", arguments: elicit } },
    { id: "c5", name: "mcp_call", input: { server: "guarded", tool: "any", arguments: {} } },
    { id: "c6", name: "skill", input: { name: "review" } },
    { id: "c7", name: "task", input: { description: "seek", prompt: "look", kind: "explore" } },
  ];
  const script = ({ body }: Received): Reply => {
    const messages = JSON.stringify(body["messages"]);
    if (messages.includes('"content":"look"')) return { text: "I looked." };
    return messages.includes('"role":"tool"') ? { text: "over" } : { calls };
  };
  const at = await openBench(script, {
    files: {
      ".shiro/config.json": '{"permission":{"bash":"allow"},"mcpServers":{"evil":{"command":"touch","args":["evil"]}}}',
    },
    config: {
      // With shiro's own stdin this would wait for its end.
      apiKey: "cmd:cat; echo a-key-from-a-command",
      permission: { bash: { "*": "ask" }, mcp_call: { "*": "allow" } },
      mcpServers: { tiny: serverEntry(), guarded: { url: `http://127.0.0.1:${guarded.port}/mcp` } },
    },
  });
  // stdin stays open, as it does where a terminal or a supervisor holds it.
  const query = { open: true, env: { SHIRO_API_KEY: undefined } };
  const { code, events, stderr } = await at.start(["-p", "go", "--json", "--no-stdin"], query).ended;
  expect(await eventFaults(events)).toEqual([]);
  const outcome = (id: string): [string, string] => {
    const ended = events.find((event) => event["id"] === id && /^tool-(result|error|denied)$/.test(event.type));
    return [String(ended?.type), String(ended?.["output"] ?? ended?.["error"] ?? ended?.["reason"])];
  };
  expect(outcome("c1")).toEqual(["tool-denied", expect.stringContaining("--allow 'bash(touch *)'")]);
  expect(outcome("c2")).toEqual(["tool-error", expect.stringContaining('no tool "ask"')]);
  expect(outcome("c3")).toEqual(["tool-error", expect.stringContaining("explore")]);
  expect(outcome("c4")).toEqual(["tool-result", '{"action":"decline"}']);
  expect(outcome("c5")[1]).toContain("shiro mcp login guarded");
  expect(outcome("c6")[0]).toBe("tool-result");
  expect(outcome("c7")).toEqual(["tool-result", expect.stringContaining("I looked.")]);
  const notices = events.filter((event) => event.type === "notice").map((event) => String(event["message"]));
  expect(notices.join("\n")).toContain("is not trusted and was skipped");
  expect([code, stderr]).toEqual([0, "1 call denied\n"]);
  expect(existsSync(at.path("made")) || existsSync(at.path("evil"))).toBe(false);
  expect(at.server.requests[0]?.headers["authorization"]).toBe("Bearer a-key-from-a-command");
  expect(at.server.faults).toEqual([]);
});

test("a server that never answers is waited for with a word on stderr, then given up", async () => {
  const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const at = await openBench([{ text: "over" }], {
    config: { mcpServers: { silent: { url: `http://127.0.0.1:${silent.port}/mcp`, startTimeoutMs: 3500 } } },
  });
  const { code, stdout, stderr } = await at.run(["-p", "go"]);
  silent.stop(true);
  expect([code, stdout]).toEqual([0, "over\n"]);
  expect(stderr).toStartWith("shiro: waiting for MCP servers: silent (--no-mcp goes without)\n");
  expect(stderr).toContain("was not ready within 3.5 s");
});

/** Approves what writes one.txt and refuses everything else; twenty lines of plain sh. */
const APPROVER = `#!/bin/sh
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkfifo "$dir/answers"
exec 3<>"$dir/answers"
"$@" -p go --approvals jsonl <"$dir/answers" | while IFS= read -r line; do
  case $line in
    *'"type":"approval"'*) ;;
    *'"type":"done"'*) printf '%s\\n' "$line" >last.json; continue ;;
    *) continue ;;
  esac
  id=\${line#*'"id":"'}
  id=\${id%%'"'*}
  case $line in
    *'"command":"touch one.txt"'*) decision=allow ;;
    *) decision=deny ;;
  esac
  printf '{"id":"%s","decision":"%s","message":"said by sh"}\\n' "$id" "$decision" >&3
done
`;

const shell = Bun.which("dash") ?? Bun.which("busybox");
if (shell === null) console.error("SKIPPED: approvals from a plain sh script need dash or busybox");

test.skipIf(shell === null)("a short script in plain sh approves one call and refuses another", async () => {
  const at = await openBench(
    [
      { calls: [{ name: "bash", input: { command: "touch one.txt" } }] },
      { calls: [{ name: "bash", input: { command: "touch two.txt" } }] },
      { text: "over" },
    ],
    { config: { permission: { bash: "ask" } }, files: { "approve.sh": APPROVER } },
  );
  const run = shell?.endsWith("busybox") ? "busybox sh" : "dash";
  expect(await at.run([], { shell: `${run} approve.sh "$@"` })).toMatchObject({ code: 0, stdout: "" });
  expect([existsSync(at.path("one.txt")), existsSync(at.path("two.txt"))]).toEqual([true, false]);
  expect(JSON.parse(readFileSync(at.path("last.json"), "utf8"))).toMatchObject({ exit: 0, reason: "completed" });
  expect(at.server.requests.at(-1)?.text).toContain("said by sh");
});
