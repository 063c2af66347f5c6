/** Whether a sed script or an awk program can run commands or write files. Errs towards yes; interprets neither language. */

/** True for `w`, `W`, `e` commands and the `w` and `e` flags of `s`. */
export function runsCodeInSed(script: string): boolean {
  for (let at = 0; at < script.length;) {
    at = skipAddress(script, at);
    const command = script[at] ?? "";
    if ("wWe".includes(command) && command !== "") return true;
    if (command === "s" || command === "y") {
      const end = endOfSubstitution(script, at);
      if (end === null) return true;
      const flags = /^[0-9gipmMIew]*/.exec(script.slice(end))?.[0] ?? "";
      if (command === "s" && /[ew]/.test(flags)) return true;
      at = end + flags.length;
    } else if (command !== "" && "aicrR".includes(command)) at = endOfPiece(script, at, "\n");
    // A label ends at a semicolon too, so what follows it is looked at.
    else if (command !== "" && ":btTv".includes(command)) at = endOfPiece(script, at, "\n;}");
    else at++;
  }
  return false;
}

/** True where the program calls `system`, pipes, redirects its output, reads by `getline` or loads more code. */
export function runsCodeInAwk(program: string): boolean {
  if (/\bsystem\b|\bgetline\b|@\s*(load|include)|@[A-Za-z_]\w*\s*\(/.test(program)) return true;
  const code = program.replace(/\\./g, "__").replace(/"[^"]*"/g, '""');
  if (/\bprintf?\b[^;}\n]*>/.test(code)) return true;
  // Regular expressions go last, and only where no division can stand, so that a pipe can't hide between two slashes.
  const plain = code.replace(/(^|[(,!~&|;{}\n])(\s*)\/[^/\n]*\//g, "$1$2_");
  return /(^|[^|])\|([^|]|$)/.test(plain);
}

function skipAddress(script: string, from: number): number {
  let at = from;
  for (;;) {
    const char = script[at] ?? "";
    if (char === "/" || char === "\\") at = endOfDelimited(script, char === "/" ? at : at + 1) ?? script.length;
    else if (/[\s;{},!0-9$~+]/.test(char)) at++;
    // Address flags of GNU sed, which come right after a closing slash.
    else if ((char === "I" || char === "M") && script[at - 1] === "/") at++;
    else return at;
  }
}

/** Just past the closing delimiter of the piece that opens at `open`; null where it never closes. */
function endOfDelimited(script: string, open: number): number | null {
  const delimiter = script[open];
  if (delimiter === undefined) return null;
  for (let at = open + 1; at < script.length; at++) {
    if (script[at] === "\\") at++;
    else if (script[at] === delimiter) return at + 1;
  }
  return null;
}

function endOfSubstitution(script: string, at: number): number | null {
  const middle = endOfDelimited(script, at + 1);
  return middle === null ? null : endOfDelimited(script, middle - 1);
}

function endOfPiece(script: string, from: number, ends: string): number {
  for (let at = from; at < script.length; at++) if (ends.includes(script[at] ?? "")) return at + 1;
  return script.length;
}
