/** Bytes a terminal gets for a streamed answer, against the same text printed by `cat`, and while nothing happens. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Figure, Group } from "./bench-measure.ts";
import { inTerminal } from "./bench-pty.ts";
import { serveAnswer } from "./bench-server.ts";
import { benchEnvironment } from "./bench-start.ts";
import { root } from "./build.ts";

export const terminal: Group = {
  name: "terminal",
  about: "a streamed answer of prose, lists and code in a pseudo-terminal",
  run: measure,
};

const [BEGIN, END] = ["The answer begins.", "The answer ends."];
/** Long enough for several turns of the indicator. */
const WAIT_MS = 6000;
/** By then what stood above the wait has been written. */
const SETTLED_MS = 500;
const WAITING_LIMIT = 30;

async function* measure(folder: string): AsyncGenerator<Figure> {
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  const text = answerText();
  const shown = await streamed(folder, cwd, text, []);
  writeFileSync(join(folder, "answer.md"), text);
  const printed = await inTerminal(["cat", join(folder, "answer.md")], { cwd, env: process.env }, { until: END });
  const answer = { what: "bytes of the answer", value: bytesOf(answerOf(shown.text)), unit: "bytes" } as const;
  yield { ...answer, baseline: { what: "visible", value: bytesOf(visibleText(answerOf(shown.text))) } };
  yield { ...answer, baseline: { what: "cat", value: bytesOf(answerOf(printed)) } };
  const low = await streamed(folder, cwd, text, ["--low-bandwidth"]);
  const limit = { what: "the limit", value: WAITING_LIMIT };
  yield { what: "bytes a second while waiting", value: shown.waiting, unit: "bytes", baseline: limit };
  yield { what: "the same with --low-bandwidth", value: low.waiting, unit: "bytes", baseline: limit };
}

/** What the program writes for the answer, and bytes a second while it waits for the first of it. */
async function streamed(
  folder: string,
  cwd: string,
  text: string,
  flags: string[],
): Promise<{ text: string; waiting: number }> {
  let from = 0;
  const seen = { text: "" };
  const pieces = text.match(/[^]{1,12}/g) ?? [];
  const settled = (): void => void setTimeout(() => (from = seen.text.length), SETTLED_MS);
  const server = serveAnswer(pieces, { firstMs: WAIT_MS, pauseMs: 2, onRequest: settled });
  try {
    const argv = [process.execPath, join(root, "src/main.ts"), ...flags, "go"];
    const all = await inTerminal(argv, { cwd, env: benchEnvironment(folder, server.url) }, { until: END, seen });
    const waiting = bytesOf(all.slice(from, all.indexOf(BEGIN)));
    return { text: all, waiting: waiting / ((WAIT_MS - SETTLED_MS) / 1000) };
  } finally {
    server.stop();
  }
}

function answerText(): string {
  const paragraph =
    "The boundary is wrong when the last page is **partly filled**: `pages()` divides and rounds _down_, so the rest of the list is lost. See [the manual](https://example.com/manual).";
  const part = (at: number): string =>
    `\n## Part ${at}\n\n${paragraph}\n\n- first, read the code\n- then run \`sh test.sh\`\n\n\`\`\`sh\npages() {\n  echo $((($1 + $2 - 1) / $2))\n}\n\`\`\`\n`;
  return `${BEGIN}\n${Array.from({ length: 20 }, (_, at) => part(at + 1)).join("")}\n${END}\n`;
}

function answerOf(text: string): string {
  return text.slice(text.indexOf(BEGIN), text.indexOf(END));
}

/** Without control sequences, and with line ends as one character. */
function visibleText(shown: string): string {
  return shown.replace(/\x1b\[[0-9;?]*[a-zA-Z]/g, "").replaceAll("\r", "");
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
