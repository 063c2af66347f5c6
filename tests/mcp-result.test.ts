/** What a model gets of a tool call over MCP, by kind of content. */
import { describe, expect, test } from "bun:test";
import { outputOfResult } from "../src/mcp-result.ts";
import type { ToolOutput } from "../src/tool.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image = { type: "image", mediaType: "image/png", data: PIXEL } as const;

describe("a result", () => {
  test.each<[what: string, result: Record<string, unknown>, output: ToolOutput]>([
    [
      "text",
      {
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      { text: "a\n\nb" },
    ],
    ["an error", { content: [{ type: "text", text: "a" }], isError: true }, { text: "a", isError: true }],
    ["structure alone", { content: [], structuredContent: { answer: 42 } }, { text: '{"answer":42}' }],
    [
      "structure beside blank text",
      { content: [{ type: "text", text: " " }], structuredContent: [1] },
      { text: " \n\n[1]" },
    ],
    [
      "structure beside the same as text",
      { content: [{ type: "text", text: '{"a":1}' }], structuredContent: { a: 1 } },
      { text: '{"a":1}' },
    ],
    [
      "structure beside audio",
      { content: [{ type: "audio", mimeType: "audio/wav", data: "AAAA" }], structuredContent: { a: 1 } },
      { text: '[audio: audio/wav, 3 bytes, not shown]\n\n{"a":1}' },
    ],
    [
      "an image in its place",
      {
        content: [
          { type: "text", text: "shot" },
          { type: "image", mimeType: "image/png", data: PIXEL },
          { type: "text", text: "end" },
        ],
      },
      { text: "shot\n\n[image: number 1 of the images below]\n\nend", images: [image] },
    ],
    [
      "an image as a data: URL",
      {
        content: [
          {
            type: "image",
            mimeType: "image/png",
            data: `data:image/png;base64,${PIXEL.slice(0, 40)}\n${PIXEL.slice(40)}`,
          },
        ],
      },
      { text: "[image: number 1 of the images below]", images: [image] },
    ],
    [
      "a resource of text",
      { content: [{ type: "resource", resource: { uri: "a:b", mimeType: "text/plain", text: "words" } }] },
      { text: "[resource a:b, text/plain]\nwords" },
    ],
    [
      "a resource that is an image",
      { content: [{ type: "resource", resource: { uri: "a:b", mimeType: "image/png", blob: PIXEL } }] },
      { text: "[resource a:b: number 1 of the images below]", images: [image] },
    ],
    [
      "a resource of bytes",
      { content: [{ type: "resource", resource: { uri: "a:b", blob: "AAAAAA==" } }] },
      { text: "[resource a:b: 4 bytes, not shown]" },
    ],
    [
      "a link",
      { content: [{ type: "resource_link", name: "n", uri: "a:b", description: "d" }] },
      { text: "[link to a resource: n, a:b, d]" },
    ],
    [
      "the unknown",
      { content: [{ type: "hologram" }, 7, { type: "image" }] },
      {
        text: '[content of the unknown type "hologram" was left out]\n\n[content that is no object was left out]\n\n[image without data]',
      },
    ],
    ["the form of the first protocol", { toolResult: { a: 1 } }, { text: '{"a":1}' }],
    ["nothing", {}, { text: "(the tool returned no content)" }],
  ])("%s", (_, result, output) => expect(outputOfResult(result)).toEqual(output));

  test("more images than a request can hold are named and not sent, and never base64 as text", () => {
    const { images, text } = outputOfResult({
      content: Array(25).fill({ type: "image", mimeType: "image/png", data: PIXEL }),
    });
    expect(images).toHaveLength(20);
    expect(text.match(/not shown/g)).toHaveLength(5);
    expect(text).not.toContain("iVBOR");
  });
});
