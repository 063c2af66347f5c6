/** Text work on its own: styling, sanitising, editing, completing. Rates to watch, against a copy of the same bytes or the plainest way to do it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PathIndex } from "../src/complete-paths.ts";
import { MarkdownStream } from "../src/markdown.ts";
import { SanitizeStream, sanitize } from "../src/sanitize.ts";
import { editFileTool } from "../src/tool-edit.ts";
import { readFileTool } from "../src/tool-read.ts";
import { interleaved, median, timed, type Figure, type Group } from "./bench-measure.ts";
import { runTool, toolContext } from "./bench-tools.ts";

const ROUNDS = 5;
const TEXT_MB = 4;
const EDIT_MB = 5;
const PATHS = 100_000;
const COMPLETION_LIMIT_MS = 50;

export const text: Group = {
  name: "text",
  about: `${TEXT_MB} MB of Markdown in pieces of 64 characters; a file of ${EDIT_MB} MB; ${PATHS.toLocaleString("en")} paths`,
  run: measure,
};

async function* measure(folder: string): AsyncGenerator<Figure> {
  const pieces = markdownPieces();
  const times = await interleaved(ROUNDS, {
    markdown: () => timed(() => styled(pieces)),
    stream: () => timed(() => pieces.map(pushTo(new SanitizeStream()))),
    whole: () => timed(() => sanitize(pieces.join(""))),
  });
  const rate = (ms: number): number => TEXT_MB / (ms / 1000);
  yield { what: "markdown, as it streams", value: rate(times.markdown), unit: "MB/s", baseline: null };
  yield { what: "sanitiser, as it streams", value: rate(times.stream), unit: "MB/s", baseline: null };
  yield { what: "sanitiser, at once", value: rate(times.whole), unit: "MB/s", baseline: null };
  yield* editing(folder);
  yield* completing();
}

function pushTo(stream: SanitizeStream): (piece: string) => string {
  return (piece) => stream.push(piece);
}

function styled(pieces: readonly string[]): void {
  const stream = new MarkdownStream({ colour: true, ascii: false });
  for (const piece of pieces) stream.push(piece);
  stream.end();
}

function markdownPieces(): string[] {
  const part =
    "\n## Part\n\nThe boundary is wrong when the **last page** is `partly` filled: _see_ [here](https://example.com).\n\n- read\n- run `sh test.sh`\n\n```sh\npages() { echo $1; }\n```\n";
  return part.repeat(Math.ceil((TEXT_MB * 1e6) / part.length)).match(/[^]{1,64}/g) ?? [];
}

/** One line in the middle of a large file, against reading, replacing and writing it. */
async function* editing(folder: string): AsyncGenerator<Figure> {
  const path = join(folder, "large.ts");
  const line = "export const value = 1234567890; // a line like any other\n";
  const half = line.repeat((EDIT_MB * 1e6) / line.length / 2);
  writeFileSync(path, `${half}before\n${half}`);
  const context = toolContext(folder, folder, {});
  const flip = { from: "before", to: "after" };
  const turn = (): void => void ([flip.from, flip.to] = [flip.to, flip.from]);
  await runTool(readFileTool, { path: "large.ts" }, context);
  const times = await interleaved(ROUNDS, {
    tool: () =>
      timed(async () => {
        await runTool(editFileTool, { path: "large.ts", oldString: flip.from, newString: flip.to }, context);
        turn();
      }),
    plain: () =>
      timed(() =>
        writeFileSync(
          join(folder, "copy.ts"),
          readFileSync(path, "utf8").replace("1", () => "1"),
        ),
      ),
  });
  const baseline = { what: "read, replace, write", value: times.plain };
  yield { what: "edit_file", value: times.tool, unit: "ms", baseline };
}

async function* completing(): AsyncGenerator<Figure> {
  const paths = Array.from({ length: PATHS }, (_, at) => `part-${at % 97}/group-${at % 1009}/file-${at}.ts`);
  const index = new PathIndex(async () => paths, { now: () => performance.now(), after: () => () => {} });
  await index.find("part");
  const typed = ["part-9", "part-96/group-1", "file-99999", "zzz", "group-100"];
  const taken: number[] = [];
  for (const one of [...typed, ...typed, ...typed]) taken.push(await timed(() => index.find(one)));
  const limit = { what: "the limit", value: COMPLETION_LIMIT_MS };
  yield { what: "@ completion, after the first walk", value: median(taken), unit: "ms", baseline: limit };
}
