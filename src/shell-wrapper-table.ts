/** Programs that run other programs, and how their command lines are read. Data and its notation only: shell-wrappers.ts reads it. */

export const SPECIALS = [
  "shell",
  "source",
  "eval",
  "find",
  "fd",
  "trap",
  "alias",
  "env",
  "parallel",
  "flock",
  "all-code",
  "stdin",
] as const;

export interface Wrapper {
  /** Letters of short options that take a value, in the same word or the next. */
  short: string;
  /** Letters of short options without one. A letter that is nowhere makes the reading unsure. */
  flags: string;
  /** Letters whose value can only be in the same word (`-i{}`, `-n5`). */
  attached: string;
  /** Letters with which nothing is run (`command -v`). */
  asks: string;
  /** Long options that take a value, after `=` or in the next word. */
  long: string[];
  /** Long options without one. */
  longFlags: string[];
  /** Options, as written, whose value is shell code. */
  code: string[];
  /** Words between the options and the command. */
  operands: number;
  /** The first word must be one of these: only then is the rest a command. */
  subcommands: string[];
  /** `NAME=value` words may come before the command. */
  assigns: boolean;
  /** The command's words are joined and given to a shell. */
  joins: boolean;
  /** More arguments come at run time. */
  appends: boolean;
  /** Changes nothing about what the command does: the inner command alone is judged. */
  harmless: boolean;
  /** It is trusted as a program of its own (`npx`, `uv run`): rules on it decide, what it runs can only tighten that. */
  runner: boolean;
  /** The command follows the first of these words, whatever stands before. */
  after: string[];
  /** How it is read when options, operands and a command don't describe it. */
  special: (typeof SPECIALS)[number] | null;
}

/**
 * Names, then the notation, as in getopt(3): `-a:` takes a value, `-a::` only in the same word, `-a` none; `%` in place of
 * `:` for shell code; `?` for options that only ask. Long options likewise. In angle brackets the number of operands and
 * the other fields of Wrapper; `<after:--,-c>` for words that the command follows.
 */
const ROWS: readonly (readonly [names: string, notation: string])[] = [
  ["command", "-pv?V? <harmless>"],
  ["builtin", ""],
  ["exec", "-a:cl"],
  [
    "env",
    "-u:C:P:a:i0vS%- --split-string% --unset: --chdir: --argv0: --ignore-environment --null --debug --block-signal --default-signal --ignore-signal --list-signal-handling <assigns> <env>",
  ],
  ["nohup", "<harmless>"],
  ["nice gnice", "-n:0123456789- --adjustment: <harmless>"],
  ["time", "-f:o:apvqlh --format: --output: --append --portability --verbose --quiet <assigns> <harmless>"],
  ["gtime", "-f:o:apvq --format: --output: <harmless>"],
  ["timeout gtimeout", "-k:s:vfp --signal: --kill-after: --foreground --preserve-status --verbose <1> <harmless>"],
  ["stdbuf gstdbuf", "-i:o:e: --input: --output: --error: <harmless>"],
  [
    "sudo",
    "-C:D:g:h:p:R:T:U:r:t:u:ABbEHiKklnNPSsVv --user: --group: --host: --prompt: --chdir: --chroot: --close-from: --command-timeout: --role: --type: --other-user: --askpass --background --preserve-env --set-home --login --non-interactive --preserve-groups --stdin --shell --reset-timestamp <assigns>",
  ],
  ["doas", "-C:u:Lns <assigns>"],
  ["pkexec", "--user: --disable-internal-agent --keep-cwd"],
  [
    "xargs",
    "-a:d:E:I:L:n:P:s:J:R:S:0oprtxe::i::l:: --arg-file: --delimiter: --max-chars: --max-args: --max-procs: --process-slot-var: --null --interactive --no-run-if-empty --verbose --exit --open-tty --replace --max-lines --eof --show-limits <appends>",
  ],
  ["busybox toybox", ""],
  ["setsid", "-cfw --ctty --fork --wait"],
  ["ionice", "-c:n:p:P:u:t --class: --classdata: --pid: --pgid: --uid: --ignore"],
  ["chroot", "-u:g:G: --userspec: --groups: --skip-chdir <1>"],
  [
    "unshare",
    "-S:G:R:w:muinpUCTfrcl:: --setuid: --setgid: --root: --wd: --map-user: --map-group: --map-users: --map-groups: --propagation: --setgroups: --monotonic: --boottime: --mount --uts --ipc --net --pid --user --cgroup --time --fork --map-root-user --map-current-user --map-auto --kill-child --mount-proc --keep-caps",
  ],
  [
    "nsenter",
    "-t:S:G:aFZm::u::i::n::p::U::C::T::r::w:: --target: --setuid: --setgid: --all --mount --uts --ipc --net --pid --user --cgroup --time --no-fork --root --wd",
  ],
  [
    "watch",
    "-n:q:bcegptwCrxd:: --interval: --equexit: --differences --beep --color --errexit --chgexit --no-title --precise --exec --no-wrap <joins>",
  ],
  [
    "parallel",
    "-j:n:N:P:I:L:a:C:S:E:d:s:l:0kqtuvXmrpx --jobs: --max-args: --max-procs: --max-lines: --arg-file: --colsep: --sshlogin: --delay: --timeout: --joblog: --results: --retries: --load: --memfree: --tmpdir: --workdir: --halt: --tagstring: --block: --nice: --delimiter: --replace: --null --keep-order --quote --ungroup --group --line-buffer --verbose --dry-run --bar --eta --progress --pipe --tag --will-cite --no-notice --xargs --no-run-if-empty --shuf --resume --resume-failed --link <appends> <parallel>",
  ],
  ["sem", "-j: --jobs: --id: --semaphore-timeout: --fg --wait --bg <joins>"],
  [
    "flock",
    "-w:E:sxneuoFv --wait: --timeout: --conflict-exit-code: --shared --exclusive --nonblock --unlock --close --no-fork --verbose <1> <flock>",
  ],
  [
    "su runuser",
    "-s:g:G:w:u:lmpfPc% --shell: --group: --supp-group: --whitelist-environment: --user: --login --preserve-environment --fast --pty --command% --session-command%",
  ],
  ["sg", "-c% <1> <joins>"],
  [
    "script",
    "-B:E:I:O:T:m:o:aefqFt::c% --log-io: --log-in: --log-out: --log-timing: --logging-format: --echo: --output-limit: --append --return --flush --force --quiet --timing --command% <1>",
  ],
  [
    "strace ltrace",
    "-a:b:e:E:I:o:O:p:P:s:S:u:U:X:n:A:l:w:x:cCdDfFhikqrtTvVyYzZLN --output: --trace: --attach: --user: --env: --string-limit:",
  ],
  ["find gfind", "<find>"],
  ["fd fdfind", "<fd>"],
  [
    "sh bash dash zsh ksh ksh93 mksh ash hush yash rbash csh tcsh",
    "-o:O:abefhiklmnprstuvxcBCDEHP --rcfile: --init-file: --login --noprofile --norc --posix --verbose --restricted --noediting --debugger <shell>",
  ],
  ["fish", "-o:O:C%abefhiklmnprstuvxcBDEHP --login --no-config --private --command% --init-command% <shell>"],
  ["source .", "<source>"],
  ["eval", "<eval>"],
  ["trap", "<trap>"],
  ["alias", "<alias>"],
  ["mapfile readarray", "-d:n:O:s:t:u:c:C%"],
  ["complete compgen", "-o:A:G:W:F:X:P:S:V:abcdefgjksuvprDEIC%"],
  ["taskset", "-acp? --all-tasks --cpu-list <1>"],
  ["chrt", "-T:P:D:abfiordRvp?m? <1>"],
  [
    "numactl",
    "-N:m:C:i:p:P:lab --cpunodebind: --membind: --physcpubind: --interleave: --preferred: --localalloc --all",
  ],
  ["prlimit", "-o:c::d::e::f::i::l::m::n::q::r::s::t::u::v::x::y:: --verbose"],
  [
    "setpriv",
    "--ruid: --euid: --rgid: --egid: --reuid: --regid: --groups: --inh-caps: --ambient-caps: --bounding-set: --securebits: --pdeathsig: --clear-groups --keep-groups --init-groups --no-new-privs --nnp --reset-env",
  ],
  [
    "systemd-run",
    "-p:E:H:M:u:tPGqdrSC --unit: --property: --uid: --gid: --setenv: --slice: --description: --working-directory: --on-active: --on-calendar: --user --scope --pty --wait --collect --quiet --pipe --same-dir --no-block",
  ],
  ["cgexec", "-g: --sticky"],
  ["setarch linux32 linux64 i386 i486 i586 i686 x86_64 uname26", "-RFZLXBIS3v --addr-no-randomize"],
  ["torsocks torify valgrind rlwrap ifne heaptrack catchsegv run0", ""],
  ["gosu su-exec s6-setuidgid", "<1>"],
  ["tini dumb-init catatonit", "-p:e:gsvwcrhl --rewrite: --single-child --verbose"],
  ["systemd-inhibit", "--what: --who: --why: --mode: --no-pager --no-legend"],
  [
    "ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-linux.so.2 ld-musl-x86_64.so.1 ld.so",
    "--library-path: --preload: --argv0: --audit: --inhibit-cache --verify?",
  ],
  ["flatpak-spawn", "-vb --env: --directory: --forward-fd: --host --clear-env --watch-bus --sandbox --no-network"],
  ["wsl", "-d:u:e --distribution: --user: --cd: --exec"],
  ["podman buildah", "<unshare>"],
  ["at batch", "<stdin>"],
  ["gdb", "<after:--args>"],
  ["rr", "<record>"],
  [
    "watchexec",
    "-w:e:f:i:d:s:S:rcn1qv --watch: --exts: --filter: --ignore: --delay: --signal: --shell: --restart --clear",
  ],
  ["nu elvish xonsh osh ysh ion", "-c%"],
  ["pwsh powershell", "-c%"],
  ["fakeroot", "-l:s:i:f:b:u --lib: --faked: --unknown-is-real"],
  ["faketime", "-p:fm <1>"],
  ["firejail", "--quiet --private --noprofile"],
  ["proxychains proxychains4", "-f:q"],
  ["unbuffer", "-p"],
  ["chronic", "-ev"],
  ["caffeinate", "-t:w:disu"],
  ["dbus-run-session", "--config-file: --dbus-daemon:"],
  [
    "xvfb-run",
    "-e:f:n:p:s:w:al --error-file: --auth-file: --server-num: --server-args: --wait: --auto-servernum --listen-tcp",
  ],
  ["ssh-agent", "-a:E:t:P:O:cDdks"],
  ["setuidgid envdir", "<1>"],
  ["chpst", "-u:U:b:e:o:n:d:c:m:f:l:p:r:t:C:/:012Pv"],
  ["entr", "-acdnprsxz"],
  [
    "hyperfine",
    "-w:m:M:r:P:L:n:u:S:N:D:i:s%p%c% --warmup: --min-runs: --max-runs: --runs: --parameter-list: --parameter-scan: --export-json: --export-markdown: --export-csv: --command-name: --shell: --style: --output: --input: --setup% --prepare% --conclude% --cleanup% <all-code>",
  ],
  ["nodemon", "-e:w:i:d:x% --ext: --watch: --ignore: --delay: --config: --exec%"],
  ["perf", "-e:o:p:C:F:c:r:G:g:t:adsvn --event: --output: --repeat: --call-graph: <stat|record|trace>"],
  ["direnv", "<exec> <1>"],
  [
    "npx pnpx bunx",
    "-p:c%yqw: --package: --call% --workspace: --yes --no --quiet --no-install --bun --silent --verbose <runner>",
  ],
  ["npm", "-w:c%yqp: --package: --call% --workspace: --yes --no --workspaces --if-present <exec|x> <runner>"],
  ["pnpm", "-c:r --package: --filter: --parallel --recursive --shell-mode --silent <exec|dlx> <runner>"],
  ["yarn", "-p:q --package: --quiet --silent <exec|dlx> <runner>"],
  ["bun", "--bun --silent --verbose <x> <runner>"],
  [
    "uv",
    "-p:nqvm --with: --with-editable: --with-requirements: --python: --extra: --group: --no-group: --only-group: --env-file: --index: --index-url: --directory: --project: --package: --module --no-sync --frozen --locked --isolated --no-project --all-extras --dev --no-dev --active --quiet --verbose --offline --script <run> <runner>",
  ],
  [
    "poetry pdm pipenv hatch rye foreman honcho",
    "-C:P:e:f:p:nqv --directory: --project: --env: --no-ansi --quiet <run> <runner>",
  ],
  ["conda mamba micromamba", "-n:p:v --name: --prefix: --cwd: --no-capture-output --live-stream <run> <runner>"],
  ["bundle bundler", "--gemfile: --keep-file-descriptors <exec> <runner>"],
  ["asdf rbenv pyenv nodenv goenv", "<exec> <runner>"],
  ["mise rtx", "<exec|x> <after:--> <runner>"],
  ["guix", "<shell|environment> <after:--> <runner>"],
  ["op doppler dotenvx infisical", "<run> <after:--> <runner>"],
  ["aws-vault chamber envchain", "<exec> <after:--> <runner>"],
  ["nix", "<develop|shell> <after:-c,--command> <runner>"],
  ["nix-shell", "-p:A:I:j --run% --command% --packages: --attr: --pure --keep: <runner>"],
  ["dotenv", "-e:f:p:v:c --file: --override --no-override <runner>"],
  ["cross-env env-cmd", "<assigns> <runner>"],
  ["cross-env-shell", "<assigns> <joins> <runner>"],
  [
    "concurrently",
    "-n:c:p:l:t:m:s:kr --names: --prefix: --prefix-colors: --success: --max-processes: --kill-others --kill-others-on-fail --raw <all-code> <runner>",
  ],
  ["cargo", "-w:i:d:x:s%cq --watch: --ignore: --delay: --exec: --shell% --clear --quiet <watch> <runner>"],
  [
    "tmux",
    "-s:n:t:c:x:y:e:F:l:p:dPADEXhvbkZ <new|new-session|neww|new-window|splitw|split-window|respawn-pane|respawn-window|run|run-shell|send|send-keys> <joins> <runner>",
  ],
  ["screen", "-S:t:c:e:h:p:s:T:dmDRrxlLAUq <runner>"],
];

let table: ReadonlyMap<string, Wrapper> | undefined;

/** The wrappers by base name. */
export function wrapperTable(): ReadonlyMap<string, Wrapper> {
  table ??= new Map(
    ROWS.flatMap(([names, notation]) => names.split(" ").map((name) => [name, parseNotation(notation)] as const)),
  );
  return table;
}

function parseNotation(notation: string): Wrapper {
  const wrapper = emptyWrapper();
  for (const token of notation.split(" ").filter(Boolean)) {
    if (token.startsWith("<")) addField(wrapper, token.slice(1, -1));
    else if (token.startsWith("--")) addLong(wrapper, token);
    else
      for (const [, letter = "", mark] of token.slice(1).matchAll(/(.)(::|[:%?])?/g)) addShort(wrapper, letter, mark);
  }
  return wrapper;
}

function emptyWrapper(): Wrapper {
  const lists = { long: [], longFlags: [], code: [], subcommands: [], after: [] };
  const facts = { assigns: false, joins: false, appends: false, harmless: false, runner: false };
  return { short: "", flags: "", attached: "", asks: "", operands: 0, special: null, ...facts, ...lists };
}

const FACTS = ["assigns", "joins", "appends", "harmless", "runner"] as const;

function isFact(field: string): field is (typeof FACTS)[number] {
  return FACTS.some((fact) => fact === field);
}

function addField(wrapper: Wrapper, field: string): void {
  const special = SPECIALS.find((name) => name === field);
  if (/^\d+$/.test(field)) wrapper.operands = Number(field);
  else if (field.startsWith("after:")) wrapper.after = field.slice("after:".length).split(",");
  else if (isFact(field)) wrapper[field] = true;
  else if (special) wrapper.special = special;
  else wrapper.subcommands = field.split("|");
}

function addLong(wrapper: Wrapper, token: string): void {
  const name = token.replace(/[:%]$/, "");
  if (token.endsWith("%")) wrapper.code.push(name);
  else (token.endsWith(":") ? wrapper.long : wrapper.longFlags).push(name);
}

function addShort(wrapper: Wrapper, letter: string, mark: string | undefined): void {
  if (mark === "%") wrapper.code.push(`-${letter}`);
  else if (mark === "::") wrapper.attached += letter;
  else if (mark === ":") wrapper.short += letter;
  else if (mark === "?") wrapper.asks += letter;
  else wrapper.flags += letter;
}
