/** Real bash as the judge of the shell parser: which argument lists a line runs, and whether it parses. Starts no program but bash itself. */

/** Runs every line in a bash that finds no program at all; the answer holds, for each line, the argument lists it tried to run. */
export function argumentListsOf(bash: string, lines: readonly string[], cwd: string): string[][][] {
  const child = Bun.spawnSync([bash, "--norc", "--noprofile", "-c", DRIVER], {
    stdin: Buffer.from(`${lines.join("\0")}\0`),
    env: { PATH: "/nonexistent", HOME: "/nonexistent" },
    cwd,
    stderr: "ignore",
    timeout: 30_000,
  });
  const found: string[][][] = lines.map(() => []);
  for (const record of child.stdout.toString().split("\x01\0")) {
    const [index, ...argv] = record.split("\0");
    if (index && argv.length > 0)
      found[Number(index)]?.push(argv.slice(0, -1).map((arg) => arg.replaceAll("\x02", "\n")));
  }
  return found;
}

// bash writes line by line, so newlines in arguments are carried as another character: records must not be torn apart.
// Every name goes to the handler, as PATH holds nothing. What the lines themselves print goes nowhere.
const DRIVER = String.raw`
command_not_found_handle() { printf '%s\0' "$AT" "${"$"}{@//$'\n'/$'\x02'}" $'\x01' >&9; }
exec 9>&1 >/dev/null 8<&0
AT=0
while IFS= read -r -d '' LINE <&8; do
  ( exec 8<&-; eval "$LINE" </dev/null; wait ) 2>/dev/null
  AT=$((AT + 1))
done
`;

/** Whether `bash -n` accepts the line. */
export function isAccepted(bash: string, line: string): boolean {
  return Bun.spawnSync([bash, "-n", "-c", line], { stderr: "ignore" }).exitCode === 0;
}

/** Numbers below `limit`, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}
