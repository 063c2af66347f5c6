/** What `always` at an approval prompt grants for the session: one pattern per simple command, shown as it will count. Pure. */
import { splitGit } from "./argv.ts";
import type { Arg, Effective } from "./shell-types.ts";
import { matchesWildcard } from "./wildcard.ts";
import { matchesUrlRule } from "./permission-url.ts";

/** Programs whose first argument says what they do: a grant covers one such command, not all. */
export const SUBCOMMAND_PROGRAMS: ReadonlySet<string> = new Set(
  (
    "git npm pnpm yarn bun cargo go docker podman nerdctl docker-compose kubectl oc helm gh glab hub terraform tofu pulumi aws gcloud az " +
    "systemctl journalctl launchctl rustup brew apt apt-get dnf yum pacman apk snap flatpak pip pip3 pipx uv poetry pdm conda mamba gem bundle " +
    "composer dotnet mvn gradle mix rake rails flutter dart swift deno nx turbo lerna rush fly flyctl heroku vercel netlify firebase " +
    "consul vault nomad ansible minikube kind k3d skaffold svn hg jj fossil nix openssl ip nmcli virsh multipass vagrant zfs zpool"
  ).split(" "),
);

// They run whatever they are given: a pattern over their arguments says nothing about what happens.
const NEVER_PROGRAMS: ReadonlySet<string> = new Set(
  (
    "sh bash dash zsh ksh mksh ash fish csh tcsh rbash busybox toybox pwsh powershell cmd " +
    "node nodejs deno perl ruby php lua luajit tclsh wish guile racket julia ghci irb osascript groovy jshell expect gdb lldb tsx ts-node ipython Rscript java kotlin scala " +
    "sudo doas su runuser pkexec xargs parallel env eval exec builtin source . trap watch flock script strace ltrace chroot unshare nsenter setsid ionice " +
    "ssh npx bunx pnpx uvx pipx easy_install at batch crontab vim vi ed ex emacs"
  ).split(" "),
);

const NEVER_FAMILIES = /^(python|pypy|ruby|perl|php|lua|node|tclsh|guile)[\d.]*$/;

// Package installers run code of whoever published the package; the same programs run harmless things too.
const INSTALLS: Readonly<Record<string, readonly string[]>> = {
  npm: ["install", "i", "in", "ins", "add", "ci", "exec", "x", "init", "create", "update", "up", "rebuild", "link"],
  pnpm: ["install", "i", "add", "dlx", "exec", "create", "update", "up", "link"],
  yarn: ["install", "add", "dlx", "exec", "create", "up", "upgrade", "global", "link"],
  bun: ["install", "i", "add", "x", "create", "update", "link", "-e", "--eval", "-p", "--print"],
  cargo: ["install", "add"],
  go: ["install", "get", "run"],
  pip: ["install", "download", "wheel"],
  pip3: ["install", "download", "wheel"],
  uv: ["add", "pip", "sync", "tool", "run"],
  poetry: ["add", "install", "run"],
  pdm: ["add", "install", "run"],
  conda: ["install", "create", "run"],
  mamba: ["install", "create", "run"],
  gem: ["install"],
  bundle: ["install", "exec", "add"],
  composer: ["install", "require", "exec"],
  brew: ["install", "reinstall", "upgrade", "tap"],
  apt: ["install", "upgrade", "full-upgrade"],
  "apt-get": ["install", "upgrade", "dist-upgrade"],
  dnf: ["install", "upgrade"],
  yum: ["install", "update"],
  apk: ["add", "upgrade"],
  pacman: ["-S", "-U", "-Syu"],
  snap: ["install"],
  flatpak: ["install"],
  nix: ["run", "shell", "profile"],
  dotnet: ["tool"],
  deno: ["run", "eval", "install"],
};

const GIT_READS = ["status", "log", "diff", "show", "blame", "ls-files", "rev-parse"];

/** How the shared grant of git's reading subcommands is shown. */
export const GIT_READ_GRANT = `git ${GIT_READS.join("|")} *`;

/** Something approved for the rest of the session. */
export interface SessionGrant {
  tool: string;
  pattern: string;
}

/** What a grant is compared with: the words, git's own options left out, the name as written. */
export function grantForm(command: Effective): string {
  return reduced(command.args).join(" ");
}

/** The pattern `always` would grant for this command; null when only "once" is offered. */
export function alwaysFor(command: Effective): string | null {
  const [name, second] = reduced(command.args);
  if (name === undefined || command.unknownName || command.appended || !command.harmless || command.wraps) return null;
  const program = command.words[0] ?? "";
  if (NEVER_PROGRAMS.has(program) || NEVER_FAMILIES.test(program)) return null;
  // Spaces and wildcards in a name would make the pattern mean something else.
  if (/[\s*?]/.test(name) || command.args[0]?.value == null) return null;
  if (!SUBCOMMAND_PROGRAMS.has(program) || command.args.length === 1) return `${name} *`;
  // `git --version`: a pattern without a subcommand would cover them all.
  return second === undefined ? null : subcommandPattern(command, name, second);
}

/** Whether one of the session's grants covers every form a question was asked about. */
export function isGranted(grants: readonly SessionGrant[], tool: string, forms: readonly string[]): boolean {
  if (forms.length === 0) return false;
  return forms.every((form) => grants.some((grant) => grant.tool === tool && covers(grant.pattern, form)));
}

// A bare `*` would be every file of the workspace.
const ROOT_FILES = "./*";

/** What `always` grants for a file inside the workspace: its directory; for a file at the top the files beside it. */
export function directoryPattern(written: string): string {
  const slash = written.lastIndexOf("/");
  return slash > 0 ? `${written.slice(0, slash)}/*` : ROOT_FILES;
}

/** A pattern as shown: with the tool it is for, where that isn't the one being asked about. */
export function shownPattern(tool: string, pattern: string, asking: string): string {
  return tool === asking ? pattern : `${tool}(${pattern})`;
}

/** What `always` grants for a web address: its host. */
export function hostPattern(url: string): string | null {
  return URL.canParse(url) ? `${new URL(url).origin}/*` : null;
}

function subcommandPattern(command: Effective, name: string, second: string): string | null {
  const program = command.words[0] ?? "";
  const arg = reducedArgs(command.args)[1];
  const unknown = arg?.value == null || arg.dynamic;
  if (unknown || /[\s*?]/.test(second) || isOptionFirst(second)) return null;
  if (INSTALLS[program]?.includes(second) === true) return null;
  return program === "git" && name === "git" && GIT_READS.includes(second) ? GIT_READ_GRANT : `${name} ${second} *`;
}

function isOptionFirst(word: string): boolean {
  return word.startsWith("-") && !["-v", "-V", "-h", "--version", "--help"].includes(word);
}

function covers(pattern: string, form: string): boolean {
  if (pattern === GIT_READ_GRANT) return GIT_READS.some((sub) => matchesWildcard(`git ${sub} *`, form));
  if (pattern === ROOT_FILES) return !form.includes("/");
  return matchesUrlRule({ pattern, decision: "allow" }, form) ?? matchesWildcard(pattern, form);
}

function reduced(args: readonly Arg[]): string[] {
  return reducedArgs(args).map((arg) => arg.text);
}

function reducedArgs(args: readonly Arg[]): Arg[] {
  const [first, ...rest] = args;
  if (!first) return [];
  if (!/(^|\/)git$/.test(first.text)) return [first, ...rest];
  const { globals } = splitGit(rest.map((arg) => arg.text));
  return [first, ...rest.slice(globals.length)];
}
