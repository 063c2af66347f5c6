/** Splitting of shell lines into simple commands: tables of lines, and lines like those models write. */
import { describe, expect, test } from "bun:test";
import { parseShell, type SimpleCommand } from "../src/shell.ts";

function commandsOf(line: string): SimpleCommand[] {
  const parsed = parseShell(line);
  if (!parsed.ok) throw new Error(`${line}: ${parsed.reason}`);
  return parsed.commands;
}

const wordsOf = (line: string): string[] =>
  commandsOf(line).map((command) => command.words.map((word) => word.value ?? word.shape).join(" "));

describe("a line is taken apart into its simple commands", () => {
  test.each<[string, string[]]>([
    ["", []],
    ["# only words", []],
    ["ls -l", ["ls -l"]],
    ["a;b|c&&d||e&f", ["a", "b", "c", "d", "e", "f"]],
    ["a |& b\nc", ["a", "b", "c"]],
    ["echo 'a && b' \"c ; d\" e\\;f", ["echo a && b c ; d e;f"]],
    ["echo hi # rm -r x", ["echo hi"]],
    ["echo a#b", ["echo a#b"]],
    ["echo one \\\n two", ["echo one two"]],
    ["diff <(ls) <(ls -a)", ["diff <(ls) <(ls -a)", "ls", "ls -a"]],
    ["tee >(wc)", ["tee >(wc)", "wc"]],
    ["echo $(cat $(ls))", ["echo $(cat $(ls))", "cat $(ls)", "ls"]],
    ["echo `a \\`b\\``", ["echo `a \\`b\\``", "a `b`", "b"]],
    ['echo "x $(rm y)"', ["echo x $(rm y)", "rm y"]],
    ["echo '$(rm y)'", ["echo $(rm y)"]],
    ["echo $((1 + $(wc)))", ["echo $((1 + $(wc)))", "wc"]],
    ["echo $((a) | (b))", ["echo $((a) | (b))", "a", "b"]],
    ["(a; b) && { c; d; }", ["a", "b", "c", "d"]],
    ["((a) | (b))", ["a", "b"]],
    ["(( i++ )) && a", ["a"]],
    ["if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]],
    ["while a; do b; done; until c; do d; done", ["a", "b", "c", "d"]],
    ["for f in x y; do a; done; for g; do b; done", ["a", "b"]],
    ["for ((i=0; i<$(n); i++)); do a; done", ["n", "a"]],
    ["for f in x; { a; }", ["a"]],
    ["select s in x; do a; done", ["a"]],
    ["case $x in a|b) c;; (d) e;& *) f;;& esac; g", ["c", "e", "f", "g"]],
    ["f() { a; }; function g { b; }; function h() (c)", ["a", "b", "c"]],
    ["[[ -f a && $(b) =~ ^(x|y)$ || c < d ]] || e", ["b", "e"]],
    ["[[ x =~ <(a) ]]", ["a"]],
    ["coproc N { a; }; coproc b c", ["a", "b c"]],
    ["! a; time { b; }; time ! c", ["a", "b", "c"]],
    ["time -p a", ["time -p a"]],
    ["X=1 Y='2 3' a b", ["a b"]],
    ["X=$(a) Y=(b $(c))", ["", "a", "c"]],
    ["X[$(a)]=1 b", ["b", "a"]],
    ["a if then fi", ["a if then fi"]],
    ['echo ${x:-$(a)} ${y/$(b)/"$(c)"}', ['echo ${x:-$(a)} ${y/$(b)/"$(c)"}', "a", "b", "c"]],
    ["echo \"${x:-'$(a)'}\"", ["echo ${x:-'$(a)'}", "a"]],
    ["echo $'it\\'s; rm x'", ["echo it's; rm x"]],
    ["echo $[ $(a) + 1 ]", ["echo $[ $(a) + 1 ]", "a"]],
    ["fi\\\nle x", ["file x"]],
    ["if a\nthen b\nfi\\\n", ["a", "b"]],
    ["exec {fd}>x 2>&1", ["exec"]],
    ["> x", [""]],
    ["shopt -s extglob\nrm !(a|$(b))", ["shopt -s extglob", "rm !(a|$(b))", "b"]],
    ["!(a)", ["a"]],
    ["echo $(case x in a) b;; esac)", ["echo $(case x in a) b;; esac)", "b"]],
    ["a & b & wait", ["a", "b", "wait"]],
  ])("%s", (line, expected) => {
    expect(wordsOf(line)).toEqual(expected);
  });
});

describe("here-documents", () => {
  const docsOf = (line: string) =>
    commandsOf(line).flatMap((command) => command.redirects.flatMap((redirect) => redirect.hereDoc ?? []));

  test("commands in an unquoted body are found, those in a quoted one are text", () => {
    expect(wordsOf("cat <<E\n$(a) `b` ${x:-$(c)}\nE\nd")).toEqual(["cat", "a", "b", "c", "d"]);
    expect(wordsOf("cat <<'E'\n$(a)\nE\nd")).toEqual(["cat", "d"]);
    expect(wordsOf("cat <<\\E\n$(a)\nE\nd")).toEqual(["cat", "d"]);
  });

  test("bodies come in the order of their operators, tabs are stripped, a continued line isn't the end", () => {
    expect(docsOf("cat <<A <<-B\na\nA\n\tb\n\tB\nc").map((doc) => doc.body)).toEqual(["a\n", "b\n"]);
    expect(wordsOf("cat <<E\n$(r'\\\nm')\nE")).toEqual(["cat", "rm"]);
    expect(wordsOf("cat <<E\nx\\\nE\n$(a)\nE\nb")).toEqual(["cat", "a", "b"]);
  });

  test("a body without its end reaches to the end of the text", () => {
    expect(docsOf("cat <<E\na\nb").map((doc) => doc.body)).toEqual(["a\nb"]);
  });

  test("a body starts behind the line, not inside a substitution on it", () => {
    expect(wordsOf("cat <<E $(a\nb)\n$(c)\nE\nd")).toEqual(["cat $(a\nb)", "a", "b", "c", "d"]);
  });

  test("a commit message in a substitution is text", () => {
    const line = "git commit -m \"$(cat <<'E'\nnever rm -rf / && $(x)\nE\n)\" && git push";
    expect(wordsOf(line).filter((words) => !words.startsWith("git commit"))).toEqual(["cat", "git push"]);
  });
});

describe("what isn't a line is refused", () => {
  test.each([
    "ls &&",
    "&& ls",
    "ls ;; pwd",
    "ls | | wc",
    "; ;",
    "a &&& b",
    'echo "x',
    "echo 'a",
    "echo `a",
    "echo $(a",
    "echo ${a",
    "echo $((1)",
    "(a",
    "{ a",
    "if a; then",
    "then a",
    "a; }",
    "a)",
    "()",
    "case x in a) b",
    "echo a\rb",
    "echo a\0b",
    "echo $\\\n(a)",
    'echo "$\\\n(a)"',
    "A\\\nB=1 c",
    "cat $A\\\nB",
    "echo ${ a; }",
    "git log @(x)",
    "git &\\\n>x push",
    "a[ # ]; rm x",
    "3\\\n>&1 a",
    "a <\\\n(b)",
    "cop\\\nroc rm x",
    "a=(1){ b",
    "echo ${a[}; rm x; echo ]}",
    "echo \"${x:-$'\\x24(a)'}\"",
    'echo "${x:-\'"\'}; rm y; : "\'}"',
    "cat <(",
    "$(cat <<E)\na\nE",
    "( ".repeat(200) + "a" + " )".repeat(200),
    `echo ${"x".repeat(103_000)}`,
  ])("%j", (line) => {
    expect(parseShell(line).ok).toBe(false);
  });
});

describe("expansions and subscripts that run text as code are marked", () => {
  test.each([
    ["echo ${x@P}", true],
    ['echo "${x@P}"', true],
    ["x='a[$(rm y)]'; echo $((x))", true],
    ["x='a[`y`]'; (( x ))", true],
    ["printf -v 'a[$(y)]' z", true],
    ["test -v 'a[$(y)]'", true],
    ["echo ${x@Q}", false],
    ["echo $((x[1]))", false],
    ["grep '[$(]' f", false],
    ["echo 'a[$(rm y)]'", false],
  ])("%s: %p", (line, expected) => {
    const parsed = parseShell(line);
    expect(parsed.ok && parsed.runsCode).toBe(expected);
  });
});

describe("text that a POSIX shell would run is marked", () => {
  test.each([
    ["echo $'\\'; rm x #'", true],
    ["[[ a && b ]]", true],
    ["((a))", true],
    ["for ((;;)); do a; done", true],
    ["echo $x", false],
    ["[ a ]", false],
    ["(a)", false],
    ["echo $((1))", false],
  ])("%s: %p", (line, expected) => {
    const parsed = parseShell(line);
    expect(parsed.ok && parsed.bashOnly).toBe(expected);
  });
});

test("redirections carry operator, descriptor and target, those around a compound are shared", () => {
  const [first, second] = commandsOf("{ a 2>>e <&3; } >o {n}<i");
  const shown = (redirects: SimpleCommand["inherited"] = []) =>
    redirects.map(({ op, fd, target }) => [op, fd, target?.value]);
  expect(shown(first?.redirects)).toEqual([
    [">>", 2, "e"],
    ["<&", null, "3"],
  ]);
  expect(shown(first?.inherited)).toEqual([
    [">", null, "o"],
    ["<", "n", "i"],
  ]);
  expect([second?.text, second?.words.length, shown(second?.redirects).length]).toEqual([">o {n}<i", 0, 2]);
});

test("text, context and depth say where a command stands", () => {
  const seen = commandsOf("f() { a; }; b $(c <(d)) ").map(({ text, context, depth }) => [text, context, depth]);
  expect(seen).toEqual([
    ["a", "function-body", 1],
    ["b $(c <(d))", "plain", 0],
    ["c <(d)", "substitution", 1],
    ["d", "process-substitution", 2],
  ]);
});

const WRITTEN = [
  "cd packages/core && npm run check 2>&1 | tail -20",
  "grep -rn \"foo(\" src --include='*.ts' | grep -v node_modules | head -40",
  "find . -name \"*.test.ts\" -not -path './node_modules/*' | xargs wc -l | sort -n | tail -5",
  "git log --oneline -5 && git diff --stat HEAD~1",
  'for f in src/*.ts; do echo "== $f"; head -3 "$f"; done',
  "cat > /tmp/a.py <<'EOF'\nimport re\nprint(f\"{re.escape('a(b')}\")\nEOF\npython3 /tmp/a.py",
  "node -e \"const a = require('./package.json'); console.log(a.version, `${a.name}`)\" 2>/dev/null || echo none",
  "sed -n '10,20p' src/a.ts; sed -i.bak 's/new Foo(\\(.*\\))/new Bar(\\1)/g' src/b.ts",
  "awk '/^func/{print NR\": \"$0}' main.go | head",
  "npx tsc --noEmit 2>&1 | grep -E '(error|warning) TS[0-9]+' | wc -l",
  "docker ps --format '{{.Names}} {{.Status}}' | column -t",
  "curl -s -H \"Authorization: Bearer $TOKEN\" https://example.test/api | jq '.items[] | select(.id > 3)'",
  'export NODE_ENV=test; npm test -- --grep "a && b" || true',
  "if [ -f .nvmrc ]; then nvm use; else echo 'no nvmrc'; fi",
  'while IFS= read -r line; do echo "$line"; done < <(git ls-files)',
  "python3 - <<EOF\nimport os\nprint(os.environ.get('HOME'))\nEOF",
  "test -d build || mkdir -p build && cd build && cmake .. && make -j$(nproc)",
  "ps aux | grep '[n]ode' | awk '{print $2}' | xargs -r kill",
  "git commit -m \"fix: don't split at 'a; b'\n\nLonger text (with parens) & more.\"",
  "tar czf - src | ssh host 'cat > /tmp/src.tgz'",
  'VERSION=$(jq -r .version package.json); echo "v$VERSION"',
  'echo "$(date +%F) $(git rev-parse --short HEAD)" >> log.txt',
  '[ "$(uname)" = Darwin ] && open . || xdg-open .',
  "printf '%s\\n' a b c | while read x; do echo \"$x\"; done",
  "set -euo pipefail\nmake clean\nmake all",
  'case "$1" in\n  start) run ;;\n  stop|halt) stop ;;\n  *) echo usage ;;\nesac',
  'trap \'rm -f "$tmp"\' EXIT; tmp=$(mktemp); ls > "$tmp"',
  "rg -n 'fn \\w+\\(' -g '*.rs' crates/ | sort | uniq -c",
  "PGPASSWORD=x psql -h db -c \"select count(*) from t where a <> 'b;c'\"",
  "ls -la | awk '{s+=$5} END {print s/1024 \" KB\"}'",
  "(cd web && npm ci) && (cd api && go build ./...)",
  "diff <(sort a.txt) <(sort b.txt) | head",
  "x=5; while (( x > 0 )); do echo $((x--)); done",
  'arr=(one "two three" four); for a in "${arr[@]}"; do echo "$a"; done',
  "echo {1..5} file{A,B}.txt ${HOME%/*}",
  "cat file | tr '[:upper:]' '[:lower:]' | tee out.txt > /dev/null",
  "timeout 30 bash -c 'until curl -sf localhost:3000; do sleep 1; done'",
  "git stash list | sed -n 's/^\\(stash@{[0-9]*}\\).*/\\1/p'",
  "perl -pe 's/(\\d+)/$1+1/e' in.txt",
  'make 2>&1 | grep -n "error:" ; echo "exit: ${PIPESTATUS[0]}"',
  "kill %1 2>/dev/null; sleep 0.1 & wait $!",
  'echo "a\\"b" \'c"d\' "e\'f" g\\\'h',
];

test.each(WRITTEN)("a line as models write them is understood: %j", (line) => {
  const parsed = parseShell(line);
  expect(parsed.ok ? parsed.commands.length > 0 && !parsed.runsCode : parsed.reason).toBe(true);
});
