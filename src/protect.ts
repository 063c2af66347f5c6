/** Paths whose change would alter shiro's own rules or run code later, and paths that a tool owns. Names only; approval.ts and plugin-protect.ts act on them. */
import { isWithin, type PathFacts } from "./path-facts.ts";

export interface ProtectContext {
  /** Real path of SHIRO_HOME. */
  home: string;
  /** Workflows of a hosted build are protected only where nothing asks. */
  yolo: boolean;
}

export interface ProtectRow {
  /** Trailing components of a path, lower-case; `*` stands for the rest of a name, a final `**` for everything below. */
  path: string;
  why: string;
}

/** Places by name, wherever they are. */
export const SELF_PROTECTED: readonly ProtectRow[] = [
  { path: ".shiro/**", why: "shiro's project settings, skills and commands" },
  { path: ".claude/skills/**", why: "a skill shiro reads" },
  { path: ".agents/skills/**", why: "a skill shiro reads" },
  { path: ".git/**", why: "git's own files: hooks and settings there run code" },
  { path: ".gitmodules", why: "git runs what submodule settings name" },
  { path: ".gitconfig", why: "git settings can run code" },
  { path: ".config/git/**", why: "git settings can run code" },
  { path: ".ssh/**", why: "SSH keys and settings" },
  { path: ".bashrc", why: "a shell start-up file" },
  { path: ".bash_profile", why: "a shell start-up file" },
  { path: ".bash_login", why: "a shell start-up file" },
  { path: ".bash_logout", why: "a shell start-up file" },
  { path: ".bash_aliases", why: "a shell start-up file" },
  { path: ".profile", why: "a shell start-up file" },
  { path: ".zshrc", why: "a shell start-up file" },
  { path: ".zshenv", why: "a shell start-up file" },
  { path: ".zprofile", why: "a shell start-up file" },
  { path: ".zlogin", why: "a shell start-up file" },
  { path: ".zlogout", why: "a shell start-up file" },
  { path: ".kshrc", why: "a shell start-up file" },
  { path: ".cshrc", why: "a shell start-up file" },
  { path: ".tcshrc", why: "a shell start-up file" },
  { path: ".login", why: "a shell start-up file" },
  { path: ".inputrc", why: "a shell start-up file" },
  { path: ".xprofile", why: "a session start-up file" },
  { path: ".xinitrc", why: "a session start-up file" },
  { path: ".envrc", why: "direnv runs it on entering the directory" },
  { path: ".config/fish/**", why: "a shell start-up file" },
  { path: ".config/systemd/**", why: "services started by the system" },
  { path: ".config/autostart/**", why: "programs started at login" },
  { path: "library/launchagents/**", why: "programs started at login" },
  { path: ".vscode/tasks.json", why: "the editor runs it" },
  { path: ".vscode/launch.json", why: "the editor runs it" },
  { path: ".vscode/settings.json", why: "the editor runs programs it names" },
  { path: ".cursor/**", why: "the editor runs programs it names" },
  { path: ".zed/**", why: "the editor runs programs it names" },
  { path: ".mcp.json", why: "agents start the servers it names" },
  { path: ".cargo/config.toml", why: "cargo runs programs it names" },
  { path: ".cargo/config", why: "cargo runs programs it names" },
  { path: ".vimrc", why: "an editor's start-up file" },
  { path: ".exrc", why: "an editor's start-up file" },
  { path: ".config/nvim/**", why: "an editor's start-up file" },
  { path: ".emacs.d/**", why: "an editor's start-up file" },
  { path: ".gdbinit", why: "a debugger's start-up file" },
  { path: ".lldbinit", why: "a debugger's start-up file" },
  { path: ".tmux.conf", why: "a terminal's start-up file" },
  { path: ".screenrc", why: "a terminal's start-up file" },
  { path: ".idea/runconfigurations/**", why: "the editor runs it" },
  { path: ".devcontainer/**", why: "the editor runs it" },
  { path: ".husky/**", why: "git hooks" },
  { path: ".githooks/**", why: "git hooks" },
  { path: ".pre-commit-config.yaml", why: "git hooks" },
  { path: "lefthook.yml", why: "git hooks" },
];

/** Absolute places of the system. */
const SYSTEM_PROTECTED: readonly ProtectRow[] = [
  { path: "/etc/**", why: "settings of the system" },
  { path: "/var/spool/cron/**", why: "a crontab" },
  { path: "/usr/lib/cron/**", why: "a crontab" },
  { path: "/library/launchdaemons/**", why: "programs started by the system" },
  { path: "/library/launchagents/**", why: "programs started by the system" },
];

const INSTRUCTION_FILES = ["agents.md", "claude.md", "gemini.md", ".cursorrules"];

/** Why a write to this path must be asked about whatever the rules say; null for ordinary files. */
export function selfProtection(
  path: PathFacts,
  context: ProtectContext,
  rows: readonly ProtectRow[] = SELF_PROTECTED,
): string | null {
  if (isWithin(context.home, path.real) || isWithin(context.home, path.absolute)) return "shiro's own directory";
  return byName(path.realWritten, path, context, rows) ?? byName(path.written, path, context, rows);
}

function byName(name: string, path: PathFacts, context: ProtectContext, rows: readonly ProtectRow[]): string | null {
  const parts = name.toLowerCase().split("/");
  const last = parts.at(-1) ?? "";
  if (!path.inside && INSTRUCTION_FILES.includes(last)) return "instructions shiro reads";
  if (context.yolo && coversRow(".github/workflows/**", parts)) return "workflows that a build server runs";
  const row = rows.find((candidate) => coversRow(candidate.path, parts)) ?? systemRow(parts);
  return row ? row.why : null;
}

function systemRow(parts: readonly string[]): ProtectRow | undefined {
  if (parts[0] !== "") return undefined;
  return SYSTEM_PROTECTED.find((row) => startsWithParts(parts, row.path.slice(0, -"/**".length).split("/")));
}

/** Why a directory that commands may write for long would let them run code later outside; null for ordinary ones. `real`: absolute. `programs`: where programs are started from. A repository's own directory is left to the person. */
export function runsLater(real: string, programs: readonly string[]): string | null {
  if (programs.some((directory) => isWithin(real, directory))) return "programs are started from there";
  if (/^\/(?:usr|s?bin|lib\w*|boot|etc)(?:\/|$)/.test(real)) return "it belongs to the system";
  const parts = real.toLowerCase().split("/");
  const row =
    SELF_PROTECTED.find(({ path }) => path !== ".git/**" && meetsRow(path, parts)) ??
    SYSTEM_PROTECTED.find(({ path }) => isWithin(real.toLowerCase(), path.slice(0, -"/**".length)));
  return row?.why ?? systemRow(parts)?.why ?? null;
}

/** The directory lies in what a row names, or the row's place lies in it. */
function meetsRow(pattern: string, parts: readonly string[]): boolean {
  if (coversRow(pattern, parts)) return true;
  const above = pattern.split("/").slice(0, -1);
  return above.some((_, index) => endsWithParts(parts, above.slice(0, index + 1)));
}

function coversRow(pattern: string, parts: readonly string[]): boolean {
  const wanted = pattern.split("/");
  if (wanted.at(-1) !== "**") return endsWithParts(parts, wanted);
  const prefix = wanted.slice(0, -1);
  return parts.some((_, index) => startsWithParts(parts.slice(index), prefix));
}

function startsWithParts(parts: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((part, index) => parts[index] === part);
}

function endsWithParts(parts: readonly string[], wanted: readonly string[]): boolean {
  return startsWithParts(parts.slice(-wanted.length), wanted);
}

/** Files that a package manager writes, and with what to have them written. */
export const LOCK_FILES: Readonly<Record<string, string>> = {
  "package-lock.json": "npm install",
  "npm-shrinkwrap.json": "npm shrinkwrap",
  "yarn.lock": "yarn install",
  "pnpm-lock.yaml": "pnpm install",
  "bun.lock": "bun install",
  "bun.lockb": "bun install",
  "deno.lock": "deno install",
  "cargo.lock": "cargo update",
  "go.sum": "go mod tidy",
  "poetry.lock": "poetry lock",
  "uv.lock": "uv lock",
  "pdm.lock": "pdm lock",
  "pipfile.lock": "pipenv lock",
  "gemfile.lock": "bundle install",
  "composer.lock": "composer update",
  "mix.lock": "mix deps.get",
  "pubspec.lock": "dart pub get",
  "podfile.lock": "pod install",
  "package.resolved": "swift package resolve",
  "flake.lock": "nix flake update",
  "gradle.lockfile": "gradle dependencies --write-locks",
  "packages.lock.json": "dotnet restore",
  ".terraform.lock.hcl": "terraform init",
};

/** Directories a tool fills. The last seven count only where git ignores them: some projects keep their sources there. */
const OWNED_DIRECTORIES: Readonly<Record<string, { by: string; onlyIgnored: boolean }>> = {
  ".git": { by: "git commands", onlyIgnored: false },
  node_modules: { by: "the package manager", onlyIgnored: false },
  ".venv": { by: "pip, uv or python -m venv", onlyIgnored: false },
  vendor: { by: "the package manager", onlyIgnored: true },
  dist: { by: "the project's build", onlyIgnored: true },
  build: { by: "the project's build", onlyIgnored: true },
  out: { by: "the project's build", onlyIgnored: true },
  target: { by: "the project's build", onlyIgnored: true },
  ".next": { by: "next build", onlyIgnored: true },
  coverage: { by: "the test run", onlyIgnored: true },
};

export interface Owner {
  /** The directory or file, as in the path. */
  what: string;
  /** What writes it. */
  by: string;
}

/** Which tool owns this path, if one does. `isIgnored` is asked only about directories that are sometimes sources. */
export function ownerOf(path: PathFacts, isIgnored: (absolute: string) => boolean): Owner | null {
  for (const name of [path.realWritten, path.written]) {
    const parts = name.split("/");
    const lock = LOCK_FILES[(parts.at(-1) ?? "").toLowerCase()];
    if (lock) return { what: parts.at(-1) ?? "", by: lock };
    for (const part of parts) {
      const directory = ownedDirectory(part.toLowerCase());
      if (directory && (!directory.onlyIgnored || isIgnored(path.absolute)))
        return { what: `${part}/`, by: directory.by };
    }
  }
  return null;
}

function ownedDirectory(name: string): { by: string; onlyIgnored: boolean } | null {
  return Object.hasOwn(OWNED_DIRECTORIES, name) ? (OWNED_DIRECTORIES[name] ?? null) : null;
}
