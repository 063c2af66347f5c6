/** The shell parser is total and linear, whatever it is given. */
import { expect, test } from "bun:test";
import { effectiveCommands, parseShell, upstream } from "../src/shell.ts";
import { parseTree } from "../src/shell-parse.ts";
import { ShellSyntaxError } from "../src/shell-tree.ts";
import { growth } from "./support/growth.ts";
import { rounds } from "./support/rounds.ts";
import { mutated, randomLine } from "./support/shell-lines.ts";
import { randomFrom } from "./support/shell-oracle.ts";

const SEED = Number(process.env.SHELL_SEED ?? 7);

function walkEverything(line: string): number {
  const parsed = parseShell(line);
  if (!parsed.ok) return 0;
  const all = parsed.commands.flatMap((command) => effectiveCommands(command, parsed));
  return all.reduce((sum, effective) => sum + [...upstream(effective.command)].length, all.length);
}

test("random bytes never throw", () => {
  const random = randomFrom(SEED);
  for (let round = 0; round < rounds(500, 2000); round++) {
    const text = Array.from({ length: random(60) }, () =>
      String.fromCharCode(random(4) === 0 ? random(0x10000) : 32 + random(95)),
    ).join("");
    expect(walkEverything(text)).toBeGreaterThanOrEqual(0);
  }
});

test("damaged lines never throw", () => {
  const random = randomFrom(SEED + 1);
  for (let round = 0; round < rounds(350, 1500); round++)
    expect(walkEverything(mutated(random, randomLine(random, 1)))).toBeGreaterThanOrEqual(0);
});

const REPEATED: [string, (count: number) => string][] = [
  ["commands", (count) => "a;".repeat(count)],
  ["pipes", (count) => `a${"|b".repeat(count)}`],
  ["open parentheses", (count) => "(".repeat(count)],
  ["double parentheses", (count) => "((a)(b));".repeat(count)],
  ["nested double parentheses", (count) => `${"$((".repeat(40)}${"a ".repeat(count)}`],
  ["substitutions", (count) => "echo $(a) `b`;".repeat(count)],
  ["braces", (count) => `c ${"{".repeat(count)}`],
  ["brace lists", (count) => `c ${"{a,b}".repeat(count)}`],
  ["quotes", (count) => "''\"\"".repeat(count)],
  ["open subscripts", (count) => "a[;".repeat(count)],
  ["here-documents", (count) => "c <<A\nx\nA\n".repeat(count)],
  ["waiting here-documents", (count) => `c ${"<<A ".repeat(count)}\n${"A\n".repeat(count)}`],
  ["unfinished here-documents", (count) => "c <<A\n".repeat(count)],
  ["nested loops", (count) => `${"for f in a b;do ".repeat(40)}${"A=1;".repeat(count)}${"done;".repeat(40)}`],
  ["unfinished strings in arithmetic", (count) => "$((' ".repeat(count)],
];

test.each(REPEATED)("steps grow with the length of the line, not with its square: %s", (_, repeat) => {
  const [small, large] = [stepsFor(repeat(1000)), stepsFor(repeat(2000))];
  expect(large).toBeLessThanOrEqual(small * 2.2 + 2000);
});

function stepsFor(line: string): number {
  try {
    return parseTree(line).flags.steps;
  } catch (error) {
    if (error instanceof ShellSyntaxError) return 0;
    throw error;
  }
}

test.each<[string, (count: number) => string]>([
  ...REPEATED,
  ["directories", (count) => "cd a;".repeat(count)],
  ["either directory", (count) => "cd a||cd b;".repeat(count)],
  ["doubling values", (count) => `A=aa;${"A=$A$A;".repeat(count)}`],
  ["readings", (count) => `for a in {1..16};do ${"c $a$a;".repeat(count)}done`],
  ["shells that share a here-document", (count) => `{ ${"sh;".repeat(count)}} <<X\n${"ls\n".repeat(count)}X\n`],
  ["shells in a row", (count) => `${"sh|".repeat(count)}sh`],
  ["unknown options", (count) => "sudo --x ".repeat(count)],
  ["redirections around commands", (count) => `{ ${"a;".repeat(count)}} ${">x ".repeat(count)}`],
])("a line is judged in time by its length, not by its square: %s", async (_, repeat) => {
  const judge = (count: number) => {
    const line = repeat(count);
    return () => {
      const parsed = parseShell(line);
      if (parsed.ok) for (const command of parsed.commands) effectiveCommands(command, parsed);
    };
  };
  expect(await growth(judge, rounds(40, 60))).toBeLessThan(8);
});
