/** Makes images what every endpoint takes before they enter a history that can't be changed afterwards. Knows no provider and no tool. */
import type { ImagePart, ResultPart, TextPart } from "./types.ts";

// Anthropic refuses 8000 pixels a side, and 2000 once a request holds more than twenty images; more is scaled away anyway.
const MAX_SIDE = 2000;
// The strictest limit is 5 MB of base64.
const MAX_BYTES = 3_700_000;
// A small file may claim a canvas that fills the memory.
const MAX_PIXELS = 120_000_000;
const SMALLER_SIDE = 1000;
const JPEG_QUALITY = 80;

/** The parts with each image scaled down where it is too large, or replaced by a note where it can't be. Never throws for bad images. */
export async function fitImages(parts: readonly ResultPart[]): Promise<ResultPart[]> {
  const fitted = await Promise.all(parts.map((part) => (part.type === "image" ? fitImage(part) : [part])));
  return fitted.flat();
}

async function fitImage(image: ImagePart): Promise<ResultPart[]> {
  const bytes = Buffer.from(image.data, "base64");
  const size = await sizeOf(bytes);
  if (size === null) return [note("the data is no readable image")];
  const shown = `${size.width}x${size.height}`;
  const mediaType = `image/${size.format}`;
  if (!/^image\/(png|jpeg|gif|webp)$/.test(mediaType)) return [note(`${mediaType} is not a type that models take`)];
  const fits = Math.max(size.width, size.height) <= MAX_SIDE && bytes.length <= MAX_BYTES;
  if (fits) return [{ ...image, mediaType }];
  const smaller = await scaleDown(bytes, size.format === "png");
  if (smaller === null) return [note(`${shown}, ${bytes.length} bytes: too large, and it could not be scaled down`)];
  const { width, height, part } = smaller;
  return [part, { type: "text", text: `[image scaled down from ${shown} to ${width}x${height}]` }];
}

const note = (why: string): TextPart => ({ type: "text", text: `[image left out: ${why}]` });

async function sizeOf(bytes: Uint8Array): Promise<{ width: number; height: number; format: string } | null> {
  try {
    return await new Bun.Image(bytes, { maxPixels: MAX_PIXELS }).metadata();
  } catch {
    return null; // Whatever is wrong with it, no model could read it either.
  }
}

/** PNG stays PNG, for the sake of text, while that is small enough. */
async function scaleDown(
  bytes: Uint8Array,
  keepPng: boolean,
): Promise<{ width: number; height: number; part: ImagePart } | null> {
  const tries = [...(keepPng ? [[MAX_SIDE, "png"] as const] : []), [MAX_SIDE, "jpeg"], [SMALLER_SIDE, "jpeg"]] as const;
  for (const [side, format] of tries) {
    const made = await encode(bytes, side, format);
    if (made === null) return null;
    if (made.length > MAX_BYTES) continue;
    const size = await sizeOf(made);
    if (size === null) return null;
    const part = { type: "image", mediaType: `image/${format}`, data: Buffer.from(made).toString("base64") } as const;
    return { width: size.width, height: size.height, part };
  }
  return null;
}

async function encode(bytes: Uint8Array, side: number, format: "png" | "jpeg"): Promise<Uint8Array | null> {
  const image = new Bun.Image(bytes, { maxPixels: MAX_PIXELS }).resize(side, side, {
    fit: "inside",
    withoutEnlargement: true,
  });
  try {
    return await (format === "png" ? image.png() : image.jpeg({ quality: JPEG_QUALITY })).bytes();
  } catch {
    return null; // Its header was fine and the rest is not.
  }
}
