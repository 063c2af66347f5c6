/** Notices when a server's answer stream ends without the answer, which the SDK would wait for until the time limit. Reads nothing of the messages but that they can be resumed. */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";

/** The SDK gets so long to take out of the stream what had come before its end. */
const SETTLE_MS = 250;

/**
 * Calls `ended` with a request's id a moment after the stream that should carry its answer is over, answered or not.
 * Streams with event ids are left to the SDK, which asks for the rest.
 */
export function watchStreams(fetch: FetchLike, ended: (id: number | string) => void): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    const id = init?.method === "POST" ? idOf(init.body) : null;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    if (id === null || !response.ok || !isStream || response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(
      watched(response.body, () => setTimeout(() => ended(id), SETTLE_MS)),
      { status, statusText, headers },
    );
  };
}

function idOf(body: unknown): number | string | null {
  if (typeof body !== "string") return null;
  const message: unknown = JSON.parse(body); // the SDK wrote it
  if (typeof message !== "object" || message === null || !("id" in message) || !("method" in message)) return null;
  return typeof message.id === "number" || typeof message.id === "string" ? message.id : null;
}

/** The part of a reader that the types of Bun and of the web agree on. */
interface ChunkReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

function watched(source: ReadableStream<Uint8Array>, ended: () => void): ReadableStream<Uint8Array> {
  const reader: ChunkReader = source.getReader();
  let resumable = false;
  const end = (): void => (resumable ? undefined : ended());
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (value) {
          resumable ||= /(?:^|[\r\n])id:/.test(Buffer.from(value).toString("latin1"));
          controller.enqueue(value);
        }
        if (!done) return;
        controller.close();
        end();
      } catch (error) {
        controller.error(error);
        end();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
