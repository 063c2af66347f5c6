/** Why a command asks although a sandbox confines it: it destroys work in the workspace, or acts on what others have or on what runs later outside. By its words alone; what a program does inside isn't seen. Pure but for the names it is asked to look at. */
import { gitReach } from "./approval-reach-git.ts";
import { hasFlag, splitArgv } from "./argv.ts";
import { CARRIERS, type Carrier } from "./guard-inner.ts";
import { guardLine } from "./guard.ts";
import { readLine, type ShellLine } from "./permission-line.ts";
import type { Arg, Effective } from "./shell-types.ts";

const DESTROYS = "the sandbox doesn't protect the workspace, and this can't be undone";
const PUBLISHES = "it publishes, which no sandbox takes back";
const ACTS = "it acts on what isn't on this machine, which no sandbox takes back";
const LATER = "it changes what runs later outside";

/** Whether a path is there, given the directory a command starts in. */
type Exists = (cwd: string, name: string) => boolean;

/** Null where nothing is known of it. */
export function reachesFurther(line: ShellLine, exists: Exists): string | null {
  // The guard may be switched off; what it knows holds all the same.
  return guardLine(line) === null ? reachOfLine(line, exists, CARRIERS) : DESTROYS;
}

function reachOfLine(line: ShellLine, exists: Exists, carriers: readonly Carrier[]): string | null {
  for (const { effective } of line.commands)
    for (const command of effective) {
      const reach = reachOf(command, exists) ?? reachInside(command, exists, carriers);
      if (reach !== null) return reach;
    }
  return null;
}

/** Of the lines in its options: `git -c core.sshCommand='…'`, `tar --checkpoint-action=exec=…`. One level deep, as the guard looks. */
function reachInside({ words }: Effective, exists: Exists, carriers: readonly Carrier[]): string | null {
  const [program = "", ...args] = words;
  const inner = carriers.filter(({ programs }) => programs.includes(program)).flatMap((carrier) => carrier.inner(args));
  for (const text of inner) {
    const reach = reachOfLine(readLine(text, {}), exists, []);
    if (reach !== null) return reach;
  }
  return null;
}

function reachOf(command: Effective, exists: Exists): string | null {
  const [program = "", ...words] = command.words;
  if (["", ":", "true"].includes(program)) return emptiesFile(command, exists) ? DESTROYS : null;
  if (program === "git") return gitReach(command.args.slice(1), existsFor(command, exists), command.appended);
  if (destroys(command, program, words)) return DESTROYS;
  if (STEERING.get(program)?.(words) === true) return LATER;
  if (publishes(command, program, words)) return PUBLISHES;
  return actsElsewhere(program, words) ? ACTS : null;
}

function existsFor({ command }: Effective, exists: Exists): (name: string) => boolean {
  return (name) => command.cwds.some((cwd) => exists(cwd, name));
}

/** `> file` alone. */
function emptiesFile({ command }: Effective, exists: Exists): boolean {
  return command.redirects.some(
    ({ op, target }) =>
      op.startsWith(">") &&
      !op.startsWith(">>") &&
      typeof target?.value === "string" &&
      !target.value.startsWith("/dev/") &&
      command.cwds.some((cwd) => exists(cwd, target.value ?? "")),
  );
}

type Test = (words: readonly string[]) => boolean;

const flag =
  (...flags: string[]): Test =>
  (words) =>
    hasFlag(words, flags);
const always: Test = () => true;

/** Beside what the guard refuses. */
const DESTROYING: ReadonlyMap<string, Test> = new Map(
  Object.entries<Test>({
    truncate: always,
    rimraf: always,
    trash: always,
    "trash-put": always,
    "del-cli": always,
    // Any beginning of it: --del is an option of its own, and so is each kind of --delete-….
    rsync: (words) => words.some((word) => /^--(?:del(?!ay)|remove-s)/.test(word)),
    tar: flag("--remove-files"),
    zip: (words) => words.some((word) => /^-[A-Za-z]*m|^--move$/.test(word)),
    chmod: (words) => hasFlag(words, ["-R", "--recursive"]) && words.some((word) => WHOLE.test(word)),
    chown: (words) => hasFlag(words, ["-R", "--recursive"]) && words.some((word) => WHOLE.test(word)),
  }),
);

const WHOLE = /^(?:\.|\.\/|\*|\.\/\*)$/;
const REMOVERS: ReadonlySet<string> = new Set(["rm", "grm", "unlink", "truncate"]);

/** Files that nobody has named: by wildcard, by a variable, or handed on by `find` and `xargs`. */
function destroys(command: Effective, program: string, words: readonly string[]): boolean {
  if (REMOVERS.has(program))
    return command.appended || command.args.slice(1).some(isAnything) || DESTROYING.get(program)?.(words) === true;
  return DESTROYING.get(program)?.(words) === true;
}

function isAnything(arg: Arg): boolean {
  return arg.value === null || arg.dynamic || arg.pattern !== null || arg.text === "{}";
}

/** Hooks, and scripts that a package manager runs by name. */
const STEERING: ReadonlyMap<string, Test> = new Map(
  Object.entries<Test>({
    // A shell that isn't bash goes by them in the same line.
    alias: (words) => words.some((word) => word.includes("=")),
    husky: always,
    lefthook: (words) => ["install", "add"].includes(words[0] ?? ""),
    "pre-commit": (words) => ["install", "init-templatedir"].includes(words[0] ?? ""),
    direnv: (words) => ["allow", "permit", "grant", "edit"].includes(words[0] ?? ""),
    npm: (words) => ["set-script", "pkg"].includes(words[0] ?? "") && !["get"].includes(words[1] ?? ""),
  }),
);

/** Programs that send what is here to others by one of their words, runners of a project's own tasks among them. */
const SENDERS: ReadonlySet<string> = new Set(
  (
    "npm pnpm yarn bun npx bunx pnpx make gmake just task rake invoke inv nx turbo lerna changeset gradle gradlew mvn " +
    "mvnw sbt poetry uv hatch flit pdm maturin dotnet nuget cargo gem twine mix dart flutter pod vsce ovsx docker " +
    "podman nerdctl buildah skopeo helm goreleaser composer conda conan"
  ).split(" "),
);
const SENDING =
  /^(?:publish|unpublish|deploy|release|push|upload|yank|deprecate|dist-tag|dist-tags|owner|access)(?:[:-].*)?$/;
const SENDING_OPTION = /^--(?:push|publish|deploy|upload)$/;
const SENDING_TOOLS: ReadonlySet<string> = new Set(
  "semantic-release release-it np gh-pages goreleaser surge vercel netlify wrangler firebase serverless sls".split(" "),
);

function publishes({ args }: Effective, program: string, words: readonly string[]): boolean {
  if (SENDING_TOOLS.has(program)) return true;
  if (!SENDERS.has(program)) return false;
  if (words.some((word) => SENDING.test(word) || SENDING_OPTION.test(word) || SENDING_TOOLS.has(word))) return true;
  // A word that isn't known before it runs may be any: but for `make -j$(nproc)` and what follows `--name=`.
  return args.slice(1).some((arg) => (arg.value === null || arg.dynamic) && !/^-/.test(arg.text));
}

/** Programs for other machines: all but these verbs of theirs acts there. They stand first, or behind one noun where `nouns` says so. */
const READING: ReadonlyMap<string, { verbs: RegExp; nouns: number }> = new Map(
  Object.entries<{ verbs: RegExp; nouns: number }>({
    gh: { verbs: /^(?:view|list|ls|status|diff|checks|search|watch|version|help)$/, nouns: 1 },
    glab: { verbs: /^(?:view|list|ls|status|diff|version|help)$/, nouns: 1 },
    hub: { verbs: /^(?:ci-status|version|help)$/, nouns: 0 },
    tea: { verbs: /^(?:list|ls|help)$/, nouns: 1 },
    kubectl: { verbs: /^(?:get|describe|logs|explain|version|top|diff|api-resources|cluster-info)$/, nouns: 0 },
    oc: { verbs: /^(?:get|describe|logs|explain|version|status|whoami)$/, nouns: 0 },
    helm: { verbs: /^(?:list|ls|template|lint|show|status|get|history|search|version|create|package)$/, nouns: 0 },
    terraform: { verbs: /^(?:plan|validate|fmt|init|show|output|version|providers|graph)$/, nouns: 0 },
    tofu: { verbs: /^(?:plan|validate|fmt|init|show|output|version|providers|graph)$/, nouns: 0 },
    terragrunt: { verbs: /^(?:plan|validate|fmt|hclfmt|init|show|output|version)$/, nouns: 0 },
    pulumi: { verbs: /^(?:preview|version|about|whoami)$/, nouns: 0 },
    cdk: { verbs: /^(?:synth|synthesize|diff|list|ls|doctor|version)$/, nouns: 0 },
    aws: { verbs: /^(?:(?:describe|list|head|lookup)-.*|get-caller-identity|ls|help)$/, nouns: 1 },
    gcloud: { verbs: /^(?:list|describe|info|version|help|read)$/, nouns: 3 },
    az: { verbs: /^(?:list|list-.*|show|show-.*|version|help)$/, nouns: 3 },
  }),
);

/** Options in front of the verb that take the next word. */
const LEADING = /^(?:-n|-R|--(?:namespace|context|profile|region|project|subscription|repo))$/;
const WRITING = /^(?:create|delete|deploy|update|apply|set|add|remove|start|stop|reset|restart|run|rm|cp|mv|ssh|scp)/;

const ELSEWHERE: ReadonlySet<string> = new Set(
  (
    "ssh scp sftp ftp lftp mosh telnet mail mailx sendmail mutt msmtp swaks ansible ansible-playbook fly flyctl heroku " +
    "doctl railway eb sam nomad vault consul systemctl service launchctl crontab at batch systemd-run"
  ).split(" "),
);

function actsElsewhere(program: string, words: readonly string[]): boolean {
  if (ELSEWHERE.has(program)) return words.length > 0;
  if (program === "curl" || program === "wget") return sendsData(words);
  if (program === "rsync") return splitArgv(words, { valued: "efTB" }).operands.some((word) => /^[^/]+:/.test(word));
  const reading = READING.get(program);
  if (reading === undefined || words.length === 0 || /^--?(?:h|help|version)$/.test(words.at(-1) ?? "")) return false;
  const named = namesOf(words).slice(0, reading.nouns + 1);
  const verb = named.findIndex((word) => reading.verbs.test(word));
  return verb < 0 || named.slice(0, verb).some((word) => WRITING.test(word));
}

/** The words up to the first option that isn't in front: nouns and the verb are among them. */
function namesOf(words: readonly string[]): string[] {
  let from = 0;
  while (words[from]?.startsWith("-") === true) {
    const word = words[from] ?? "";
    if (!LEADING.test(word) && !/^-[^=]+=/.test(word)) return [];
    from += LEADING.test(word) ? 2 : 1;
  }
  const rest = words.slice(from);
  const option = rest.findIndex((word) => word.startsWith("-"));
  return option < 0 ? rest : rest.slice(0, option);
}

const LOCAL = /^(?:\w+:\/\/)?(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/;

const SENDS = /^(?:--(?:data|json|form|upload|post|body|method|request)|-[A-Za-z]*[dFTX]$|-[dFTX]\S)/;
const ASKING = /^(?:-[A-Za-z]*X ?|--(?:request|method)[= ])(?:GET|HEAD|OPTIONS)(?: |$)/;

/** A request with a body, to somebody else than a server on this machine. */
function sendsData(words: readonly string[]): boolean {
  const sends = words.some((word, at) => SENDS.test(word) && !ASKING.test(`${word} ${words[at + 1] ?? ""}`));
  const addresses = words.filter((word) => /^\w+:\/\//.test(word) || LOCAL.test(word));
  return sends && !(addresses.length > 0 && addresses.every((word) => LOCAL.test(word)));
}
