/** The shell parser against bash itself, on random lines. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { effectiveCommands, parseShell, type Effective, type Parsed } from "../src/shell.ts";
import { rounds } from "./support/rounds.ts";
import { mutated, randomLine } from "./support/shell-lines.ts";
import { argumentListsOf, isAccepted, randomFrom } from "./support/shell-oracle.ts";

const bash = Bun.which("bash");
if (!bash) console.error("SKIPPED: no bash on this machine, so the shell parser was NOT compared with it");

const SEED = Number(process.env.SHELL_SEED ?? 20);
let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "shell-oracle-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What runs by the shell's own hand: programs behind harmless wrappers, of which bash knows `time` and `command`. */
function directOf(parsed: Parsed): Effective[] {
  const all = parsed.ok ? parsed.commands.flatMap((command) => effectiveCommands(command, parsed)) : [];
  return all.filter((effective) => effective.harmless && !effective.transparent && effective.words.length > 0);
}

const valuesOf = ({ args }: Effective): string => JSON.stringify(args.map((arg) => arg.value));
const isExact = ({ args }: Effective): boolean => args.every((arg) => !arg.dynamic && arg.pattern === null);

describe.if(bash !== null)("compared with bash", () => {
  test("every argument list bash runs is found, and every certain one that is found runs", () => {
    const random = randomFrom(SEED);
    const lines = Array.from({ length: rounds(60, 120) }, () => randomLine(random));
    const ran = argumentListsOf(bash ?? "", lines, directory);
    expect(ran.flat().length).toBeGreaterThan(600);
    lines.forEach((line, index) => {
      const found = directOf(parseShell(line));
      const lists = new Set(ran[index]?.map((argv) => JSON.stringify(argv)));
      const exact = new Set(found.filter(isExact).map(valuesOf));
      const loose = new Set(found.filter((effective) => !isExact(effective)).map(({ args }) => args[0]?.value));
      const missing = [...lists].filter((list) => !exact.has(list) && !loose.has(JSON.parse(list)[0]));
      // Builtins and functions run without being looked up, `zz` stands where nothing runs.
      const extra = [...exact].filter((list) => !lists.has(list) && !/^\["(:|echo|break|zz|f\d+)"/.test(list));
      expect({ line, missing, extra }).toEqual({ line, missing: [], extra: [] });
    });
  }, 20_000);

  test("no accident of spelling hides a command: what bash runs is found, or the line is refused", () => {
    const random = randomFrom(SEED + 1);
    // Loops may never end once mutated, and no file is to be written outside of the directory.
    const lines = Array.from({ length: rounds(200, 500) }, () =>
      mutated(random, randomLine(random, random(3)).replaceAll("/dev/null", "null")),
    ).filter((line) => !/while|until|[/\0\x01]|\\1|f\d/.test(line));
    const ran = argumentListsOf(bash ?? "", lines, directory);
    let compared = 0;
    lines.forEach((line, index) => {
      const parsed = parseShell(line);
      const all = parsed.ok ? parsed.commands.flatMap((command) => effectiveCommands(command, parsed)) : [];
      if (!parsed.ok || parsed.runsCode || all.some(({ unknownName }) => unknownName)) return;
      const names = new Set(all.map(({ args }) => args[0]?.value));
      const hidden = ran[index]?.filter(([name]) => !names.has(name ?? ""));
      compared += ran[index]?.length ?? 0;
      expect({ line, hidden }).toEqual({ line, hidden: [] });
    });
    expect(compared).toBeGreaterThan(300);
  }, 20_000);

  test("a line bash accepts is understood, but for what bash looks at only when it runs it", () => {
    const random = randomFrom(SEED + 2);
    // Backticks, bodies of here-documents, `$((` and subscripts are checked late by bash; continued names are refused on purpose.
    const late = /`|\(\(|<<|\$\{[ \t\n|]|\\\n|\[|\$['"]|for \w*\W/;
    const lines = Array.from({ length: rounds(1500, 3000) }, () => mutated(random, randomLine(random, 1))).filter(
      (line) => !late.test(line),
    );
    const refused = lines.filter((line) => !parseShell(line).ok && isAccepted(bash ?? "", line));
    expect(lines.length).toBeGreaterThan(80);
    expect(refused).toEqual([]);
  });
});
