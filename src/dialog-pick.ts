/** What an answer to a numbered list means: numbers, names, or a filter. Pure. */

export interface Choice<T> {
  value: T;
  label: string;
  detail?: string;
}

export type Picked<T> =
  | { kind: "chosen"; values: T[] }
  /** Several fit: show these. Numbers stay those of the whole list. */
  | { kind: "narrowed"; indexes: number[] }
  | { kind: "none" };

/** `many` takes a list separated by commas or blanks (`1,3`). The first rule that fits wins: number, whole name, only match, filter. */
export function readPick<T>(answer: string, choices: readonly Choice<T>[], many: boolean): Picked<T> {
  const text = answer.trim();
  const words = many ? text.split(/[\s,]+/).filter((word) => word !== "") : [text];
  const found = words.map((word) => pickOne(word, choices));
  const chosen = found.flatMap((indexes) => (indexes.length === 1 ? indexes : []));
  if (words.length > 0 && chosen.length === words.length) return choose([...new Set(chosen)], choices);
  // A name may hold blanks: `1,3` has been tried as a list, now the whole as one.
  const whole = pickOne(text, choices);
  if (whole.length === 1) return choose(whole, choices);
  return whole.length > 1 ? { kind: "narrowed", indexes: whole } : { kind: "none" };
}

function choose<T>(indexes: readonly number[], choices: readonly Choice<T>[]): Picked<T> {
  return { kind: "chosen", values: indexes.flatMap((index) => valueAt(choices, index)) };
}

function valueAt<T>(choices: readonly Choice<T>[], index: number): T[] {
  const choice = choices[index];
  return choice ? [choice.value] : [];
}

function pickOne<T>(word: string, choices: readonly Choice<T>[]): number[] {
  if (word === "") return [];
  const indexes = choices.map((_, index) => index);
  const exact = indexes.filter((index) => choices[index]?.label === word);
  if (exact.length === 1) return exact;
  if (/^\d+$/.test(word)) {
    const index = Number(word) - 1;
    if (choices[index]) return [index];
  }
  const needle = word.toLowerCase();
  const begins = indexes.filter((index) => choices[index]?.label.toLowerCase().startsWith(needle));
  return begins.length === 1 ? begins : indexes.filter((index) => matches(choices[index], needle));
}

function matches<T>(choice: Choice<T> | undefined, needle: string): boolean {
  return choice !== undefined && `${choice.label} ${choice.detail ?? ""}`.toLowerCase().includes(needle);
}
