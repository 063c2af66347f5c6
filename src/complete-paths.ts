/** Workspace paths for `@` completion: a sorted list kept in memory, walked anew behind the user's back. Walks nothing itself. */

type Walk = () => AsyncIterable<string> | Promise<readonly string[]>;

/** A list younger than this is used as it is, … */
const FRESH_MS = 1000;
/** … and one younger than this many walks: completing in a huge tree must not keep the machine busy. */
const FRESH_WALKS = 20;
/** A newer walk gets this long to finish before the older list answers; small trees are always up to date. */
const PATIENCE_MS = 40;
const MAX_RESULTS = 500;

export class PathIndex {
  readonly #walk: Walk;
  readonly #clock: { now(): number; after(ms: number, run: () => void): () => void };
  #paths: readonly string[] | null = null;
  /** The same in lower case, index by index: making it anew for each tab would be most of the work. */
  #lower: readonly string[] = [];
  #walkedAt = 0;
  #walkMs = 0;
  #walking: Promise<void> | null = null;

  constructor(walk: Walk, clock: { now(): number; after(ms: number, run: () => void): () => void }) {
    this.#walk = walk;
    this.#clock = clock;
  }

  /**
   * Paths for what was typed: those that begin with it, cut after the next directory; if there are none, all
   * that contain it. Directories end in a slash. At most 500.
   */
  async find(typed: string): Promise<readonly string[]> {
    const paths = await this.#current();
    const begins = withPrefix(paths, typed);
    return begins.length > 0 ? begins : containing(paths, this.#lower, typed);
  }

  async #current(): Promise<readonly string[]> {
    if (this.#paths && this.#isFresh()) return this.#paths;
    this.#walking ??= this.#refresh();
    // With a list at hand, a walk that fails costs nothing but news: the list answers.
    if (this.#paths) await Promise.race([this.#walking.catch(() => undefined), this.#patience()]);
    else await this.#walking;
    return this.#paths ?? [];
  }

  #isFresh(): boolean {
    return this.#clock.now() - this.#walkedAt < Math.max(FRESH_MS, FRESH_WALKS * this.#walkMs);
  }

  #patience(): Promise<void> {
    return new Promise((resolve) => this.#clock.after(PATIENCE_MS, resolve));
  }

  async #refresh(): Promise<void> {
    const begun = this.#clock.now();
    try {
      const found = new Set<string>();
      // Directories are added as the walk goes: done at its end, it would keep keys waiting in a large tree.
      for await (const path of await this.#walk()) addWithParents(found, path);
      // By code unit, for the binary search.
      this.#paths = [...found].sort();
      this.#lower = this.#paths.map((path) => path.toLowerCase());
      this.#walkedAt = this.#clock.now();
      this.#walkMs = this.#walkedAt - begun;
    } finally {
      this.#walking = null;
    }
  }
}

/** Walkers yield files; their directories are added, each once. */
function addWithParents(all: Set<string>, path: string): void {
  all.add(path);
  // A directory that is known has its ancestors too.
  for (let end = parentEnd(path); end > 0; end = parentEnd(path.slice(0, end))) {
    const directory = path.slice(0, end);
    if (all.has(directory)) break;
    all.add(directory);
  }
}

/** Length of the parent's name with its slash, 0 at the top. */
function parentEnd(path: string): number {
  return path.lastIndexOf("/", path.length - 2) + 1;
}

function withPrefix(paths: readonly string[], typed: string): string[] {
  const found = new Set<string>();
  for (let at = lowerBound(paths, typed); at < paths.length && found.size < MAX_RESULTS; at++) {
    const path = paths[at] ?? "";
    if (!path.startsWith(typed)) break;
    const slash = path.indexOf("/", typed.length);
    const shown = slash < 0 ? path : path.slice(0, slash + 1);
    // What is typed already is no progress: inside `src/` its entries are wanted.
    if (shown !== typed) found.add(shown);
    if (slash >= 0) at = lowerBound(paths, `${shown.slice(0, -1)}0`) - 1;
  }
  return [...found];
}

// "0" is the code unit after "/": everything below a directory sorts before `directory0`.
function lowerBound(paths: readonly string[], key: string): number {
  let [low, high] = [0, paths.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((paths[middle] ?? "") < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function containing(paths: readonly string[], lower: readonly string[], typed: string): string[] {
  const needle = typed.toLowerCase();
  const found: string[] = [];
  for (let at = 0; at < paths.length && found.length < MAX_RESULTS; at++)
    if (lower[at]?.includes(needle)) found.push(paths[at] ?? "");
  return found;
}
