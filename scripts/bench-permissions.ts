/** What judging a command costs, against starting the smallest program there is: a decision comes before every command. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "../src/args.ts";
import { gateOf } from "../src/setup-gate.ts";
import { childMs, interleaved, timed, type Figure, type Group } from "./bench-measure.ts";

const ROUNDS = 9;

export const permissions: Group = {
  name: "permissions",
  about: "one decision about an ordinary command line",
  run: measure,
};

/** Sixty lines as agents write them, from a word to a small script. */
const LINES: readonly string[] = [
  "ls",
  "ls -la src",
  "pwd",
  "git status",
  "git status --short",
  "git diff",
  "git diff --stat HEAD~3",
  "git log --oneline -20",
  "git log --format='%h %an %s' -- src/main.ts",
  "git show HEAD:src/main.ts",
  "git branch -a",
  "git add -A && git commit -m 'Fix the boundary'",
  "git stash list",
  "git blame -L 10,40 src/main.ts",
  "npm test",
  "npm ci && npm run build",
  "npm run lint -- --fix",
  "npx tsc --noEmit -p tsconfig.json",
  "bun test tests/main.test.ts",
  "bun run build 2>&1 | tail -20",
  "node -e 'console.log(1 + 1)'",
  "python3 -m pytest -q tests",
  "python3 -c 'import sys; print(sys.version)'",
  "pip list | grep -i numpy",
  "cargo test --all-features",
  "cargo clippy -- -D warnings",
  "go test ./...",
  "go vet ./... && gofmt -l .",
  "make -j4",
  "make test 2>&1 | grep -E 'FAIL|ok' | sort | uniq -c",
  "cat README.md",
  "cat src/main.ts | head -50",
  "head -n 20 src/main.ts && tail -n 20 src/main.ts",
  "sed -n '10,40p' src/main.ts",
  "sed -i 's/old/new/g' src/main.ts",
  "awk '{ print $1 }' data.txt | sort -u",
  "grep -rn 'TODO' src --include='*.ts'",
  "rg -n 'export function' src",
  "rg --files | wc -l",
  "find . -name '*.ts' -not -path './node_modules/*'",
  "find src -type f -newer package.json",
  "wc -l src/*.ts",
  "du -sh . && df -h .",
  "mkdir -p build/out && cp src/main.ts build/out/",
  "mv notes.md docs/notes.md",
  "touch src/new.ts",
  "echo 'hello' > hello.txt",
  "printf '%s\\n' a b c | tee list.txt",
  "tar czf build.tgz build",
  "diff -u a.txt b.txt",
  "curl -s https://example.com/api | jq '.items[0]'",
  "cd src && ls && cd ..",
  'for f in src/*.ts; do wc -l "$f"; done',
  "if [ -f package.json ]; then npm test; else make test; fi",
  'VERSION=$(node -p "require(\'./package.json\').version"); echo "$VERSION"',
  "export NODE_ENV=test; npm test -- --watch=false",
  "timeout 60 npm test > test.log 2>&1; tail -5 test.log",
  "env CI=1 npm run test:unit",
  "ps aux | grep node | awk '{print $2}' | head -1",
  "cat <<'END' > config.json\n{ \"port\": 8080 }\nEND",
];

async function* measure(folder: string): AsyncGenerator<Figure> {
  const cwd = makeProject(folder);
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, SHIRO_HOME: join(folder, "shiro") };
  const { gate } = gateOf({ options: parseArgs([]).options, env, cwd });
  const judgeAll = (): void => LINES.forEach((line) => void gate.explain("bash", line));
  const costs = await interleaved(ROUNDS, {
    decision: async () => (await timed(judgeAll)) / LINES.length,
    start: () => childMs(["true"]),
  });
  yield {
    what: `a decision, over ${LINES.length} lines`,
    value: costs.decision,
    unit: "ms",
    baseline: { what: "starting `true`", value: costs.start },
  };
  yield { what: "decisions a second", value: 1000 / costs.decision, unit: "/s", baseline: null };
}

function makeProject(folder: string): string {
  const cwd = join(folder, "project");
  mkdirSync(join(cwd, "src"), { recursive: true });
  for (const name of ["package.json", "README.md", ".gitignore", "src/main.ts", "notes.md"])
    writeFileSync(join(cwd, name), "{}\n");
  return cwd;
}
