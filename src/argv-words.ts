/** A command line as a person types it, in words, and words as a command line. Quotes and backslashes; no variables, no globs, no shell. */

/** The words of a line; null where a quote isn't closed. */
export function splitWords(line: string): string[] | null {
  const words: string[] = [];
  const pattern = /\s*(?:((?:[^\s"'\\]|\\[^]|"(?:[^"\\]|\\[^])*"|'[^']*')+)|(\S))/gy;
  for (const [, word, stray] of line.trimEnd().matchAll(pattern)) {
    if (stray !== undefined) return null;
    words.push(unquoted(word ?? ""));
  }
  return words;
}

/** The words with quotes where they are needed, as a shell would take them. */
export function joinWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

function unquoted(word: string): string {
  return word.replace(/\\([^])|"((?:[^"\\]|\\[^])*)"|'([^']*)'/g, (_, escaped, double, single) => {
    if (escaped !== undefined) return String(escaped);
    if (double !== undefined) return String(double).replace(/\\(["\\$`])/g, "$1");
    return String(single);
  });
}
