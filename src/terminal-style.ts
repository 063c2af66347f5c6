/** What the styles (SGR) in a text do and don't: which it leaves open, whether its line has ended. Pure. */

/** What each closing parameter closes; 0 or nothing closes all. */
const CLOSES: Record<string, RegExp> = {
  "22": /^[12]$/,
  "23": /^3$/,
  "24": /^4$/,
  "27": /^7$/,
  "39": /^(?:3[0-8]|9[0-7])/,
  "49": /^(?:4[0-8]|10[0-7])/,
};

/** Whether the cursor is at the start of a line after `text`; `before`: whether it was. Styles move nothing. */
export function endsLine(text: string, before: boolean): boolean {
  const shown = text.slice(-200).replace(/(?:\x1b\[[0-9;]*m)+$/, "");
  return shown === "" ? before : shown.endsWith("\n");
}

/** The sequences that open again what is open at the end of `text`; empty when nothing is. */
export function openStyles(text: string): string {
  if (!text.includes("\x1b[")) return "";
  let open: string[] = [];
  for (const [, params = ""] of text.matchAll(/\x1b\[([0-9;]*)m/g)) {
    const closes = CLOSES[params];
    if (params === "" || params === "0") open = [];
    else if (closes) open = open.filter((style) => !closes.test(style));
    else open.push(params);
  }
  return open.map((style) => `\x1b[${style}m`).join("");
}
