/** Finds a run of lines among a file's lines, exactly or blind to some white space, in time that grows with neither chunks × file nor repetition. Pure. */

/** A line as it is compared. Each form is one function, made once: what was worked out for it is kept by its identity. */
export type Form = (line: string) => string;

interface View {
  lines: string[];
  /** Ascending. */
  places: Map<string, number[]>;
}

export class LineFinder {
  readonly #lines: readonly string[];
  readonly #views = new Map<Form, View>();

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  /** Index of the first line at or behind `from` where all of `wanted` stand; null when they stand nowhere. */
  first(wanted: readonly string[], from: number, form: Form): number | null {
    const view = this.#view(form);
    const formed = wanted.map(form);
    const rarest = rarestOf(formed, view);
    if (rarest === null) return null;
    const candidates = rarest.places.length * formed.length;
    // Every line of a chunk may be one that stands everywhere.
    return candidates <= view.lines.length * 2 ? firstOf(rarest, formed, from, view) : scan(formed, from, view);
  }

  /** Whether all of `wanted` stand at `at`. */
  standsAt(wanted: readonly string[], at: number, form: Form): boolean {
    return wanted.every((line, index) => {
      const there = this.#lines[at + index];
      return there !== undefined && form(there) === form(line);
    });
  }

  #view(form: Form): View {
    const known = this.#views.get(form);
    if (known) return known;
    const view: View = { lines: this.#lines.map(form), places: new Map() };
    view.lines.forEach((line, index) => {
      const places = view.places.get(line);
      if (places) places.push(index);
      else view.places.set(line, [index]);
    });
    this.#views.set(form, view);
    return view;
  }
}

interface Rarest {
  places: readonly number[];
  /** Its index among the wanted lines. */
  offset: number;
}

/** Null when one of the lines stands nowhere. */
function rarestOf(wanted: readonly string[], view: View): Rarest | null {
  let rarest: Rarest = { places: [], offset: 0 };
  for (const [offset, line] of wanted.entries()) {
    const places = view.places.get(line);
    if (!places) return null;
    if (offset === 0 || places.length < rarest.places.length) rarest = { places, offset };
  }
  return rarest;
}

function firstOf(rarest: Rarest, wanted: readonly string[], from: number, view: View): number | null {
  for (const place of rarest.places) {
    const start = place - rarest.offset;
    if (start >= from && wanted.every((line, index) => view.lines[start + index] === line)) return start;
  }
  return null;
}

/** Knuth, Morris and Pratt: no line of the file is looked at twice, however much the wanted ones repeat themselves. */
function scan(wanted: readonly string[], from: number, view: View): number | null {
  const back = borders(wanted);
  let matched = 0;
  for (let at = from; at < view.lines.length; at++) {
    while (matched > 0 && view.lines[at] !== wanted[matched]) matched = back[matched - 1] ?? 0;
    if (view.lines[at] === wanted[matched]) matched++;
    if (matched === wanted.length) return at - matched + 1;
  }
  return null;
}

/** For each beginning of the wanted lines, how long its longest end is that is a beginning too. */
function borders(wanted: readonly string[]): number[] {
  const lengths = [0];
  let length = 0;
  for (let at = 1; at < wanted.length; at++) {
    while (length > 0 && wanted[at] !== wanted[length]) length = lengths[length - 1] ?? 0;
    if (wanted[at] === wanted[length]) length++;
    lengths.push(length);
  }
  return lengths;
}
