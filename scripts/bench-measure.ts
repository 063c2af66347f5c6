/** Measuring for the benchmark: medians of interleaved runs, children with their time and memory, and how a figure is printed. */

export interface Group {
  name: string;
  /** What is measured, against what. */
  about: string;
  /** `folder` is empty, for this group alone; `shared` is every group's. Both are deleted afterwards. */
  run(folder: string, shared: string): AsyncIterable<Figure>;
}

export interface Figure {
  what: string;
  value: number;
  unit: Unit;
  /** In the same unit, from the same run. Null where the figure is a share or a limit explains it. */
  baseline: { what: string; value: number } | null;
}

export type Unit = "ms" | "µs" | "MB" | "MB/s" | "bytes" | "/s" | "count";

export function printFigure({ what, value, unit, baseline }: Figure): void {
  const ratio = baseline === null ? "" : `${round(value / baseline.value)} x ${baseline.what}`;
  const absolute = baseline === null ? "" : ` (${round(baseline.value)} ${unit})`;
  console.log(`  ${what.padEnd(44)} ${`${round(value)} ${unit}`.padStart(14)}   ${ratio}${absolute}`.trimEnd());
}

/** Three digits that mean something; whole numbers above a thousand. */
function round(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error("nothing was measured");
  return middle;
}

/**
 * Medians of several runs of each candidate, taken in turn so that whatever else the machine does falls on all of them.
 * The first round warms caches and is left out.
 */
export async function interleaved<Name extends string>(
  rounds: number,
  candidates: Readonly<Record<Name, () => number | Promise<number>>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(candidates) as Name[]; // the keys are what the type says
  const taken = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++)
    for (const name of names) {
      const value = await candidates[name]();
      if (round > 0) taken.get(name)?.push(value);
    }
  const rows = names.map((name) => [name, median(taken.get(name) ?? [])] as const);
  return Object.fromEntries(rows) as Record<Name, number>; // one row a name
}

/** Milliseconds that `work` takes. */
export async function timed(work: () => unknown): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

export interface ChildOptions {
  env?: Record<string, string>;
  cwd?: string;
}

/** Wall time of a child in milliseconds, from before its start to its end. Throws when it fails. */
export async function childMs(argv: string[], options: ChildOptions = {}): Promise<number> {
  return timed(() => plainChild(argv, options));
}

export function canMeasurePeak(): boolean {
  return process.platform === "linux" && Bun.which("time") !== null;
}

/** Peak resident memory of a child in MB. */
export async function childPeakMb(argv: string[], options: ChildOptions = {}): Promise<number> {
  return (await runChild(argv, options)).peakMb;
}

export interface ChildRun {
  /** User and system, ms. */
  cpuMs: number;
  /** Resident, MB; not a number where it can't be measured. */
  peakMb: number;
}

/**
 * Runs a child to its end. Throws when it fails. Time and memory by GNU time where there is one: what the system tells
 * about our own children won't do, since a new process is charged with its parent's memory until it is another program.
 */
export async function runChild(argv: string[], options: ChildOptions = {}): Promise<ChildRun> {
  if (!canMeasurePeak()) {
    const child = await plainChild(argv, options);
    return { cpuMs: child.cpuMs, peakMb: Number.NaN };
  }
  const { stderr } = await plainChild(["time", "-f", "used %M %U %S", ...argv], options);
  const [, kilobytes, user, system] = /^used (\d+) ([\d.]+) ([\d.]+)$/m.exec(stderr) ?? [];
  if (kilobytes === undefined) throw new Error(`no peak memory in: ${stderr}`);
  return { cpuMs: (Number(user) + Number(system)) * 1000, peakMb: Number(kilobytes) / 1024 };
}

async function plainChild(argv: string[], options: ChildOptions): Promise<{ stderr: string; cpuMs: number }> {
  const child = Bun.spawn(argv, { ...options, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).bytes(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0)
    throw new Error(
      `${argv.join(" ")} ended with ${code}: ${stderr || new TextDecoder().decode(stdout.slice(0, 2000))}`,
    );
  return { stderr, cpuMs: Number(child.resourceUsage()?.cpuTime.total ?? 0n) / 1000 };
}
