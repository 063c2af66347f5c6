/** Images before they enter a history: what is left alone, scaled down, or told in words. */
import { describe, expect, test } from "bun:test";
import { crc32, deflateSync } from "node:zlib";
import { fitImages } from "../src/image-fit.ts";
import type { ImagePart, ResultPart } from "../src/types.ts";

const MAX_BASE64 = 5_000_000;

/** A picture of one colour, or of noise that no compression shrinks; `lines` of it, where that isn't its height. */
function png(width: number, height: number, noise = false, lines = height): Buffer {
  const rows = Buffer.alloc((width * 3 + 1) * lines);
  if (noise) {
    let state = 7;
    for (let at = 0; at < rows.length; at++) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      rows[at] = at % (width * 3 + 1) === 0 ? 0 : state >>> 24;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const data = deflateSync(rows, { level: noise ? 0 : 9 });
  return Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk("IHDR", header),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const framed = Buffer.alloc(12 + data.length);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), 8 + data.length);
  return framed;
}

const image = (data: Buffer, mediaType = "image/png"): ImagePart => ({
  type: "image",
  mediaType,
  data: data.toString("base64"),
});

async function sizeOf(part: ResultPart | undefined): Promise<[number, number]> {
  if (part?.type !== "image") throw new Error(`no image but ${JSON.stringify(part)}`);
  const { width, height } = await new Bun.Image(Buffer.from(part.data, "base64")).metadata();
  return [width, height];
}

describe("an image that fits", () => {
  test("goes on to the byte, between the texts it stood between", async () => {
    const parts: ResultPart[] = [{ type: "text", text: "a" }, image(png(20, 30)), { type: "text", text: "b" }];
    expect(await fitImages(parts)).toEqual(parts);
  });

  test("is named for what it is, whatever it was called", async () => {
    const jpeg = Buffer.from(await new Bun.Image(png(20, 30)).jpeg().bytes());
    expect(await fitImages([image(jpeg, "image/png")])).toEqual([image(jpeg, "image/jpeg")]);
  });
});

describe("an image that is too large is scaled down, and the model is told", () => {
  test.each([
    ["wider than providers take", png(9000, 100), "[image scaled down from 9000x100 to "],
    ["taller than they take once there are many", png(1290, 2796), "[image scaled down from 1290x2796 to "],
  ])("%s", async (_, data, said) => {
    const [part, told] = await fitImages([image(data)]);
    expect(Math.max(...(await sizeOf(part)))).toBeLessThanOrEqual(2000);
    expect(told).toMatchObject({ type: "text", text: expect.stringContaining(said) });
  });

  test("of more bytes than providers take, though of few pixels", async () => {
    const data = png(1300, 1300, true);
    expect(data.length).toBeGreaterThan(MAX_BASE64);
    const [part] = await fitImages([image(data)]);
    if (part?.type !== "image") throw new Error("no image");
    expect(part.data.length).toBeLessThan(MAX_BASE64);
    expect(await sizeOf(part)).toEqual([1300, 1300]);
  });
});

describe("what is no usable image becomes a note", () => {
  test.each([
    ["base64 of something else", image(Buffer.from("hello, world")), "no readable image"],
    ["text that is no base64", { ...image(png(1, 1)), data: "!!!" }, "no readable image"],
    ["nothing", { ...image(png(1, 1)), data: "" }, "no readable image"],
    ["a large one that breaks off", image(png(2500, 300, true).subarray(0, 20_000)), "could not be scaled down"],
    ["a canvas that would fill the memory", image(png(20_000, 20_000, false, 100)), "no readable image"],
  ])("%s", async (_, part, why) => {
    const fitted = await fitImages([part]);
    expect(fitted).toHaveLength(1);
    expect(fitted[0]).toMatchObject({ type: "text", text: expect.stringContaining(why) });
  });
});
