/** The tables of terminal key sequences: xterm, rxvt, Linux console, CSI-u and modifyOtherKeys. Reads finished sequences only; cutting them out of a stream is keys.ts. */

type Named = { text: string } | { id: string };

const CSI_LETTERS: Record<string, string> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  E: "clear",
  F: "end",
  H: "home",
  P: "f1",
  Q: "f2",
  R: "f3",
  S: "f4",
  Z: "shift-tab",
};

const TILDE_NUMBERS: Record<number, string> = {
  1: "home",
  2: "insert",
  3: "delete",
  4: "end",
  5: "pageup",
  6: "pagedown",
  7: "home",
  8: "end",
  11: "f1",
  12: "f2",
  13: "f3",
  14: "f4",
  15: "f5",
  17: "f6",
  18: "f7",
  19: "f8",
  20: "f9",
  21: "f10",
  23: "f11",
  24: "f12",
};

const RXVT_ARROWS: Record<string, string> = { a: "up", b: "down", c: "right", d: "left" };

const SS3_KEYPAD: Record<string, string> = {
  X: "=",
  j: "*",
  k: "+",
  l: ",",
  m: "-",
  n: ".",
  o: "/",
  p: "0",
  q: "1",
  r: "2",
  s: "3",
  t: "4",
  u: "5",
  v: "6",
  w: "7",
  x: "8",
  y: "9",
};

/** Code points that CSI-u gives a name. Those from 57344 on are kitty's private ones. */
const CODE_NAMES: Record<number, string> = {
  8: "backspace",
  9: "tab",
  13: "enter",
  27: "escape",
  32: "space",
  127: "backspace",
  57414: "enter",
  57417: "left",
  57418: "right",
  57419: "up",
  57420: "down",
  57421: "pageup",
  57422: "pagedown",
  57423: "home",
  57424: "end",
  57425: "insert",
  57426: "delete",
};
const KEYPAD_TEXT = "0123456789./*-+";
const KEYPAD_FIRST = 57399;

/** What follows `ESC [`, final byte included. Null for sequences that are no key press. */
export function csiKey(body: string): Named | "paste-start" | null {
  if (body === "200~") return "paste-start";
  if (body.startsWith("[")) return consoleKey(body.slice(1));
  const final = body.at(-1) ?? "";
  // Private markers begin replies to queries; intermediates begin reports.
  if (!/^[0-9;:]*[A-Za-z~^$@]$/.test(body)) return null;
  const params = body.slice(0, -1).split(";");
  if (final === "u") return codeKey(params[0] ?? "", params[1] ?? "", params[2] ?? "");
  if ("~^$@".includes(final)) return numberKey(params, final);
  return letterKey(params, final);
}

/** `ESC [ [`: the Linux console's function keys are letters; some others put a second bracket before page up and down. */
function consoleKey(rest: string): Named | null {
  if (rest.endsWith("~")) return numberKey([rest.slice(0, -1)], "~");
  return { id: `f${rest.charCodeAt(0) - 64}` };
}

/** What follows `ESC O`. */
export function ss3Key(body: string): Named | null {
  const final = body.at(-1) ?? "";
  if (final === "M") return { id: "enter" };
  const keypad = SS3_KEYPAD[final];
  if (keypad !== undefined) return { text: keypad };
  const rxvt = RXVT_ARROWS[final];
  if (rxvt !== undefined) return { id: `ctrl-${rxvt}` };
  return letterKey(["1", body.slice(0, -1)], final);
}

function letterKey(params: string[], final: string): Named | null {
  const rxvt = RXVT_ARROWS[final];
  if (rxvt !== undefined) return { id: `shift-${rxvt}` };
  const name = CSI_LETTERS[final];
  const modifiers = readModifiers(params[1] ?? "");
  if (name === undefined || modifiers === null) return null;
  return { id: modifiers.prefix.replace("shift-", name === "shift-tab" ? "" : "shift-") + name };
}

function numberKey(params: string[], final: string): Named | null {
  const number = Number(params[0]);
  // modifyOtherKeys: 27 ; modifiers ; code ~
  if (number === 27 && params.length === 3) return codeKey(params[2] ?? "", params[1] ?? "", "");
  const name = TILDE_NUMBERS[number];
  const modifiers = readModifiers(params[1] ?? "");
  if (name === undefined || modifiers === null) return null;
  const rxvt = { "~": "", "^": "ctrl-", $: "shift-", "@": "ctrl-shift-" }[final] ?? "";
  return { id: rxvt + modifiers.prefix + name };
}

/** CSI-u: `code[:shifted[:base]] ; modifiers[:event] ; text`. */
function codeKey(codes: string, modifierText: string, typed: string): Named | null {
  const [code = 0, shifted = 0, base = 0] = codes.split(":").map(Number);
  const modifiers = readModifiers(modifierText);
  if (modifiers === null || !isCodePoint(code)) return null;
  const keypad = KEYPAD_TEXT[code - KEYPAD_FIRST];
  const name = CODE_NAMES[code];
  if (modifiers.types && (name === undefined || name === "space")) {
    if (keypad !== undefined) return { text: keypad };
    return isFunctional(code) ? null : { text: textOf(code, shifted, typed, modifiers.shift) };
  }
  if (name === undefined && keypad === undefined && isFunctional(code)) return null;
  return { id: modifiers.prefix + (name ?? keypad ?? letter(code, base)) };
}

function textOf(code: number, shifted: number, typed: string, shift: boolean): string {
  const points = typed
    .split(":")
    .map(Number)
    .filter((point) => isCodePoint(point) && point >= 32);
  if (points.length > 0) return String.fromCodePoint(...points);
  if (shift && isCodePoint(shifted) && shifted >= 32) return String.fromCodePoint(shifted);
  const char = String.fromCodePoint(code);
  return shift ? char.toUpperCase() : char;
}

/** Shortcuts follow the key's place on a Latin layout, so ctrl-c works under a Cyrillic one. */
function letter(code: number, base: number): string {
  const point = code > 127 && isCodePoint(base) && base >= 32 ? base : code;
  return String.fromCodePoint(point).toLowerCase();
}

interface Modifiers {
  prefix: string;
  shift: boolean;
  /** No modifier that makes a shortcut of a letter. */
  types: boolean;
}

/** `1 + bits`, optionally `:event`. Null for a key's release. */
function readModifiers(text: string): Modifiers | null {
  const [value = "", event = ""] = text.split(":");
  if (event === "3") return null;
  // 64 and 128 are caps lock and num lock: states, not intentions.
  const bits = (Math.max(1, Number(value) || 1) - 1) & 0b111111;
  const [shift, alt, ctrl] = [(bits & 1) !== 0, (bits & 2) !== 0, (bits & 4) !== 0];
  const other = (bits & 0b111000) !== 0;
  const prefix = (ctrl ? "ctrl-" : "") + (alt ? "alt-" : "") + (shift ? "shift-" : "") + (other ? "super-" : "");
  return { prefix, shift, types: !ctrl && !alt && !other };
}

function isCodePoint(code: number): boolean {
  return Number.isInteger(code) && code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

function isFunctional(code: number): boolean {
  return code < 32 || (code >= 57344 && code <= 63743);
}
