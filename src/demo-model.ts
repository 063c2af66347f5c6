/** The demo's model: a script that speaks chat completions over real HTTP on loopback. It reads what the tools found; it is no model and says so. */
import type { JsonObject } from "./types.ts";

export const DEMO_MODEL = "scripted-demo";

/** The demo project, file by file. The bug: pages are rounded down, so the last, partly filled one is lost. */
export const DEMO_FILES: Readonly<Record<string, string>> = {
  "README.md":
    "# pages\n\nHow many pages does a list need? `pages ITEMS PER_PAGE`, see pages.sh. `sh test.sh` runs the tests.\n",
  "pages.sh": "# pages ITEMS PER_PAGE: prints how many pages the items fill.\npages() {\n  echo $(($1 / $2))\n}\n",
  "test.sh":
    '. ./pages.sh\nfailed=0\ncheck() {\n  got=$(pages "$1" "$2")\n  if [ "$got" = "$3" ]; then\n    echo "ok   $1 items, $2 per page: $got"\n  else\n    echo "FAIL $1 items, $2 per page: $got, wanted $3"\n    failed=1\n  fi\n}\ncheck 20 10 2\ncheck 21 10 3\ncheck 1 10 1\ncheck 0 10 0\n[ "$failed" = 0 ] && echo "all tests passed"\nexit "$failed"\n',
};

export const DEMO_PROMPT = "The page count is wrong for some lists. Find out why, fix it, and run the tests.";

interface Turn {
  text: string;
  calls: { name: string; input: JsonObject }[];
}

const SCRIPT: readonly Turn[] = [
  {
    text: "I'll read the code and its tests first.",
    calls: [
      { name: "read_file", input: { path: "pages.sh" } },
      { name: "read_file", input: { path: "test.sh" } },
    ],
  },
  {
    text: "Division rounds down here. The tests should show it.",
    calls: [{ name: "bash", input: { command: "sh test.sh" } }],
  },
  {
    text: "As expected: a last, partly filled page is lost. I'll round up.",
    calls: [
      {
        name: "edit_file",
        input: { path: "pages.sh", oldString: "echo $(($1 / $2))", newString: "echo $((($1 + $2 - 1) / $2))" },
      },
    ],
  },
  { text: "Now the tests again.", calls: [{ name: "bash", input: { command: "sh test.sh" } }] },
];

interface ChatMessage {
  role: string;
  content?: unknown;
}

/** Starts the model on a free port of 127.0.0.1. */
export function startDemoModel(): { url: string; stop(): void } {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (request.method !== "POST" || !pathname.endsWith("/chat/completions"))
        return Response.json({ error: { message: `no such path: ${pathname}` } }, { status: 404 });
      const body = (await request.json()) as { messages?: ChatMessage[] }; // our own client wrote it
      return new Response(stream(nextTurn(body.messages ?? [])), { headers: { "content-type": "text/event-stream" } });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/v1`, stop: () => void server.stop(true) };
}

/** Which turn comes next follows from how often the assistant has spoken; the last one from what the tests printed. */
function nextTurn(messages: readonly ChatMessage[]): Turn {
  const spoken = messages.filter((message) => message.role === "assistant").length;
  const turn = SCRIPT[spoken];
  if (turn) return turn;
  const result = String(messages.findLast((message) => message.role === "tool")?.content ?? "");
  return { text: result.includes("all tests passed") ? PASSED : NOT_PASSED, calls: [] };
}

const PASSED =
  "**Fixed.** `pages` in `pages.sh:3` divided and rounded down, so 21 items at 10 per page gave 2 pages. It now rounds up, and all four tests pass.";
const NOT_PASSED =
  "The tests do not pass yet: a step was denied or failed. Run the demo again and allow the steps to see the repair.";

/** Long enough to see the answer arrive, short enough not to be waited for. */
const DELTA_PAUSE_MS = 12;

function stream(turn: Turn): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const chunk = (delta: JsonObject, finish: string | null): Uint8Array =>
    encoder.encode(
      `data: ${JSON.stringify({ id: "demo", object: "chat.completion.chunk", created: 0, model: DEMO_MODEL, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    );
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(chunk({ role: "assistant", content: "" }, null));
      for (const word of turn.text.split(/(?<= )/)) {
        controller.enqueue(chunk({ content: word }, null));
        await new Promise((resolve) => setTimeout(resolve, DELTA_PAUSE_MS));
      }
      turn.calls.forEach((call, index) => {
        const id = `call_${turn.text.length}_${index}`;
        controller.enqueue(
          chunk(
            {
              tool_calls: [
                { index, id, type: "function", function: { name: call.name, arguments: JSON.stringify(call.input) } },
              ],
            },
            null,
          ),
        );
      });
      controller.enqueue(chunk({}, turn.calls.length > 0 ? "tool_calls" : "stop"));
      const usage = { prompt_tokens: 900, completion_tokens: 40, total_tokens: 940 };
      controller.enqueue(
        encoder.encode(
          `data: ${JSON.stringify({ id: "demo", object: "chat.completion.chunk", created: 0, model: DEMO_MODEL, choices: [], usage })}\n\n`,
        ),
      );
      controller.enqueue(encoder.encode("data: [DONE]\n\n"));
      controller.close();
    },
  });
}
