/** OpenRouter's `reasoning_details`: put together from deltas, to be sent back as they were. Pure but for the list it fills. */
import type { JsonObject } from "./types.ts";

/** Adds the entries of one delta. Pieces of one text or summary become one entry; encrypted entries stay apart. */
export function appendDetails(list: JsonObject[], pieces: readonly JsonObject[]): void {
  for (const piece of pieces) {
    const last = list.at(-1);
    if (last && continues(last, piece)) list[list.length - 1] = joined(last, piece);
    else list.push(piece);
  }
}

/** The readable part of the entries. */
export function textOfDetails(details: readonly JsonObject[]): string {
  return details.map((entry) => textOf(entry.text) || textOf(entry.summary)).join("");
}

function continues(last: JsonObject, piece: JsonObject): boolean {
  if (piece.type !== last.type || (piece.type !== "reasoning.text" && piece.type !== "reasoning.summary")) return false;
  if (piece.index !== last.index) return false;
  // A signature closes its text.
  if (last.signature) return false;
  return (
    piece.id === undefined || piece.id === null || last.id === undefined || last.id === null || piece.id === last.id
  );
}

function joined(last: JsonObject, piece: JsonObject): JsonObject {
  const whole: JsonObject = { ...last };
  for (const [key, value] of Object.entries(piece)) {
    if (key === "text" || key === "summary") whole[key] = textOf(last[key]) + textOf(value);
    else if (value !== null) whole[key] = value;
  }
  return whole;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
