/** JSON that is equal for inputs that differ only in the order of their keys. For comparing calls; nothing is parsed or stored here. */
import type { Json } from "./types.ts";

/** JSON with sorted keys. What JSON can't hold (`undefined`) is `null`. */
export function canonicalJson(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`).join(",")}}`;
}
