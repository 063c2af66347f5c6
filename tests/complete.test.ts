/** Completion: what a tab finds, how far it completes, and what a larger tree costs. */
import { expect, test } from "bun:test";
import { commonPrefix, completeStep, findCompletions } from "../src/complete.ts";
import { PathIndex } from "../src/complete-paths.ts";
import { growth } from "./support/growth.ts";

/** Time stands still and patience is endless, unless a test says otherwise. */
const STILL = { now: () => 0, after: () => () => undefined };

function sources(paths: string[]) {
  return {
    commandNames: () => ["model", "models", "help", "skill:debug"],
    commandValues: async (name: string) => (name === "think" ? ["high", "low", "max"] : []),
    paths: new PathIndex(async () => paths, STILL),
  };
}

const PATHS = ["src/main.ts", "src/loop.ts", "src/deep/a.ts", "README.md", "docs/loop.md", "srcfile"];

test.each([
  ["/mo", ["/model", "/models"]],
  ["/", ["/help", "/model", "/models", "/skill:debug"]],
  ["/skill:", ["/skill:debug"]],
  ["/think ", ["high", "low", "max"]],
  ["/think m", ["max"]],
  ["/think ig", ["high"]],
  ["/unknown x", []],
  ["look at @src", ["@src/", "@srcfile"]],
  ["@src/", ["@src/deep/", "@src/loop.ts", "@src/main.ts"]],
  ["@src/d", ["@src/deep/"]],
  ["@loop", ["@docs/loop.md", "@src/loop.ts"]],
  ["@READ", ["@README.md"]],
  ["@readme", ["@README.md"]],
  ["line one\n@do", ["@docs/"]],
  ["@zzz", []],
] as const)("after %j come %j", async (before, candidates) => {
  expect((await findCompletions(before, sources(PATHS)))?.candidates).toEqual([...candidates]);
});

test.each(["mail me@src", "plain words", "", "x /mo"])("after %j nothing is completed", async (before) => {
  expect(await findCompletions(before, sources(PATHS))).toBeNull();
});

test.each([
  ["/he", ["/help"], "/help ", []],
  ["@do", ["@docs/"], "@docs/", []],
  ["/m", ["/model", "/models"], "/model", ["/model", "/models"]],
  ["/model", ["/model", "/models"], "/model", ["/model", "/models"]],
  ["@loop", ["@docs/loop.md", "@src/loop.ts"], "@loop", ["@docs/loop.md", "@src/loop.ts"]],
  ["x", [], "x", []],
] as const)("a tab makes %j of %j: %j", (typed, candidates, word, list) => {
  expect(completeStep(typed, candidates)).toEqual({ word, list: [...list] });
});

test("a common prefix never ends within a character", () => {
  expect(commonPrefix(["a🙂", "a🙃"])).toBe("a");
  expect(commonPrefix([])).toBe("");
});

test("a file made after the first use is found", async () => {
  const paths = ["old.ts"];
  let now = 0;
  const index = new PathIndex(async () => [...paths], { now: () => now, after: () => () => undefined });
  expect(await index.find("")).toEqual(["old.ts"]);
  paths.push("new.ts");
  now += 2000;
  expect(await index.find("n")).toEqual(["new.ts"]);
});

test("a walk that takes long doesn't hold up an answer from the last one", async () => {
  let now = 0;
  let walks = 0;
  const never = new Promise<string[]>(() => undefined);
  const index = new PathIndex(() => (walks++ === 0 ? Promise.resolve(["a.ts"]) : never), {
    now: () => now,
    after(_, run) {
      queueMicrotask(run);
      return () => undefined;
    },
  });
  expect(await index.find("a")).toEqual(["a.ts"]);
  now += 2000;
  expect(await index.find("a")).toEqual(["a.ts"]);
});

test("a failed first walk is the caller's to report", async () => {
  const index = new PathIndex(() => Promise.reject(new Error("EACCES")), STILL);
  expect(index.find("a")).rejects.toThrow("EACCES");
});

test.each([
  ["pkg", 6000, 2.5],
  ["pkg99/", 6000, 2.5],
  ["file9999", 1000, 12],
  ["nothing-like-this", 1000, 12],
])(
  "after the first walk %s is looked up in %d files, and searched for if nothing begins with it",
  async (typed, files, most) => {
    // Looking up costs next to nothing more in a tree four times as large; one pass four times as much, or twice
    // that where the names outgrow a cache; the square would be sixteen times.
    const indexes = new Map([
      [files, await walked(files)],
      [files * 16, await walked(files * 16)],
    ]);
    const find = (size: number) => () => indexes.get(size)?.find(typed);
    expect(await growth(find, files, most)).toBeLessThan(most);
  },
);

/** An index of so many files that has walked them. */
async function walked(files: number): Promise<PathIndex> {
  const paths = Array.from({ length: files }, (_, index) => `pkg${index % 300}/src/mod${index % 7}/file${index}.ts`);
  const index = new PathIndex(async () => paths, STILL);
  await index.find("");
  return index;
}
