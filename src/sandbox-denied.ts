/** What commands in the sandbox can't read unless the user says otherwise, and the download caches they may be given. Lists only. */
import { join } from "node:path";
import type { Cache } from "./sandbox-settings.ts";

/** Relative to the home directory: keys, logins, what browsers know, what was typed. Never ~/.gitconfig: git needs it. */
const HOME_SECRETS = [
  ".ssh",
  ".gnupg",
  ".aws",
  ".azure",
  ".kube",
  ".docker",
  ".config/gcloud",
  ".config/gh",
  ".config/op",
  ".netrc",
  ".git-credentials",
  ".config/git/credentials",
  ".pypirc",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".password-store",
  ".local/share/keyrings",
  ".mozilla",
  ".config/google-chrome",
  ".config/chromium",
  ".config/BraveSoftware",
  ".config/microsoft-edge",
  ".config/vivaldi",
  ".config/opera",
  "snap/firefox",
  "snap/chromium",
  ".var/app/org.mozilla.firefox",
  ".var/app/com.google.Chrome",
  ".bash_history",
  ".zsh_history",
  ".local/share/fish/fish_history",
  ".python_history",
  ".node_repl_history",
  ".psql_history",
  ".mysql_history",
  ".sqlite_history",
  ".rediscli_history",
  ".lesshst",
] as const;

/** Private registries need it, so it is closed only while there is no network to reach them. */
const NPM_LOGIN = ".npmrc";

/** Absolute paths, not resolved, of every home directory given. */
export function defaultDenied(homes: readonly string[], network: "off" | "on"): string[] {
  const names = network === "off" ? [...HOME_SECRETS, NPM_LOGIN] : HOME_SECRETS;
  return homes.flatMap((home) => names.map((name) => join(home, name)));
}

/** Where each package manager keeps what it downloaded, relative to the home directory. */
export const CACHES: Readonly<Record<Cache, readonly string[]>> = {
  npm: [".npm"],
  pnpm: [".local/share/pnpm", ".cache/pnpm"],
  yarn: [".cache/yarn", ".yarn/berry"],
  bun: [".bun/install"],
  cargo: [".cargo/registry", ".cargo/git"],
  pip: [".cache/pip"],
  uv: [".cache/uv"],
  go: ["go/pkg/mod", ".cache/go-build"],
  gradle: [".gradle"],
  maven: [".m2/repository"],
};
