/** What the text between `$'` and `'`, or between backticks, stands for. Nothing else of quoting. */

const SIMPLE: Record<string, string> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "?": "?",
};

const ESCAPE =
  /\\(?:([0-7]{1,3})|x\{([0-9a-fA-F]+)\}?|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c([\s\S])|([\s\S]))/g;

/**
 * Decodes the text between `$'` and `'` as bash(1) "QUOTING" lists it. A NUL ends the string, as it does there.
 * Bytes above 0x7f written as octal or hex become the character of that number: close enough to compare names, not exact for UTF-8 spelt in bytes.
 */
export function decodeAnsi(body: string): string {
  const text = body.replace(ESCAPE, (whole: string, ...groups: (string | undefined)[]) => {
    const [octal, braced, hex, short, long, control, other] = groups;
    if (octal) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
    if (braced) return String.fromCharCode(Number.parseInt(braced.slice(-2), 16));
    const digits = hex ?? short ?? long;
    if (digits) return codePoint(digits);
    if (control) return String.fromCharCode(control.charCodeAt(0) & 0x1f);
    return SIMPLE[other ?? ""] ?? whole;
  });
  const nul = text.indexOf("\0");
  return nul < 0 ? text : text.slice(0, nul);
}

function codePoint(digits: string): string {
  const code = Number.parseInt(digits, 16);
  return code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
}

/** Between backticks a continued line is joined even inside quotes, and a backslash quotes only these characters. */
export function unescapeBackticks(raw: string, inDouble: boolean): string {
  const quoted = inDouble ? '$`\\"' : "$`\\";
  return raw.replace(/\\([\s\S])/g, (whole, char: string) =>
    char === "\n" ? "" : quoted.includes(char) ? char : whole,
  );
}
