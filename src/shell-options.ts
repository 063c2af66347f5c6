/** Where the wrapped command starts among a wrapper's arguments, by the wrapper's table entry. Reads options; runs and judges nothing. */
import type { Arg } from "./shell-types.ts";
import type { Wrapper } from "./shell-wrapper-table.ts";

export interface Reading {
  /** Index of the first word that is neither option nor operand. */
  start: number;
  /** An option nobody knows stood in front, or a word that may be one. */
  unsure: boolean;
  assignments: { name: string; value: string | null }[];
  /** Shell code among the options. */
  code: Arg[];
  /** Short and long options met, without values: `-u`, `--user`. */
  options: Map<string, Arg | null>;
}

/**
 * Every way to read the arguments after `args[0]`. An unknown option may take the next word as its value or not:
 * both are read, and both are unsure.
 */
export function readOptions(args: readonly Arg[], wrapper: Wrapper): Reading[] {
  const reading: Reading = { start: 1, unsure: false, assignments: [], code: [], options: new Map() };
  const others: number[] = [];
  while (reading.start < args.length && readOne(args, wrapper, reading, others));
  const starts = new Set([reading.start, ...others.slice(0, 4)]);
  return [...starts].map((start) => ({ ...reading, start: start + wrapper.operands }));
}

/** Reads one option or assignment; false when the next word is neither, or `--`. */
function readOne(args: readonly Arg[], wrapper: Wrapper, reading: Reading, others: number[]): boolean {
  const arg = args[reading.start];
  if (!arg) return false;
  if (arg.text === "--") {
    reading.start++;
    return false;
  }
  if (arg.value === null && /^["$`]/.test(arg.text)) return skipUnknown(reading, others);
  if (arg.text.startsWith("--")) return readLong(args, arg, wrapper, reading, others);
  if (/^-./.test(arg.text)) return readShort(args, arg, wrapper, reading, others);
  if (arg.text === "-" && wrapper.flags.includes("-")) return Boolean(++reading.start);
  return wrapper.assigns && readAssignment(arg, reading, others);
}

/** A word of unknown text may be options, or nothing: the command may start behind it too. */
function skipUnknown(reading: Reading, others: number[]): boolean {
  others.push(reading.start + 1);
  reading.unsure = true;
  return false;
}

/** env and sudo take any word with `=` in it; whoever doesn't runs it, so that an odd name is read both ways. */
function readAssignment(arg: Arg, reading: Reading, others: number[]): boolean {
  const [, name, value] = /^([^=]*)=([\s\S]*)$/.exec(arg.text) ?? [];
  if (name === undefined) return false;
  if (!/^[A-Za-z_]\w*$/.test(name)) others.push(reading.start);
  reading.assignments.push({ name, value: arg.value === null ? null : (value ?? "") });
  reading.start++;
  return true;
}

function readLong(args: readonly Arg[], arg: Arg, wrapper: Wrapper, reading: Reading, others: number[]): boolean {
  const [name = "", ...rest] = arg.text.split("=");
  const inline = rest.length > 0 ? part(arg, name.length + 1) : null;
  // getopt takes any unambiguous beginning of a long option.
  const among = (names: readonly string[]): boolean => names.some((long) => long.startsWith(name));
  const takes = among(wrapper.long) || among(wrapper.code);
  const value = inline ?? (takes ? (args[reading.start + 1] ?? null) : null);
  reading.options.set(name, value);
  if (value && among(wrapper.code)) reading.code.push(value);
  reading.start += takes && !inline ? 2 : 1;
  if (!takes && !inline && !among(wrapper.longFlags)) markUnsure(reading, others);
  return true;
}

function readShort(args: readonly Arg[], arg: Arg, wrapper: Wrapper, reading: Reading, others: number[]): boolean {
  const index = reading.start++;
  for (let at = 1; at < arg.text.length; at++) {
    const letter = arg.text.charAt(at);
    const isCode = wrapper.code.includes(`-${letter}`);
    if (isCode || wrapper.short.includes(letter)) {
      const value = at + 1 < arg.text.length ? part(arg, at + 1) : (args[reading.start++] ?? null);
      reading.options.set(`-${letter}`, value);
      if (value && isCode) reading.code.push(value);
      return true;
    }
    reading.options.set(`-${letter}`, null);
    if (wrapper.attached.includes(letter)) return true;
    if (!wrapper.flags.includes(letter) && !wrapper.asks.includes(letter))
      return markUnsure(reading, others, index + 2);
  }
  return true;
}

function markUnsure(reading: Reading, others: number[], other = reading.start + 1): boolean {
  reading.unsure = true;
  others.push(other);
  return true;
}

/** The rest of an argument as one of its own. */
function part(arg: Arg, from: number): Arg {
  const text = arg.text.slice(from);
  return { ...arg, text, value: arg.value === null ? null : text, tilde: false };
}
