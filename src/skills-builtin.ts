/** The skills in the binary. Texts only; they are read as files of that kind are. */
import commit from "./skills/commit.md" with { type: "text" };
import debug from "./skills/debug.md" with { type: "text" };
import migrate from "./skills/migrate.md" with { type: "text" };
import perf from "./skills/perf.md" with { type: "text" };
import refactor from "./skills/refactor.md" with { type: "text" };
import review from "./skills/review.md" with { type: "text" };
import security from "./skills/security.md" with { type: "text" };
import test from "./skills/test.md" with { type: "text" };
import verify from "./skills/verify.md" with { type: "text" };

/** By name; each file says its own in the frontmatter too. */
export const BUILTIN_SKILLS: Readonly<Record<string, string>> = {
  commit,
  debug,
  migrate,
  perf,
  refactor,
  review,
  security,
  test,
  verify,
};
