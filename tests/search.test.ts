/** The two search engines: that they find the same, that a pattern can't hang one, and how lines are cut. */
import { describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { type FileHits, openScan, type SearchQuery } from "../src/search.ts";
import { parsePattern } from "../src/search-pattern.ts";
import { openRg } from "../src/search-rg.ts";
import { clipLine, scanWorker } from "../src/search-worker.ts";
import { bench } from "./support/exec-context.ts";
import { rounds } from "./support/rounds.ts";

const rg = Bun.which("rg");
if (!rg) console.error("SKIPPED: rg is not on PATH, so the two engines were not compared");
const failure = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    (value) => `resolved: ${JSON.stringify(value)}`,
    (error: Error) => error.message,
  );

const FILES = {
  "src/a.ts": "import x from 'y';\nconst Foo = 1;\n\n  foo(bar);\nlast line without end",
  "src/b.ts": "naïve café\nÉCOLE école\ntab\there\nfoo.bar(baz)[0] = {a: 1};\n",
  "crlf.txt": "first\r\nfoo bar\r\n\r\nlast\r\n",
  "words.txt": "foo food barfoo foo-bar foo_bar\n1234 12.5 0x1F\nΑλφα βήτα\naaa bbb\nA-Z [x] (y) {z}\n",
  "empty.txt": "",
  "-e": "foo in an odd name\n",
  "long.min.js": `${"x".repeat(3000)}needle${"y".repeat(3000)}\n`,
};

describe.if(rg !== null)("both engines", () => {
  const at = bench(FILES);
  // The worker's program is called here, without a worker: so many of them would only measure their start.
  const scanHere = (query: SearchQuery, paths: string[]): FileHits[] => {
    const js = query.pattern.js;
    if (!js) throw new Error(query.pattern.whyNoJs);
    let found: FileHits[] = [];
    const scope: Parameters<typeof scanWorker>[0] = {
      onmessage: null,
      postMessage: (message) => {
        if (message.type === "done") found = message.files;
      },
    };
    scanWorker(scope, fs, clipLine);
    const { root, context, pattern } = query;
    const setup = { root, context, literal: pattern.literal, flags: js.unicode.flags };
    scope.onmessage?.({ data: { ...setup, unicode: js.unicode.source, ascii: js.ascii.source } });
    scope.onmessage?.({ data: { paths, maxHits: 500 } });
    return found;
  };

  const agree = async (source: string, ignoreCase: boolean, context: number): Promise<void> => {
    const pattern = parsePattern(source, ignoreCase);
    const query = { root: at.root, pattern, ignoreCase, context, signal: at.context.signal };
    const paths = Object.keys(FILES);
    const others = await openRg(query, rg ?? "rg", at.context.childEnv).scan(paths, 500);
    expect({ source, ignoreCase, found: scanHere(query, paths) }).toEqual({ source, ignoreCase, found: others });
  };

  test.each([
    ["foo"],
    ["(?i)foo"],
    ["FOO|école"],
    ["\\bfoo\\b"],
    ["\\w+"],
    ["^\\w+$"],
    ["\\d{2,}"],
    ["[[:upper:]]\\w"],
    ["[^[:alnum:]\\s]"],
    ["\\s$"],
    ["^$"],
    ["foo$"],
    ["é"],
    ["(?i)É"],
    ["\\p{Greek}+"],
    ["\\pL{4}"],
    ["[a-z&&[^aeiou]]{3}"],
    ["[\\w--\\d]{5}"],
    ["{a"],
    ["}"],
    ["foo(bar)?\\("],
    ["\\.bar\\("],
    ["a**"],
    ["x{3}needle"],
    ["\\x{e9}"],
    ["."],
    [".*"],
    ["a(?i)B|c"],
    ["\\t"],
    ["[\\]\\[]"],
    ["(?:foo|bar)[ -]"],
    ["\\Bfoo"],
    ["\\/|'"],
    ["-bar"],
  ])("find the same for %s", async (pattern) => {
    await agree(pattern, false, 0);
    await agree(pattern, true, 1);
  });

  test("find the same for random patterns", async () => {
    let state = 42;
    const pick = (below: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const atoms =
      "a b foo bar . \\w \\d \\s [a-f] [^x] é \\. (a|b) (?:fo|ba) \\b [[:punct:]] Α _ \\W \\S 0 { $ ^".split(" ");
    const quantifiers = ["", "", "", "", "*", "+", "?", "{2}", "{1,2}", "+?"];
    for (let round = 0; round < rounds(40, 200); round++) {
      const pieces = Array.from({ length: 1 + pick(4) }, () => {
        const atom = atoms[pick(atoms.length)] ?? "";
        return /^(?:\\b|[$^{])$/.test(atom) ? atom : atom + (quantifiers[pick(quantifiers.length)] ?? "");
      });
      const source = pieces.join(pick(6) === 0 ? "|" : pick(4) === 0 ? " " : "");
      const ignoreCase = pick(3) === 0;
      await agree(source, ignoreCase, pick(3));
    }
  }, 20_000);
});

test("a pattern that never ends is stopped, and the search can be aborted", async () => {
  const other = bench({ a: `${"a".repeat(40)}!\n` });
  const query = { root: other.root, pattern: parsePattern("^(a+)+$", false), ignoreCase: false, context: 0 };
  const engine = openScan({ ...query, signal: new AbortController().signal }, 300);
  expect(await failure(engine.scan(["a"], 10))).toMatch(/takes too long/);
  engine.close();
  const stop = new AbortController();
  const stopped = openScan({ ...query, signal: stop.signal });
  const outcome = failure(stopped.scan(["a"], 10));
  stop.abort(new Error("stopped by hand"));
  expect(await outcome).toBe("stopped by hand");
  stopped.close();
});

test("a large file is searched in pieces with the right line numbers", async () => {
  const other = bench();
  fs.writeFileSync(
    join(other.root, "big.log"),
    `${"some ordinary line of a log\n".repeat(1_300_000)}the needle\n${"more\n".repeat(10)}`,
  );
  const query = { root: other.root, pattern: parsePattern("needle", false), ignoreCase: false, context: 1 };
  const engine = openScan({ ...query, signal: other.context.signal });
  const found = await engine.scan(["big.log"], 10);
  engine.close();
  expect(found[0]?.hits.map((hit) => `${hit.line} ${hit.text}`)).toEqual([
    "1300000 some ordinary line of a log",
    "1300001 the needle",
    "1300002 more",
  ]);
});

test.each<[length: number, from: number, to: number, starts: RegExp]>([
  [400, 10, 12, /^a{400}$/],
  [1000, 0, 3, /^a{400}…\(\+600 chars\)$/],
  [1000, 997, 1000, /^\(\+600 chars\)…a{400}$/],
  [1000, 500, 503, /^\(\+\d+ chars\)…a{400}…\(\+\d+ chars\)$/],
  [1000, 0, 900, /^a{400}…\(\+600 chars\)$/],
])("a line of %d characters with its match at %d–%d is cut around it", (length, from, to, pattern) => {
  expect(clipLine("a".repeat(length), from, to)).toMatch(pattern);
});

test("a cut never splits a character", () => {
  expect(clipLine("😀".repeat(500), 501, 502)).not.toMatch(
    /(?:^|[^\ud800-\udbff])[\udc00-\udfff]|[\ud800-\udbff](?:$|[^\udc00-\udfff])/,
  );
});
