/** What an MCP server answered, as a tool's output: every kind of content has its words, and base64 is never text. Pure; sanitises nothing. */
import type { ToolOutput } from "./tool.ts";
import type { ImagePart, Json } from "./types.ts";

// Providers refuse requests of some 32 MB, and images stay in the history. What is beyond is named, not sent.
const MAX_IMAGES = 20;
const MAX_IMAGE_CHARS = 24 * 1024 * 1024;

interface Taken {
  blocks: string[];
  images: ImagePart[];
  imageChars: number;
  /** Something a model can use: `structuredContent` would only say it again. */
  usable: boolean;
}

/** `result` is the `result` member of the answer to tools/call; whatever is wrong with it becomes a note. Never throws. */
export function outputOfResult(result: Readonly<Record<string, unknown>>): ToolOutput {
  const taken: Taken = { blocks: [], images: [], imageChars: 0, usable: false };
  for (const block of Array.isArray(result.content) ? result.content : []) takeBlock(block, taken);
  const structured = result.structuredContent ?? result.toolResult;
  if (!taken.usable && structured !== undefined && structured !== null) taken.blocks.push(JSON.stringify(structured));
  const text = taken.blocks.join("\n\n");
  return {
    text: text === "" ? "(the tool returned no content)" : text,
    ...(taken.images.length > 0 ? { images: taken.images } : {}),
    ...(result.isError === true ? { isError: true } : {}),
  };
}

function takeBlock(block: unknown, taken: Taken): void {
  if (!isObject(block)) return void taken.blocks.push("[content that is no object was left out]");
  switch (block.type) {
    case "text":
      return takeText(block.text, taken);
    case "image":
      return takeImage({ data: block.data, mediaType: block.mimeType, what: "image" }, taken);
    case "audio":
      return void taken.blocks.push(binaryNote("audio", block.mimeType, block.data));
    case "resource":
      return takeResource(block.resource, taken);
    case "resource_link":
      return takeLink(block, taken);
    default:
      taken.blocks.push(`[content of the unknown type ${JSON.stringify(block.type ?? null)} was left out]`);
  }
}

function takeText(text: unknown, taken: Taken): void {
  if (typeof text !== "string" || text === "") return;
  if (text.trim() !== "") taken.usable = true;
  taken.blocks.push(text);
}

function takeImage(image: { data: unknown; mediaType: unknown; what: string }, taken: Taken): void {
  const { data, mediaType, what } = image;
  const type = typeof mediaType === "string" ? mediaType : "image/png";
  if (typeof data !== "string" || data === "") return void taken.blocks.push(`[${what} without data]`);
  const fits = taken.images.length < MAX_IMAGES && taken.imageChars + data.length <= MAX_IMAGE_CHARS;
  if (!fits) return void taken.blocks.push(binaryNote(what, type, data));
  taken.usable = true;
  taken.imageChars += data.length;
  taken.images.push({ type: "image", mediaType: type, data: plainBase64(data) });
  taken.blocks.push(`[${what}: number ${taken.images.length} of the images below]`);
}

/** Some servers send a whole data: URL, or lines. */
function plainBase64(data: string): string {
  return data.replace(/^data:[^,]{0,200},/, "").replace(/\s+/g, "");
}

function takeResource(resource: unknown, taken: Taken): void {
  if (!isObject(resource)) return void taken.blocks.push("[resource without content]");
  const uri = typeof resource.uri === "string" ? resource.uri : "(no address)";
  const type = typeof resource.mimeType === "string" ? resource.mimeType : null;
  if (typeof resource.text === "string") {
    taken.usable = true;
    return void taken.blocks.push(`[resource ${uri}${type === null ? "" : `, ${type}`}]\n${resource.text}`);
  }
  const image = { data: resource.blob, mediaType: type, what: `resource ${uri}` };
  if (type !== null && /^image\/(png|jpeg|gif|webp)$/i.test(type)) return takeImage(image, taken);
  taken.blocks.push(binaryNote(image.what, type, resource.blob));
}

function takeLink(link: Record<string, unknown>, taken: Taken): void {
  const facts = [link.uri, link.mimeType, link.description].filter((one) => typeof one === "string" && one !== "");
  taken.usable ||= facts.length > 0;
  const name = typeof link.title === "string" ? link.title : link.name;
  taken.blocks.push(`[link to a resource: ${[name, ...facts].filter(Boolean).join(", ")}]`);
}

function binaryNote(what: string, type: unknown, data: unknown): string {
  const size = typeof data === "string" ? `${Math.floor((plainLength(data) * 3) / 4)} bytes` : "no data";
  return `[${what}: ${typeof type === "string" ? `${type}, ` : ""}${size}, not shown]`;
}

function plainLength(data: string): number {
  return data.length - (data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0);
}

function isObject(value: unknown): value is Record<string, Json> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
