/** Bounds what a remote MCP server can make this program hold: the size of an answer, and of one event of a stream. Reads nothing of what they say. */
import { LINE_BYTES } from "./mcp-lines.ts";
import { Pace } from "./mcp-pace.ts";

/** The response with a body that fails once an answer, or one event of an event stream, is longer than `maxBytes`. */
export function boundedResponse(response: Response, maxBytes = LINE_BYTES): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const { status, statusText, headers } = response;
  return new Response(bounded(response.body, isStream, maxBytes), { status, statusText, headers });
}

/** The part of a reader that the types of Bun and of the web agree on. */
interface ChunkReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

function bounded(source: ReadableStream<Uint8Array>, isStream: boolean, maxBytes: number): ReadableStream<Uint8Array> {
  const reader: ChunkReader = source.getReader();
  const pace = new Pace();
  let held = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      await pace.rest();
      const { done, value } = await reader.read();
      if (done) return controller.close();
      if (!value) return;
      held = (isStream ? sinceEventEnd(value) : null) ?? held + value.length;
      if (held <= maxBytes) return controller.enqueue(value);
      const tooLong = new Error(`the server's answer is longer than ${maxBytes} bytes`);
      controller.error(tooLong);
      await reader.cancel(tooLong);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

// A blank line ends an event. One that two pieces share is missed, which counts some events as one.
const EVENT_ENDS = ["\n\n", "\r\n\r\n", "\r\r"];

/** Bytes after the last end of an event in this piece; null where none ends. */
function sinceEventEnd(bytes: Uint8Array): number | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const ends = EVENT_ENDS.flatMap((mark) => {
    const at = buffer.lastIndexOf(mark);
    return at < 0 ? [] : [at + mark.length];
  });
  return ends.length === 0 ? null : bytes.length - Math.max(...ends);
}
