/** The places a path leads through: every name that is looked up on the way, links included. Whoever can replace one of them decides where it ends. */
import { lstatSync, readlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { errnoOf } from "./errors.ts";
import { isWithin } from "./path-facts.ts";

/** As many as the kernel follows. */
const MAX_LINKS = 40;

/** Each name by the real path of the directory it is in, from the root on. `path` is absolute; what isn't there is taken as written. */
export function stationsOf(path: string): string[] {
  const left = partsOf(path);
  const found: string[] = [];
  let at = "/";
  let links = MAX_LINKS;
  for (let part = left.shift(); part !== undefined; part = left.shift()) {
    if (part === "..") at = dirname(at);
    if (part === "..") continue;
    const here = join(at, part);
    found.push(here);
    const target = links > 0 ? targetOf(here) : null;
    if (target === null) at = here;
    else {
      links--;
      left.unshift(...partsOf(target));
      if (target.startsWith("/")) at = "/";
    }
  }
  return found;
}

/** The first of `directories` with a name in it that `path` leads through, although it ends elsewhere, at `real`. */
export function ledThrough(path: string, real: string, directories: readonly string[]): string | undefined {
  const elsewhere = directories.filter((one) => !isWithin(one, real));
  if (elsewhere.length === 0) return undefined;
  const stations = stationsOf(path);
  return elsewhere.find((one) => stations.some((station) => station !== one && isWithin(one, station)));
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

function targetOf(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch (error) {
    // Not there, or not ours to look at: nothing to follow.
    if (errnoOf(error) !== undefined) return null;
    throw error;
  }
}
