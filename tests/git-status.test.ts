/** Status output in words. That git writes such output is tested in tool-git.test.ts. */
import { expect, test } from "bun:test";
import { statusText } from "../src/git-status.ts";

test.each([
  [
    "# branch.oid (initial)\0# branch.head main\0",
    "on branch main, no commits yet\nnothing to commit, working tree clean",
  ],
  [
    "# branch.oid 0123456789abcdef\0# branch.head (detached)\0",
    "HEAD detached at 0123456789\nnothing to commit, working tree clean",
  ],
  [
    "# branch.head m\0# branch.upstream o/m\0# branch.ab +2 -1\0",
    "on branch m, 2 ahead and 1 behind o/m\nnothing to commit, working tree clean",
  ],
  [
    "# branch.head m\0# branch.upstream o/m\0# branch.ab +0 -0\0",
    "on branch m, up to date with o/m\nnothing to commit, working tree clean",
  ],
  [
    "# branch.head m\0# branch.upstream o/m\0",
    "on branch m, upstream o/m is gone\nnothing to commit, working tree clean",
  ],
  ["# branch.head m\0u UU N... 100644 100644 100644 100644 a b c x y\0", "on branch m\nconflict (both modified): x y"],
  ["# branch.head m\x001 MM N... 100644 100644 100644 a b x\0", "on branch m\nstaged modified, modified: x"],
  ["# branch.head m\x001 A. N... 0 1 1 a b new\nline\0", "on branch m\nstaged added: new\\nline"],
  ["# branch.head m\0? a\nstaged modified: b\0", "on branch m\nuntracked: a\\nstaged modified: b"],
])("status output %j is told in words", (output, words) => {
  expect(statusText(output)).toBe(words);
});
