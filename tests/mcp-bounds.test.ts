/** What a remote server can make this program hold. */
import { expect, test } from "bun:test";
import { boundedResponse } from "../src/mcp-bounds.ts";

/** The body in pieces; how many of them were read shows in `given`. */
function response(pieces: readonly string[], type: string): { of: Response; given: () => number } {
  let next = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces[next++];
        if (piece === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(piece));
      },
    },
    { highWaterMark: 0 },
  );
  return {
    of: new Response(body, { status: 201, headers: { "content-type": type, "x-more": "kept" } }),
    given: () => next,
  };
}

const STREAM = "text/event-stream; charset=utf-8";

test.each([
  ["an answer as long as the limit", ["12345", "67890"], "application/json"],
  ["events that are long together", ["data: 1\n\n", "data: 2\r\n\r\n", "data: 3\n\n"], STREAM],
  ["an event that ends within a piece", ["data: 1", "2\n\ndata"], STREAM],
])("%s is left as it is", async (_, pieces, type) => {
  const { of } = response(pieces, type);
  const bounded = boundedResponse(of, 11);
  expect([bounded.status, bounded.headers.get("x-more")]).toEqual([201, "kept"]);
  expect(await bounded.text()).toBe(pieces.join(""));
});

test.each([
  ["an answer", "application/json"],
  ["one event", STREAM],
])("%s that goes on is given up: no more of it is read", async (_, type) => {
  const { of, given } = response(
    Array.from({ length: 100 }, () => "0123456789"),
    type,
  );
  await expect(boundedResponse(of, 25).text()).rejects.toThrow("longer than 25 bytes");
  expect(given()).toBeLessThan(6);
});

test("an answer without a body stays one", () => {
  expect(boundedResponse(new Response(null, { status: 204 })).status).toBe(204);
});
