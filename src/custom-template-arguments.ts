/** What is typed after a custom command, as words. Pure. */

/** Words as a shell divides them, quotes only: `"two words" three`. An open quote ends with the line. */
export function splitArguments(args: string): string[] {
  const words = args.match(/(?:"(?:[^"\\]|\\[^])*(?:"|$)|'[^']*(?:'|$)|[^\s"'])+/g) ?? [];
  return words.map((word) =>
    word.replace(/"((?:[^"\\]|\\[^])*)(?:"|$)|'([^']*)(?:'|$)/g, (_, double?: string, single?: string) =>
      double === undefined ? (single ?? "") : double.replace(/\\(["\\])/g, "$1"),
    ),
  );
}
