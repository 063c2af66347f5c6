/** Overwrites keys in this process's own environment block, so that /proc/<pid>/environ doesn't hold them. What the program read of them before stays with it. */
import { dlopen, toArrayBuffer, type Pointer } from "bun:ffi";

/**
 * Overwrites the values of the named variables where the operating system keeps them. Returns the names that are hidden
 * now; the others aren't set, or the platform doesn't allow it. Copy the environment first: children get that copy.
 */
export function hideOwnVariables(
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const present = names.filter((name) => env[name]);
  const library = libraryName(process.platform);
  if (library === null || present.length === 0) return [];
  try {
    const libc = dlopen(library, { getenv: { args: ["cstring"], returns: "ptr" } });
    return present.filter((name) => overwrite(libc.symbols.getenv(Buffer.from(`${name}\0`)), env[name] ?? ""));
  } catch {
    // No such libc (a static build, an odd distribution): the refusal to read /proc/*/environ is still there.
    return [];
  }
}

function overwrite(address: bigint | Pointer | null, value: string): boolean {
  const length = Buffer.byteLength(value);
  if (address === null || length === 0) return false;
  // A user-space address fits a double, which is what Pointer is.
  new Uint8Array(toArrayBuffer(Number(address) as Pointer, 0, length)).fill("x".charCodeAt(0));
  return true;
}

/** Only names that can't be a file of the current directory: dlopen falls back to those. */
function libraryName(platform: NodeJS.Platform): string | null {
  if (platform === "linux") return "libc.so.6";
  return platform === "darwin" ? "/usr/lib/libSystem.B.dylib" : null;
}
