/** Random shell lines in which everything runs, for comparing the parser with bash. */

type Random = (limit: number) => number;

/** A line of a few commands, nested up to `depth` constructs deep. */
export function randomLine(random: Random, depth = 2): string {
  const count = 1 + random(3);
  const parts = Array.from({ length: count }, () => randomPart(random, depth));
  // bash itself mangles here-documents inside substitutions, so they only stand at the top.
  if (depth > 1 && random(3) === 0) parts.push(hereDocument(random));
  return parts.reduce((line, part) => `${line}${pick(random, ["; ", " && ", "\n", ";", " &&\n"])}${part}`);
}

const NAMES = ["aa", "bb", "cc-1", "dd.sh", "ee"];
const TEXTS = [
  "x",
  "-f",
  "a b",
  "a;b",
  "#no",
  "it's",
  'say "hi"',
  "$HOMEX",
  "back\\slash",
  "*.ts",
  "{a,b}",
  "&&",
  "(x)",
  "",
  "~",
  "é",
  "a\tb",
];

function randomPart(random: Random, depth: number): string {
  if (depth === 0) return simple(random, depth);
  const inner = (): string => randomLine(random, depth - 1);
  const forms: (() => string)[] = [
    () => simple(random, depth),
    () => simple(random, depth),
    () => `${simple(random, depth)} | ${simple(random, depth)}`,
    () => `${simple(random, depth)} |& ${simple(random, depth)}`,
    () => `( ${inner()} )`,
    () => `{ ${inner()}; }`,
    () => `if ${simple(random, depth)}; then ${inner()}; fi`,
    () => `if ! ${simple(random, depth)}; then :; else ${inner()}\nfi`,
    () => `for v in one 'two three'; do ${inner()}; ${word(random)} "$v"; done`,
    () => `case ${quoted(random, "k")} in no) zz;; (k|*) ${inner()};; esac`,
    () => define(`f${random(99)}`, inner()),
    () => useVariable(`V${random(99)}`, quoted(random, pick(random, TEXTS)), word(random)),
    () => `W=${quoted(random, pick(random, ["p q", "r"]))}; ${word(random)} $W x`,
    () => `[[ ${quoted(random, "a b")} == ${quoted(random, "a b")} && ! x =~ ^(a|b)+$ ]] && ${simple(random, depth)}`,
    () => `(( 1 + $(${simple(random, 0)}) + 1 )) && ${simple(random, 0)}`,
    () => `while ${simple(random, 0)}; do ${inner()}; break; done`,
    () => `until ! ${simple(random, 0)}; do ${inner()}; break; done`,
    () => `A=1 B=${quoted(random, "x y")} ${simple(random, depth)}`,
    () => `! ${simple(random, depth)} || ${simple(random, depth)}`,
    () => `${simple(random, 0)} & ${simple(random, depth)}`,
    () => `${simple(random, 0)} # $(zz) ; zz\n${simple(random, 0)}`,
    () => `time ${simple(random, 0)}; time { ${inner()}; }`,
    () => `${simple(random, 0)} > >(${simple(random, 0)})`,
    () => `arr=(1 ${quoted(random, "2 3")} $(${simple(random, 0)})); ${simple(random, 0)}`,
  ];
  return (forms[random(forms.length)] ?? inner)();
}

function hereDocument(random: Random): string {
  const after = simple(random, 0);
  if (random(2) === 0) return `${word(random)} <<-'EOF' ${argument(random, 0)}\n\t$(zz) text\n\tEOF\n${after}`;
  return `${word(random)} <<EOF\n$(${simple(random, 0)}) text \`${word(random)} q\`\nEOF\n${after}`;
}

function define(name: string, body: string): string {
  return `${name}() { ${body}; }; ${name}`;
}

function simple(random: Random, depth: number): string {
  const args = Array.from({ length: random(4) }, () => argument(random, depth));
  const words = [word(random), ...args];
  if (random(6) === 0)
    words.splice(
      random(words.length + 1),
      0,
      pick(random, ["2>&1", ">/dev/null", "< /dev/null", "3>&1", "<<< here", "&>/dev/null"]),
    );
  return words.join(random(8) === 0 ? " \\\n " : " ");
}

function word(random: Random): string {
  return quoted(random, pick(random, NAMES));
}

function argument(random: Random, depth: number): string {
  const inner = depth > 0 ? randomLine(random, depth - 1) : word(random);
  const forms: (() => string)[] = [
    () => quoted(random, pick(random, TEXTS)),
    () => quoted(random, pick(random, TEXTS)),
    () => `${quoted(random, "pre")}${quoted(random, pick(random, TEXTS))}`,
    () => `$( ${inner}\n)`,
    () => `"x $( ${inner}\n) y"`,
    () => `<( ${inner}\n)`,
    () => "`" + word(random) + " \\`" + word(random) + "\\``",
    () => '"`' + word(random) + ' \\"q r\\"`"',
    () => "$((1 + 2 * (3 - 1)))",
    () => "{p,q{1..3}}",
    () => "{03..1}x{a..e..2}",
    () => "{p}",
    () => "${NOPE:-dflt}",
    () => `"\${NOPE:-$(${word(random)}) ' q'}"`,
    () => "${NOPE+set}",
    () => '"$(( $(' + word(random) + ' ; echo 1) + 1 ))"',
    () => "$(( $(echo 2) ))",
  ];
  return (forms[random(forms.length)] ?? inner.toString)();
}

/** The text in one of the ways to write it. */
function quoted(random: Random, text: string): string {
  const ways: (() => string)[] = [
    () => `'${text.replaceAll("'", `'\\''`)}'`,
    () => `"${text.replace(/["\\$`]/g, "\\$&")}"`,
    () => `$'${text.replace(/['\\]/g, "\\$&").replaceAll("\t", "\\t").replaceAll("x", "\\x78")}'`,
    () =>
      /^[\w.-]+$/.test(text)
        ? text
        : text === ""
          ? "''"
          : [...text].map((char) => (/[\w]/.test(char) ? char : `\\${char}`)).join(""),
    () =>
      /^[\w.-]+$/.test(text) && text.length > 1
        ? `${text[0]}""\\${text.slice(1)}`
        : `"${text.replace(/["\\$`]/g, "\\$&")}"''`,
  ];
  return (ways[random(ways.length)] ?? (() => `'${text}'`))();
}

function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[random(items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

function useVariable(name: string, value: string, command: string): string {
  return `${name}=${value}; ${command} "$${name}"`;
}

/** The line with one to three small accidents. */
export function mutated(random: Random, line: string): string {
  let text = line;
  for (let count = 1 + random(3); count > 0; count--) {
    const at = random(text.length + 1);
    const cut = random(2) * (1 + random(3));
    text = text.slice(0, at) + (random(3) === 0 ? "" : pick(random, PIECES)) + text.slice(at + cut);
  }
  return text;
}

const PIECES = [
  ..."'\"`$(){}[]<>|&;#\\!=*? \n\t~x1",
  "$(",
  "${",
  "((",
  "))",
  "&&",
  "||",
  ";;",
  "<<",
  "<(",
  "then ",
  "fi",
  "do ",
  "done",
  "in ",
  "esac",
  "$'",
  "2>",
  "if ",
  "[[ ",
  " ]]",
  "case ",
  "\\\n",
  "#",
  " {",
  "; }",
  "@(",
];
