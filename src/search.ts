/** Searches files for a pattern without other programs, in a worker that can be stopped. Which files, and how hits are shown, is the tool's business. */
import { ToolError } from "./errors.ts";
import {
  clipLine,
  type FileHits,
  type ScanMessage,
  type ScanRequest,
  type ScanSetup,
  scanWorker,
} from "./search-worker.ts";
import type { SearchPattern } from "./search-pattern.ts";

export type { FileHits, Hit } from "./search-worker.ts";

export interface SearchQuery {
  /** Absolute directory the paths are relative to. */
  root: string;
  pattern: SearchPattern;
  ignoreCase: boolean;
  /** Lines shown around a match. */
  context: number;
  signal: AbortSignal;
}

/** Something that searches files in order. */
export interface SearchEngine {
  /** Hits of these files in their order, at most `maxHits` matches of each. Binary and unreadable files have none. */
  scan(paths: readonly string[], maxHits: number): Promise<FileHits[]>;
  close(): void;
}

/** Some patterns take time that doubles with each character. Ten seconds without a sign of life mean such a one. */
const STUCK_MS = 10_000;

/** Starts the worker. Throws ToolError for a pattern JavaScript can't say. `stuckMs` is for tests. */
export function openScan(query: SearchQuery, stuckMs = STUCK_MS): SearchEngine {
  const js = query.pattern.js;
  if (!js) throw new ToolError(`Invalid regex: ${query.pattern.whyNoJs}.`);
  const url = URL.createObjectURL(new Blob([workerSource()], { type: "application/javascript" }));
  const worker = new Worker(url);
  const setup: ScanSetup = {
    root: query.root,
    unicode: js.unicode.source,
    ascii: js.ascii.source,
    flags: js.unicode.flags,
    literal: query.pattern.literal,
    context: query.context,
  };
  worker.postMessage(setup);
  return {
    scan: (paths, maxHits) => ask(worker, { paths: [...paths], maxHits }, query.signal, stuckMs),
    close: () => {
      worker.terminate();
      URL.revokeObjectURL(url);
    },
  };
}

function workerSource(): string {
  return `import * as fs from "node:fs";\n(${scanWorker.toString()})(self, fs, ${clipLine.toString()});`;
}

function ask(worker: Worker, request: ScanRequest, signal: AbortSignal, stuckMs: number): Promise<FileHits[]> {
  const { promise, resolve, reject } = Promise.withResolvers<FileHits[]>();
  const stuck = () =>
    reject(
      new ToolError(
        `The pattern takes too long on some line (stopped after ${stuckMs / 1000} s). Avoid nested repetition such as (a+)+ and leading .*`,
      ),
    );
  let timer = setTimeout(stuck, stuckMs);
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  worker.onerror = (event) => reject(new Error(`The search worker failed: ${event.message}`));
  worker.onmessage = (event: MessageEvent<ScanMessage>) => {
    clearTimeout(timer);
    if (event.data.type === "done") resolve(event.data.files);
    else timer = setTimeout(stuck, stuckMs);
  };
  worker.postMessage(request);
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  });
}
